// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api_ring_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "libtrace/ring/format.h"

namespace acceltrace::daemon {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr char kLink[] = "/memfd:api-ring";
constexpr size_t kMaxDescriptors = 65536;

std::string ProcPath(uint32_t pid, const char* rest) {
  return "/proc/" + std::to_string(pid) + rest;
}

}  // namespace

Result<SegmentMemory> TakeSegmentMemory(const UniqueFd& pidfd, int fd) {
  const UniqueFd theirs(static_cast<int>(syscall(SYS_pidfd_getfd, pidfd.get(), fd, 0)));
  if (!theirs.valid()) {
    return Status::Error(std::string("its rings cannot be opened: ") + strerror(errno));
  }
  // Only of a file that is plain memory may anything more be asked: opening a device or a
  // pipe again, or reading huge pages that are not there, would be the process's trap.
  struct stat status = {};
  struct statfs system = {};
  if (fstat(theirs.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      fstatfs(theirs.get(), &system) != 0 || system.f_type != TMPFS_MAGIC ||
      (fcntl(theirs.get(), F_GET_SEALS) & kSeals) != kSeals) {
    return Status::Error("its rings are not a sealed memfd");
  }
  if (status.st_size < static_cast<off_t>(ring::kPageBytes) ||
      status.st_size > static_cast<off_t>(ring::kMaxSegmentBytes)) {
    return Status::Error("its rings have an impossible size");
  }
  // A file description of our own, so that the lock is ours.
  const std::string again = "/proc/self/fd/" + std::to_string(theirs.get());
  SegmentMemory memory;
  memory.lock = UniqueFd(open(again.c_str(), O_RDWR | O_CLOEXEC));
  if (!memory.lock.valid()) {
    return Status::Error(std::string("its rings cannot be opened: ") + strerror(errno));
  }
  if (flock(memory.lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status::Error("another recording reads its rings");
  }
  const auto bytes = static_cast<size_t>(status.st_size);
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.lock.get(), 0);
  if (address == MAP_FAILED) {
    return Status::Error(std::string("its rings cannot be mapped: ") + strerror(errno));
  }
  memory.mapping = Mapping(address, bytes);
  memory.device = status.st_dev;
  memory.inode = status.st_ino;
  return memory;
}

std::vector<int> FindSegments(uint32_t pid) {
  std::vector<int> found;
  const std::string folder = ProcPath(pid, "/fd");
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return found;
  size_t seen = 0;
  while (const dirent* entry = readdir(dir)) {
    if (++seen > kMaxDescriptors || found.size() >= ring::kMaxSegments) break;
    char target[64] = {};
    if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) <= 0) continue;
    if (std::strncmp(target, kLink, sizeof(kLink) - 1) != 0) continue;
    found.push_back(std::atoi(entry->d_name));
  }
  closedir(dir);
  std::sort(found.begin(), found.end());
  return found;
}

int64_t MonotonicOffsetNs(uint32_t pid) {
  const auto offset = [](const std::string& path) -> int64_t {
    std::ifstream file(path);
    std::string clock;
    int64_t seconds = 0, ns = 0;
    while (file >> clock >> seconds >> ns) {
      if (clock == "monotonic") return seconds * 1'000'000'000 + ns;
    }
    return 0;
  };
  // Both count from the machine's own clock.
  return offset(ProcPath(pid, "/timens_offsets")) - offset("/proc/self/timens_offsets");
}

uint32_t InnermostPid(uint32_t pid) {
  std::ifstream file(ProcPath(pid, "/status"));
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("NSpid:", 0) != 0) continue;
    const size_t last = line.find_last_of(" \t");
    return last == std::string::npos
               ? 0
               : static_cast<uint32_t>(std::strtoul(line.c_str() + last + 1, nullptr, 10));
  }
  return 0;
}

}  // namespace acceltrace::daemon
