// SPDX-License-Identifier: Apache-2.0
//
// The commands of the service's clients, and the answers to them.
//
// Each is one line with a JSON object, as described in docs/daemon.md; requests are messages of
// libtrace/proto/control.proto. Input is untrusted: a mistake is an error for that client only.
#ifndef DAEMON_SERVICE_CONTROL_H_
#define DAEMON_SERVICE_CONTROL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/options.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

struct Command {
  enum class Verb { kStart, kPid, kStop, kStatus, kSnapshot, kLive };
  Verb verb = Verb::kStatus;
  uint64_t id = 0;  // chosen by the client; the answer repeats it
  uint32_t session = 0;
  uint32_t pid = 0;
  int32_t status = -1;   // stop: exit status of the recorded command
  bool detach = false;   // start: continues after the client is gone
  std::string output;    // start, snapshot: a path; empty = the attached file
  RecordOptions record;  // start
};

inline constexpr size_t kMaxCommandBytes = 64 << 10;

// Fails for unknown verbs and members, wrong types and values out of range. *id is set as soon as
// it is known, so that the error answer can have it.
Result<Command> ParseCommand(std::string_view line, uint64_t* id);

// {"id":N,"ok":false,"error":"..."}
std::string ErrorAnswer(uint64_t id, std::string_view error);
// {"id":N,"ok":true, members...}; `members` is the inside of a JSON object, or empty.
std::string OkAnswer(uint64_t id, std::string_view members);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_CONTROL_H_
