// SPDX-License-Identifier: Apache-2.0
//
// The meaning of a request for a recording, and its limits. Programs that get a request from a
// user, and those that get one from another program, check it here.
#ifndef LIBTRACE_CONTROL_RECORDING_H_
#define LIBTRACE_CONTROL_RECORDING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/proto/control.pb.h"

namespace acceltrace::control {

inline constexpr uint64_t kMinRingBytes = 64 << 10, kMaxRingBytes = uint64_t{64} << 30;
inline constexpr uint32_t kMaxFiles = 16;
inline constexpr size_t kMaxTriggers = 8;
// Parts of errors about these limits.
inline constexpr char kNoPid[] = "not a process id";
inline constexpr char kNoFiles[] = "not a number of files from 1 to 16";

// Which kinds of events are collected.
struct ProbeSet {
  bool api = true;           // by shared memory, or by probes if that is not possible
  bool usdt = false;         // the same events by probes, always
  bool driver = true;        // jobs and waits by the driver's ring, or by tracepoints
  bool tracepoints = false;  // the same events by tracepoints, always
  bool device = true;
  bool counters = true;
  bool clock = true;
};

// A set of additional data of the host.
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
  // Unavailable sources are only reported in the trace, since the user did not name them.
  kSourceQuiet = 1u << 31,
};

struct TriggerRule {
  enum class Kind {
    kSlowJob,     // from the submit ioctl to the completion
    kRangeBegin,  // of this name
    kRangeEnd,    // after at least min_ns
  };
  Kind kind = Kind::kSlowJob;
  int64_t min_ns = 0;
  std::string range;
  std::string text;  // as the user wrote it
};

struct Priority {
  bool idle = true;
  bool required = false;  // if idle is not possible: true warns, false is silently normal
  int nice = 0;
};

struct Recording {
  std::vector<uint32_t> pids;
  bool system_wide = false;
  std::vector<std::string> devices;  // empty means all
  bool no_device = false;
  ProbeSet probes;
  std::vector<std::string> libraries;
  uint32_t sources = 0;                       // SystemSource
  std::optional<uint64_t> counter_period_ns;  // of the device's own samples; unset = by overhead
  bool light = false;                         // --overhead low
  bool stacks = false;                        // record stacks of API calls, which requires probes
  uint64_t ring_bytes = 0;                    // flight recorder, 0 = off
  uint64_t rotate_bytes = 0;                  // switch to the next file at this size, 0 = never
  uint64_t rotate_ns = 0;                     // switch after this time, 0 = never
  std::vector<TriggerRule> triggers;          // when a flight recorder is saved
  uint32_t keep = 0;                          // number of such files, 0 = the default
  Priority priority;
  std::vector<int> cpus;  // empty means all
  std::vector<std::string> command;
};

// Returns the meaning of a request. Errors name the wrong option and its possible values.
Result<Recording> Check(const proto::RecordRequest& request);

// Returns the number of files in addition to the output: parts of a rotation, or those of triggers.
uint32_t MoreFiles(const Recording& recording);
// Returns the name of one of these files, counted from 0.
std::string MoreFileName(const Recording& recording, const std::string& output, uint32_t number);
// Returns the period of counter samples, which is the default if --counter-period was not given.
uint64_t CounterPeriodNs(const Recording& recording);

// Parses a rule: job>10ms, begin:NAME, range:NAME or range:NAME>20ms.
Result<TriggerRule> ParseTrigger(std::string_view text);

}  // namespace acceltrace::control

#endif  // LIBTRACE_CONTROL_RECORDING_H_
