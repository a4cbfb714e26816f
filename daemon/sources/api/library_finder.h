// SPDX-License-Identifier: Apache-2.0
//
// Finds the copies of the host API library that a process has mapped, even at another path, in
// another mount namespace, or deleted.
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

  // Notes that the file has probes attached; returns false if it does not exist, or was known by
  // another name.
  bool Know(const std::string& path);

  enum class Found { kNothing, kKnown, kNew, kUnreadable };

  // Checks the executable mappings of the process. `attach` is called for each unknown file with
  // probes of the provider, with a path that this process can open and the path that the other
  // process uses; if it returns true, the file is known from then on. For kUnreadable, *why is what
  // could not be read.
  using Attach = std::function<bool(const std::string& open_path, const std::string& name)>;
  Found Look(uint32_t pid, const Attach& attach, std::string* why);

 private:
  std::string provider_;
  std::set<File> known_;  // with attached probes
  std::set<File> empty_;  // without probes; bounded
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_LIBRARY_FINDER_H_
