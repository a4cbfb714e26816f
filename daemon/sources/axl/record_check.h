// SPDX-License-Identifier: Apache-2.0
//
// Checks device trace records, which come from hardware (or from what emulates it), before they are
// used in any way.
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

// Returns null if the record conforms to kmod/uapi/axl_hw.h, otherwise what is wrong with it.
const char* CheckRecord(const axl_record& record, const RecordLimits& limits);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_RECORD_CHECK_H_
