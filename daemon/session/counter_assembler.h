// SPDX-License-Identifier: Apache-2.0
//
// A device's periodic snapshot comes as several records; this joins them.
#ifndef DAEMON_SESSION_COUNTER_ASSEMBLER_H_
#define DAEMON_SESSION_COUNTER_ASSEMBLER_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "daemon/sources/source.h"

namespace acceltrace::daemon {

class CounterAssembler {
 public:
  explicit CounterAssembler(uint32_t num_counters)
      : num_counters_(std::min<uint32_t>(num_counters, AXL_NUM_COUNTERS)) {}

  struct Row {
    CounterRow row;
    uint32_t parts = 0;
  };

  // The whole snapshot once its last part is in. Parts of an unfinished earlier
  // snapshot are given up and counted.
  std::optional<Row> Add(const axl_rec_counters& part) {
    if (parts_ > 0 && (part.sample != sample_ || part.first != next_)) GiveUp();
    if (part.first != (parts_ > 0 ? next_ : 0)) {
      ++lost_parts_;  // the beginning of its snapshot is missing
      return std::nullopt;
    }
    sample_ = part.sample;
    ++parts_;
    row_.ticks = part.h.time;
    for (uint32_t i = 0; i < part.count && part.first + i < num_counters_; ++i) {
      row_.value[part.first + i] = part.value[i];
    }
    next_ = part.first + part.count;
    if (next_ < num_counters_) return std::nullopt;
    Row whole = {row_, parts_};
    parts_ = 0;
    next_ = 0;
    return whole;
  }

  void GiveUp() {
    lost_parts_ += parts_;
    parts_ = 0;
    next_ = 0;
  }

  uint64_t lost_parts() const { return lost_parts_; }

 private:
  uint32_t num_counters_;
  CounterRow row_;
  uint32_t sample_ = 0;
  uint32_t next_ = 0;
  uint32_t parts_ = 0;
  uint64_t lost_parts_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SESSION_COUNTER_ASSEMBLER_H_
