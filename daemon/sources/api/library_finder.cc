// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/library_finder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/api/elf_probes.h"
#include "daemon/sources/api/mounts.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kMaxLines = 65536;
constexpr size_t kMaxFiles = 1024;  // per process
constexpr size_t kMaxEmpty = 65536;

// An executable file mapping.
struct Mapped {
  uint64_t begin = 0, end = 0;
  uint32_t major = 0, minor = 0;  // of its file system
  std::string path;
};

// Returns one mapping for each file, identified by the kernel's numbers.
std::map<std::pair<std::string, uint64_t>, Mapped> Executables(uint32_t pid) {
  std::map<std::pair<std::string, uint64_t>, Mapped> files;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::string line;
  for (size_t i = 0; i < kMaxLines && files.size() < kMaxFiles && std::getline(maps, line); ++i) {
    Mapped mapped;
    char rights[8] = {}, device[32] = {};
    uint64_t inode = 0;
    int path_at = 0;
    if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %*s %31s %" SCNu64 " %n", &mapped.begin,
               &mapped.end, rights, device, &inode, &path_at) < 5) {
      continue;
    }
    if (inode == 0 || std::strchr(rights, 'x') == nullptr) continue;
    if (sscanf(device, "%x:%x", &mapped.major, &mapped.minor) != 2) continue;
    mapped.path = path_at > 0 ? line.substr(static_cast<size_t>(path_at)) : "";
    files.try_emplace({device, inode}, std::move(mapped));
  }
  return files;
}

std::string MapFile(uint32_t pid, const Mapped& mapped) {
  char path[96];
  snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
           mapped.begin, mapped.end);
  return path;
}

// Returns the mount of the file, by a descriptor that involves no file system; 0 = unknown.
uint64_t MountOf(uint32_t pid, const Mapped& mapped) {
  const UniqueFd fd(open(MapFile(pid, mapped).c_str(), O_PATH | O_CLOEXEC));
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd.get()));
  std::string word;
  uint64_t mount = 0;
  while (fd.valid() && info >> word) {
    if (word == "mnt_id:") return info >> mount ? mount : 0;
  }
  return 0;
}

// Opens the mapped file itself if the kernel permits that, otherwise what is now at its path. Does
// not wait for the holder of a lease.
UniqueFd Open(uint32_t pid, const Mapped& mapped) {
  UniqueFd fd(open(MapFile(pid, mapped).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() && errno == EPERM && !mapped.path.empty() && mapped.path[0] == '/') {
    fd.Reset(open(("/proc/" + std::to_string(pid) + "/root" + mapped.path).c_str(),
                  O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  }
  return fd;
}

}  // namespace

bool LibraryFinder::Know(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return false;
  return known_.emplace(status.st_dev, status.st_ino).second;
}

LibraryFinder::Found LibraryFinder::Look(uint32_t pid, const Attach& attach, std::string* why) {
  Found result = Found::kNothing;
  const Mounts mounts(pid);
  for (const auto& [number, mapped] : Executables(pid)) {
    // Opening such a file waits for its program, and attaching to it would block all forks.
    Mounts::By by = mounts.Served(mapped.major, mapped.minor);
    if (by == Mounts::By::kUnknown) by = mounts.ServedMount(MountOf(pid, mapped));
    if (by != Mounts::By::kKernel) {
      if (result == Found::kNothing) {
        *why =
            "it has " + mapped.path +
            " mapped, from a file system that a program serves (FUSE) or that is mounted nowhere "
            "any more, which is not opened; have it run a copy that lies on another one";
        result = Found::kUnreadable;
      }
      continue;
    }
    const UniqueFd fd = Open(pid, mapped);
    struct stat status = {};
    if (!fd.valid() || fstat(fd.get(), &status) != 0) {
      if (result == Found::kNothing) {
        *why = "cannot open " + mapped.path + ", which it has mapped: " + strerror(errno);
        result = Found::kUnreadable;
      }
      continue;
    }
    const File file = {status.st_dev, status.st_ino};
    if (known_.count(file) != 0) {
      if (result != Found::kNew) result = Found::kKnown;
      continue;
    }
    if (empty_.count(file) != 0) continue;
    const std::string open_path = "/proc/self/fd/" + std::to_string(fd.get());
    if (ElfProbes(open_path, provider_).empty()) {
      if (empty_.size() >= kMaxEmpty) empty_.clear();
      empty_.insert(file);
      continue;
    }
    if (attach(open_path, mapped.path)) {
      known_.insert(file);
      result = Found::kNew;
    } else if (result != Found::kNew) {
      *why = "the probes of " + mapped.path + " cannot be attached";
      result = Found::kUnreadable;
    }
  }
  return result;
}

}  // namespace acceltrace::daemon
