// SPDX-License-Identifier: Apache-2.0
//
// Joins the parts in which a device's periodic snapshot arrives.
#ifndef DAEMON_SESSION_COUNTER_ASSEMBLER_H_
#define DAEMON_SESSION_COUNTER_ASSEMBLER_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "daemon/sources/common/events.h"

namespace acceltrace::daemon {

class CounterAssembler {
 public:
  explicit CounterAssembler(uint32_t num_counters) : num_counters_(num_counters) {
    snapshot_.values.resize(num_counters);
  }

  // Returns the number of parts of the snapshot when its last one has been added, otherwise 0. The
  // parts of an earlier unfinished snapshot are discarded and counted.
  uint32_t Add(const CounterPart& part) {
    if (parts_ > 0 && (part.snapshot != number_ || part.first != next_)) GiveUp();
    if (part.first != (parts_ > 0 ? next_ : 0)) {
      ++lost_parts_;  // the beginning of its snapshot is missing
      return 0;
    }
    number_ = part.snapshot;
    ++parts_;
    snapshot_.ticks = part.ticks;
    if (part.first < num_counters_) {
      const size_t count = std::min<size_t>(part.values.size(), num_counters_ - part.first);
      std::copy_n(part.values.begin(), count, snapshot_.values.begin() + part.first);
    }
    next_ = part.first + static_cast<uint32_t>(part.values.size());
    if (next_ < num_counters_) return 0;
    next_ = 0;
    return std::exchange(parts_, 0);
  }

  // The complete snapshot; valid until the next part is added.
  const CounterSnapshot& snapshot() const { return snapshot_; }

  void GiveUp() {
    lost_parts_ += parts_;
    parts_ = 0;
    next_ = 0;
  }

  uint64_t lost_parts() const { return lost_parts_; }

 private:
  uint32_t num_counters_;
  CounterSnapshot snapshot_;
  uint32_t number_ = 0;
  uint32_t next_ = 0;
  uint32_t parts_ = 0;
  uint64_t lost_parts_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_COUNTER_ASSEMBLER_H_
