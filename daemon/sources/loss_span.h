// SPDX-License-Identifier: Apache-2.0
//
// When BPF programs lost what they count as lost. Each CPU has a count, and the times of the first
// and the last loss of an epoch, which ends when the losses are reported.
#ifndef DAEMON_SOURCES_LOSS_SPAN_H_
#define DAEMON_SOURCES_LOSS_SPAN_H_

#include <algorithm>
#include <cstdint>

namespace acceltrace::daemon {

struct LossSpan {
  uint64_t first_ns = 0, last_ns = 0;  // 0: there was none

  void Widen(uint64_t first, uint64_t last) {
    first_ns = last_ns == 0 ? first : std::min(first_ns, first);
    last_ns = std::max(last_ns, last);
  }

  // counts: of one CPU, as they are now. reported: what of counts.lost is known already.
  template <typename Counts>
  void WidenByNew(const Counts& counts, uint64_t reported, uint64_t epoch) {
    if (counts.lost == reported) return;
    // One that came while the last ones were reported is known by its time alone.
    Widen(counts.lost_epoch == epoch ? counts.first_ns : counts.last_ns, counts.last_ns);
  }
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_LOSS_SPAN_H_
