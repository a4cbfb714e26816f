// SPDX-License-Identifier: Apache-2.0
//
// What BPF programs record, and of which processes.
#ifndef DAEMON_SOURCES_BPF_BPF_OPTIONS_H_
#define DAEMON_SOURCES_BPF_BPF_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sources/provider/provider_devices.h"

namespace acceltrace::daemon {

struct BpfOptions {
  bool rings = true;  // API events by shared memory, by probes only if that fails
  bool usdt = true;   // API events by probes
  bool driver = true;
  bool system_wide = false;
  uint32_t device_mask = ~0u;              // devices, by number, whose driver events are recorded
  std::optional<uint32_t> owner;           // only processes whose user ids are all this one
  std::vector<std::string> libraries;      // files whose libaxl probes are attached
  uint32_t ring_bytes = 16u << 20;         // a power of two
  bool jobs = true;                        // from tracepoints; false if the driver's ring has them
  bool light = false;                      // reduces driver events to what identifies a job
  std::vector<TracepointRole> roles;       // of devices described by providers
  std::vector<LibraryFunction> functions;  // API calls described by providers
  bool stacks = false;                     // of API calls, which requires probes
  bool run_stats = false;  // the kernel times the programs, which has a cost of its own
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_OPTIONS_H_
