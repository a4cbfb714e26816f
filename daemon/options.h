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
#include "daemon/session/triggers.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

inline constexpr uint64_t kMinCounterPeriodNs = 10'000;
inline constexpr uint64_t kMinRingBytes = 64 << 10;
// What begins a file (tables, clock samples) is to be a small part of it.
inline constexpr uint64_t kMinRotateBytes = 1 << 20;
inline constexpr uint64_t kMinRotateNs = 1'000'000'000;
inline constexpr uint32_t kMaxFiles = 16;
inline constexpr uint32_t kRotatedFiles = 8;    // unless --keep says so
inline constexpr uint32_t kTriggeredFiles = 4;  // likewise

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
  uint32_t sources = 0;                       // SystemSource: what else the host says
  std::optional<uint64_t> counter_period_ns;  // of the device's own samples; none = by overhead
  bool light = false;                         // --overhead low
  bool stacks = false;                        // of API calls, which then come by probes
  uint64_t ring_bytes = 0;                    // flight recorder, 0 = off
  uint64_t rotate_bytes = 0;                  // on to the next file at this size, 0 = never
  uint64_t rotate_ns = 0;                     // and after this time
  std::vector<TriggerRule> triggers;          // of a flight recorder: when it is saved
  uint32_t keep = 0;                          // files of these kinds, 0 = the usual number
  Priority priority;
  std::vector<int> cpus;  // none = all
  std::vector<std::string> command;
  // Not from the command line:
  std::optional<uint32_t> owner;  // record this user's processes only
  bool own_process = false;       // nobody else's work is done in this process
  bool pause_when_full = false;   // a full disk is waited for, else it ends the recording
  bool sync = true;               // each flush goes to the disk itself: a power cut leaves it
};

// What --overhead says: full or low.
Status ParseOverhead(std::string_view text, RecordOptions* options);
// One of --rotate-size, --rotate-time, --trigger and --keep. *known: it was.
Status ParseFileOption(std::string_view option, std::string_view value, RecordOptions* options,
                       bool* known);
// What of these does not go together.
Status CheckFileOptions(const RecordOptions& options);
// Files besides the output: further parts, or those of triggers.
uint32_t MoreFiles(const RecordOptions& options);
// The name of one of them, counted from 0.
std::string MoreFileName(const RecordOptions& options, const std::string& output, uint32_t number);
// What holds unless --counter-period was given.
uint64_t CounterPeriodNs(const RecordOptions& options);

struct Options {
  enum class Mode { kService, kPrivate, kHelp, kVersion, kCheckConfig };
  Mode mode = Mode::kService;
  RecordOptions record;
  std::string output;
  std::vector<int> output_fds;  // instead, open: the recording's own, then those it may need
  std::string output_name;      // of the first one, for messages
  int control_fd = -1;
  std::string live_socket;
  std::string share;  // where others may join a private daemon
  // Of the service; empty: as its configuration says.
  std::string config;
  std::string socket;
  std::string group;
  std::string metrics;
};

// Errors are misuse: exit status 2.
Result<Options> ParseOptions(int argc, const char* const* argv);

// api,usdt,driver,tracepoints,device,counters,clock in any selection.
Result<ProbeSet> ParseProbes(std::string_view list);

extern const char kUsage[];

}  // namespace acceltrace::daemon

#endif  // DAEMON_OPTIONS_H_
