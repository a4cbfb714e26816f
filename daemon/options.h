// SPDX-License-Identifier: Apache-2.0
//
// The command line of acceltraced.
#ifndef DAEMON_OPTIONS_H_
#define DAEMON_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/control/recording.h"

namespace acceltrace::daemon {

using control::CounterPeriodNs;
using control::MoreFileName;
using control::MoreFiles;

// A request for a recording, and settings that the client cannot choose.
struct RecordOptions : control::Recording {
  std::optional<uint32_t> owner;  // record this user's processes only
  bool own_process = false;       // this process does nothing else
  bool pause_when_full = false;   // wait while the disk is full, rather than end the recording
  bool sync = true;               // each flush also syncs the disk, to survive a power cut
};

struct Options {
  enum class Mode { kService, kPrivate, kHelp, kVersion, kCheckConfig };
  Mode mode = Mode::kService;
  RecordOptions record;
  std::string output;
  // Used instead of `output`: open descriptors of the recording's file and then of those that it
  // may need later.
  std::vector<int> output_fds;
  std::string output_name;  // of the first one, for messages
  int control_fd = -1;
  std::string live_socket;
  std::string share;  // the socket at which others may join a private daemon
  // Options of the service. If empty, its configuration applies.
  std::string config;
  std::string socket;
  std::string group;
  std::string metrics;
};

// An error means wrong usage: exit status 2.
Result<Options> ParseOptions(int argc, const char* const* argv);

extern const char kUsage[];

}  // namespace acceltrace::daemon

#endif  // DAEMON_OPTIONS_H_
