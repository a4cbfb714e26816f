// SPDX-License-Identifier: Apache-2.0
//
// The command line of acceltraced.
#ifndef DAEMON_OPTIONS_H_
#define DAEMON_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/drain_priority.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

inline constexpr uint64_t kMinCounterPeriodNs = 10'000;
inline constexpr uint64_t kMinRingBytes = 64 << 10;

// Which kinds of events are collected.
struct ProbeSet {
  bool api = true;           // by shared memory, by probes only where that cannot be
  bool usdt = false;         // the same events by probes, always
  bool driver = true;        // jobs and waits by the driver's ring where that can be had
  bool tracepoints = false;  // the same events by tracepoints, always
  bool device = true;
  bool counters = true;
  bool clock = true;
};

// What to record, however it was asked for.
struct RecordOptions {
  std::vector<uint32_t> pids;
  bool system_wide = false;
  std::vector<std::string> devices;  // none = all
  bool no_device = false;
  ProbeSet probes;
  std::vector<std::string> libraries;
  std::optional<uint64_t> counter_period_ns;  // of the device's own samples; none = by overhead
  bool light = false;                         // --overhead low
  uint64_t ring_bytes = 0;                    // flight recorder, 0 = off
  Priority priority;
  std::vector<int> cpus;  // none = all
  std::vector<std::string> command;
  // Not from the command line:
  std::optional<uint32_t> owner;  // record this user's processes only
  bool own_process = false;       // nobody else's work is done in this process
};

// What --overhead says: full or low.
Status ParseOverhead(std::string_view text, RecordOptions* options);
// What holds unless --counter-period was given.
uint64_t CounterPeriodNs(const RecordOptions& options);

struct Options {
  enum class Mode { kService, kPrivate, kHelp, kVersion };
  Mode mode = Mode::kService;
  RecordOptions record;
  std::string output;
  int output_fd = -1;
  int control_fd = -1;
  std::string live_socket;
  std::string socket = "/run/acceltrace/acceltraced.sock";
  std::string group = "acceltrace";
};

// Errors are misuse: exit status 2.
Result<Options> ParseOptions(int argc, const char* const* argv);

// 500us, 1.5ms, 2s; ns without a unit. nullopt if it is none of these.
std::optional<uint64_t> ParseDurationNs(std::string_view text);
// 64K, 16M, 1G, or bytes.
std::optional<uint64_t> ParseBytes(std::string_view text);
// api,usdt,driver,tracepoints,device,counters,clock in any selection.
Result<ProbeSet> ParseProbes(std::string_view list);

extern const char kUsage[];

}  // namespace acceltrace::daemon

#endif  // DAEMON_OPTIONS_H_
