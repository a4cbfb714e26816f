// SPDX-License-Identifier: Apache-2.0
//
// When BPF programs lost what they count as lost, CPU by CPU (daemon/bpf/losses.h).
#ifndef DAEMON_SOURCES_COMMON_LOSS_SPAN_H_
#define DAEMON_SOURCES_COMMON_LOSS_SPAN_H_

#include <algorithm>
#include <cstdint>

#include "daemon/bpf/losses.h"

namespace acceltrace::daemon {

struct LossSpan {
  uint64_t first_ns = 0, last_ns = 0;  // 0: there was none

  void Widen(uint64_t first, uint64_t last) {
    first_ns = last_ns == 0 ? first : std::min(first_ns, first);
    last_ns = std::max(last_ns, last);
  }

  // losses: of one CPU, as they are now. reported: as they were before, zeros at first. One that
  // came into an epoch whose others are reported may be any of those.
  void WidenByNew(const act_losses& losses, const act_losses& reported) {
    for (int half = 0; half < 2; ++half) {
      if (losses.count[half] == reported.count[half]) continue;
      Widen(losses.first_ns[half], losses.last_ns[half]);
    }
  }
};

inline uint64_t Lost(const act_losses& losses) { return losses.count[0] + losses.count[1]; }

// Before losses are read to be reported: what is lost from now on is of the next epoch.
inline void BeginEpoch(__u64* drain_epoch) { __atomic_fetch_add(drain_epoch, 1, __ATOMIC_SEQ_CST); }

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_LOSS_SPAN_H_
