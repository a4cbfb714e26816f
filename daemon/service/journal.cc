// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/journal.h"

#include <endian.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace acceltrace::daemon {
namespace {

constexpr char kJournalSocket[] = "/run/systemd/journal/socket";
constexpr size_t kMaxValueBytes = 4096;
constexpr int kWarning = 4;

void AddField(std::string_view name, std::string_view value, std::string* entry) {
  value = value.substr(0, kMaxValueBytes);
  entry->append(name);
  if (value.find('\n') == std::string_view::npos) {
    *entry += '=';
  } else {
    const uint64_t bytes = htole64(value.size());
    *entry += '\n';
    entry->append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  }
  entry->append(value);
  *entry += '\n';
}

}  // namespace

std::string JournalEntry(const JournalKind& kind, std::string_view message,
                         const Journal::Fields& fields) {
  std::string entry;
  AddField("MESSAGE", message, &entry);
  AddField("MESSAGE_ID", kind.id, &entry);
  AddField("PRIORITY", std::to_string(kind.priority), &entry);
  AddField("SYSLOG_IDENTIFIER", "acceltraced", &entry);
  for (const auto& [name, value] : fields) AddField(name, value, &entry);
  return entry;
}

Journal::Journal() {
  if (getenv("JOURNAL_STREAM") != nullptr) path_ = kJournalSocket;
}

void Journal::Say(const JournalKind& kind, const std::string& message, const Fields& fields) {
  if (!path_.empty()) {
    if (!socket_.valid()) {
      socket_.Reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    }
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    const std::string entry = JournalEntry(kind, message, fields);
    if (sendto(socket_.get(), entry.data(), entry.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address),
               sizeof(address)) == static_cast<ssize_t>(entry.size())) {
      return;
    }
  }
  if (kind.priority <= kWarning) fprintf(stderr, "acceltraced: %s\n", message.c_str());
}

}  // namespace acceltrace::daemon
