// SPDX-License-Identifier: Apache-2.0
//
// Which copies of the host API library a process has mapped, wherever they lie: at
// another path, in another mount namespace, deleted.
#ifndef DAEMON_SOURCES_API_LIBRARY_FINDER_H_
#define DAEMON_SOURCES_API_LIBRARY_FINDER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace acceltrace::daemon {

class LibraryFinder {
 public:
  using File = std::pair<dev_t, ino_t>;

  explicit LibraryFinder(std::string provider) : provider_(std::move(provider)) {}

  // Notes that probes sit in this file; false if it is not there, or was known by another name.
  bool Know(const std::string& path);

  enum class Found { kNothing, kKnown, kNew, kUnreadable };

  // Looks through what the process has mapped to execute. attach: called for each file with
  // probes of the provider that is not known yet, with a path that this process can open and
  // the one that the other process knows; the file is known from then on if it returns true.
  // why: what could not be read, of kUnreadable.
  using Attach = std::function<bool(const std::string& open_path, const std::string& name)>;
  Found Look(uint32_t pid, const Attach& attach, std::string* why);

 private:
  std::string provider_;
  std::set<File> known_;  // with probes, attached
  std::set<File> empty_;  // without; bounded
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_LIBRARY_FINDER_H_
