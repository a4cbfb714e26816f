// SPDX-License-Identifier: Apache-2.0
//
// The command line of acceltraced.
#ifndef DAEMON_OPTIONS_H_
#define DAEMON_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/control/recording.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

using control::CounterPeriodNs;
using control::MoreFileName;
using control::MoreFiles;

// A request for a recording, and settings that the client cannot choose.
struct RecordOptions : control::Recording {
  std::optional<uint32_t> owner;  // record this user's processes only
  bool own_process = false;       // nobody else's work is done in this process
  bool pause_when_full = false;   // a full disk is waited for, else it ends the recording
  bool sync = true;               // each flush goes to the disk itself: a power cut leaves it
};

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

extern const char kUsage[];

}  // namespace acceltrace::daemon

#endif  // DAEMON_OPTIONS_H_
