// SPDX-License-Identifier: Apache-2.0
//
// A perf event of a PMU, as sysfs describes it (the kernel's
// Documentation/ABI/testing/sysfs-bus-event_source-devices-*).
#ifndef LIBTRACE_PROVIDER_PMU_H_
#define LIBTRACE_PROVIDER_PMU_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/stream/result.h"

namespace acceltrace::provider {

struct PmuEvent {
  uint32_t type = 0;                    // of perf_event_attr
  std::array<uint64_t, 3> config = {};  // config, config1, config2
  std::vector<uint32_t> cpus;           // that it is counted on; none: on each that is online
  double scale = 1;                     // of a count, to the kernel's unit
};

// Of a small file, without blanks around it; empty if it cannot be read.
std::string FirstLine(const std::string& path);

// event: PMU/EVENT/; root: before the paths, for tests. Errors: no such PMU or event, or one whose
// description makes no sense.
Result<PmuEvent> FindPmuEvent(const std::string& event, const std::string& root = "");

// 0,2-5 as the kernel writes lists of numbers; nothing of what makes no sense.
std::vector<uint32_t> ParseList(std::string_view text);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_PMU_H_
