// SPDX-License-Identifier: Apache-2.0
//
// Messages of the service: to the system's journal with fields, or as plain lines to stderr if
// there is no journal.
#ifndef DAEMON_SERVICE_JOURNAL_H_
#define DAEMON_SERVICE_JOURNAL_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"

namespace acceltrace::daemon {

// Each kind of message has its own MESSAGE_ID: `journalctl MESSAGE_ID=...`, see acceltraced(8).
struct JournalKind {
  const char* id;
  int priority;  // see syslog(3)
};
inline constexpr JournalKind kRecordingStarted = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a301", 6};
inline constexpr JournalKind kRecordingEnded = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a302", 6};
inline constexpr JournalKind kRecordingFailed = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a303", 4};
inline constexpr JournalKind kRecordingPaused = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a304", 4};
inline constexpr JournalKind kRecordingResumed = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a305", 5};
inline constexpr JournalKind kOutputRemoved = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a306", 4};
inline constexpr JournalKind kRefused = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a307", 5};
inline constexpr JournalKind kConfigRead = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a308", 6};
inline constexpr JournalKind kConfigWrong = {"8f4f6d7e2b7c4f0c9a51d2f0c1e8a309", 4};

class Journal {
 public:
  using Fields = std::vector<std::pair<const char*, std::string>>;

  // Uses the journal if stderr is connected to it (JOURNAL_STREAM), otherwise stderr.
  Journal();
  // Uses another socket, for tests.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // Never blocks. Only warnings and errors are printed to stderr.
  void Say(const JournalKind& kind, const std::string& message, const Fields& fields = {});

 private:
  std::string path_;  // if empty, stderr is used
  UniqueFd socket_;
};

// Encodes an entry in the journal's own format: NAME=value lines; values of several lines have
// their length in front.
std::string JournalEntry(const JournalKind& kind, std::string_view message,
                         const Journal::Fields& fields);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SERVICE_JOURNAL_H_
