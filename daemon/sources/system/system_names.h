// SPDX-License-Identifier: Apache-2.0
//
// What `--sources` names.
#ifndef DAEMON_SOURCES_SYSTEM_SYSTEM_NAMES_H_
#define DAEMON_SOURCES_SYSTEM_SYSTEM_NAMES_H_

#include <cstdint>
#include <string_view>

#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

enum SystemSource : uint32_t {
  kSourceSched = 1 << 0,
  kSourceIrq = 1 << 1,
  kSourcePressure = 1 << 2,
  kSourceMemory = 1 << 3,
  kSourceCpu = 1 << 4,
  kSourceBlock = 1 << 5,
  kSourceNet = 1 << 6,
  kSourcePcie = 1 << 7,
  kSourceNuma = 1 << 8,
  kSourceCgroup = 1 << 9,
  // What cannot be had is said in the trace alone: nobody asked for it by its name.
  kSourceQuiet = 1u << 31,
};

// sched,... or all; default: sched, quietly. Errors name those that there are.
Result<uint32_t> ParseSystemSources(std::string_view list);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_SYSTEM_NAMES_H_
