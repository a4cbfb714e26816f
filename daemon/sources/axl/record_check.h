// SPDX-License-Identifier: Apache-2.0
//
// Is a device trace record believable? Records come from hardware (or whatever
// sits behind it) and are checked before anything else looks at them.
#ifndef DAEMON_SOURCES_AXL_RECORD_CHECK_H_
#define DAEMON_SOURCES_AXL_RECORD_CHECK_H_

#include <cstdint>

#include "kmod/uapi/axl.h"

namespace acceltrace::daemon {

struct RecordLimits {
  uint32_t num_queues = AXL_MAX_QUEUES;
  uint32_t num_contexts = AXL_MAX_CONTEXTS;
  uint32_t num_counters = 0;
  uint32_t clock_bits = 64;  // times wrap at 2^clock_bits

  uint64_t TickMask() const { return clock_bits >= 64 ? ~0ULL : (1ULL << clock_bits) - 1; }
};

// nullptr if the record obeys kmod/uapi/axl_hw.h, else what is wrong with it.
const char* CheckRecord(const axl_record& record, const RecordLimits& limits);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_RECORD_CHECK_H_
