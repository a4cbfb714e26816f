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

#include "libtrace/base/result.h"

namespace acceltrace::provider {

struct PmuEvent {
  uint32_t type = 0;                    // of perf_event_attr
  std::array<uint64_t, 3> config = {};  // config, config1 and config2
  std::vector<uint32_t> cpus;           // the CPUs on which it is counted; empty = all online ones
  double scale = 1;                     // from counts to the kernel's unit
};

// Returns the first line of a small file without blanks around it, or an empty string if the file
// cannot be read.
std::string FirstLine(const std::string& path);

// event is PMU/EVENT/. root is prepended to paths, for tests. Returns an error if there is no such
// PMU or event, or if its description is malformed.
Result<PmuEvent> FindPmuEvent(const std::string& event, const std::string& root = "");

// Parses a list of numbers in the kernel's format, such as 0,2-5. Returns an empty list if any part
// is malformed.
std::vector<uint32_t> ParseList(std::string_view text);

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_PMU_H_
