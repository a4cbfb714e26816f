// SPDX-License-Identifier: Apache-2.0
//
// What is recorded by BPF, and of whom.
#ifndef DAEMON_SOURCES_BPF_BPF_OPTIONS_H_
#define DAEMON_SOURCES_BPF_BPF_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sources/provider/provider_devices.h"

namespace acceltrace::daemon {

struct BpfOptions {
  bool rings = true;  // API events by shared memory, by probes only where that cannot be
  bool usdt = true;   // API events by probes
  bool driver = true;
  bool system_wide = false;
  uint32_t device_mask = ~0u;              // by number, whose driver events are wanted
  std::optional<uint32_t> owner;           // only processes that run as this user, in every sense
  std::vector<std::string> libraries;      // files whose libaxl probes are attached
  uint32_t ring_bytes = 16u << 20;         // a power of two
  bool jobs = true;                        // of the driver; else its own ring has jobs and waits
  bool light = false;                      // of the driver, what a job is known by only
  std::vector<TracepointRole> roles;       // of devices that providers describe
  std::vector<LibraryFunction> functions;  // API calls that providers name
  bool stacks = false;                     // of API calls, which then come by probes
  bool run_stats = false;                  // have the kernel time the programs, which costs as well
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_OPTIONS_H_
