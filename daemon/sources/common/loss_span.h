// SPDX-License-Identifier: Apache-2.0
//
// The times of the losses that BPF programs count, by CPU (daemon/bpf/losses.h).
#ifndef DAEMON_SOURCES_COMMON_LOSS_SPAN_H_
#define DAEMON_SOURCES_COMMON_LOSS_SPAN_H_

#include <algorithm>
#include <cstdint>

#include "daemon/bpf/losses.h"

namespace acceltrace::daemon {

struct LossSpan {
  uint64_t first_ns = 0, last_ns = 0;  // 0 if there was no loss

  void Widen(uint64_t first, uint64_t last) {
    first_ns = last_ns == 0 ? first : std::min(first_ns, first);
    last_ns = std::max(last_ns, last);
  }

  // `losses` are the current ones of one CPU, `reported` the previous ones, initially zeros. A loss
  // added to an epoch with reported losses may have any time of that epoch's span.
  void WidenByNew(const act_losses& losses, const act_losses& reported) {
    for (int half = 0; half < 2; ++half) {
      if (losses.count[half] == reported.count[half]) continue;
      Widen(losses.first_ns[half], losses.last_ns[half]);
    }
  }
};

inline uint64_t Lost(const act_losses& losses) { return losses.count[0] + losses.count[1]; }

// Must be called before losses are read: later losses then belong to the next epoch.
inline void BeginEpoch(__u64* drain_epoch) { __atomic_fetch_add(drain_epoch, 1, __ATOMIC_SEQ_CST); }

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_LOSS_SPAN_H_
