// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/api_ring_memory.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "libtrace/ring/format.h"

namespace acceltrace::daemon {
namespace {

// The kernel's name of the file that holds an anonymous shared mapping. Other memory without a path
// (memfd_create, System V) has other names.
constexpr char kLink[] = "/dev/zero (deleted)";
constexpr size_t kMaxLines = 65536;    // mappings that are read per process
constexpr size_t kMaxCandidates = 64;  // of them, those that are opened

std::string ProcPath(uint32_t pid, const char* rest) {
  return "/proc/" + std::to_string(pid) + rest;
}

std::string LinkPath(uint32_t pid, const SegmentPlace& place) {
  char range[64];
  snprintf(range, sizeof(range), "/map_files/%" PRIx64 "-%" PRIx64, place.address,
           place.address + place.bytes);
  return ProcPath(pid, range);
}

bool PlaceIsSane(const SegmentPlace& place) {
  return place.address != 0 && place.address % ring::kPageBytes == 0 &&
         place.bytes % ring::kPageBytes == 0 && place.bytes >= ring::kPageBytes &&
         place.bytes <= ring::kMaxSegmentBytes && place.address <= UINT64_MAX - place.bytes;
}

struct Place {
  UniqueFd path;  // O_PATH: refers to the file without opening it
  struct statx status = {};
};

// Finds what is mapped there without involving the provider of the file: opening a device or a
// pipe, or calling the server of a file system, could be a trap of the process.
Result<Place> Find(uint32_t pid, const SegmentPlace& place) {
  Place found;
  found.path = UniqueFd(open(LinkPath(pid, place).c_str(), O_PATH | O_CLOEXEC));
  if (!found.path.valid() && errno == EPERM) {
    return Status::Error("its rings cannot be opened, which takes CAP_CHECKPOINT_RESTORE");
  }
  if (!found.path.valid()) {
    return Status::Error(std::string("its rings are not one mapping of its own: ") +
                         strerror(errno));
  }
  if (statx(found.path.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
            &found.status) != 0) {
    return Status::Error(std::string("its rings cannot be looked at: ") + strerror(errno));
  }
  return found;
}

// Finds the file system in which the kernel keeps shared anonymous mappings, by a mapping of our
// own.
Result<Place> FindOurs() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* address = mmap(nullptr, page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return Status::Error(std::string("no memory: ") + strerror(errno));
  const Mapping mapping(address, page);
  return Find(static_cast<uint32_t>(getpid()), {reinterpret_cast<uintptr_t>(address), page});
}

// The name alone proves nothing: a deleted file with that name has it, too.
bool IsAnonymous(const Place& found, const Place& ours, const std::string& again) {
  char target[sizeof(kLink) + 1] = {};
  const ssize_t length = readlink(again.c_str(), target, sizeof(target));
  return S_ISREG(found.status.stx_mode) &&
         found.status.stx_dev_major == ours.status.stx_dev_major &&
         found.status.stx_dev_minor == ours.status.stx_dev_minor && length > 0 &&
         std::string_view(target, static_cast<size_t>(length)) == kLink;
}

// Opens the file that is mapped to the whole of the place. The process has no descriptor of it, so
// it cannot be shrunk (a read never faults), and no lease or lock can be taken on it.
Result<UniqueFd> OpenShared(uint32_t pid, const SegmentPlace& place) {
  if (!PlaceIsSane(place)) return Status::Error("its rings have an impossible place or size");
  const auto found = Find(pid, place);
  if (!found.ok()) return found.status();
  const auto ours = FindOurs();
  if (!ours.ok()) return ours.status();
  const std::string again = "/proc/self/fd/" + std::to_string(found.value().path.get());
  if (!IsAnonymous(found.value(), ours.value(), again)) {
    return Status::Error("its rings are not anonymous shared memory");
  }
  // The mapping may have been shrunk or grown since it was created.
  if (found.value().status.stx_size != place.bytes) {
    return Status::Error("its rings have another size than it says");
  }
  UniqueFd fd(open(again.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (fd.valid()) return fd;
  return Status::Error(std::string("its rings cannot be opened: ") + strerror(errno));
}

bool IsSegment(uint32_t pid, const SegmentPlace& place) {
  const auto fd = OpenShared(pid, place);
  uint64_t magic = 0;
  return fd.ok() && pread(fd.value().get(), &magic, sizeof(magic), 0) == sizeof(magic) &&
         magic == ring::kMagic;
}

}  // namespace

Result<SegmentMemory> TakeSegmentMemory(uint32_t pid, const UniqueFd& pidfd,
                                        const SegmentPlace& place) {
  auto file = OpenShared(pid, place);
  if (!file.ok()) return file.status();
  // Ensures that the pid was not reused by another process before the file was opened.
  pollfd exited = {pidfd.get(), POLLIN, 0};
  if (poll(&exited, 1, 0) != 0) return Status::Error("it has exited");
  SegmentMemory memory;
  memory.lock = std::move(file).value();
  if (flock(memory.lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status::Error("another recording reads its rings");
  }
  void* address =
      mmap(nullptr, place.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.lock.get(), 0);
  if (address == MAP_FAILED) {
    return Status::Error(std::string("its rings cannot be mapped: ") + strerror(errno));
  }
  memory.mapping = Mapping(address, place.bytes);
  return memory;
}

std::vector<SegmentPlace> FindSegments(uint32_t pid) {
  std::vector<SegmentPlace> found;
  std::ifstream maps(ProcPath(pid, "/maps"));
  std::string line;
  size_t candidates = 0;
  for (size_t i = 0; i < kMaxLines && std::getline(maps, line); ++i) {
    // "begin-end rw-s 00000000 device inode   /dev/zero (deleted)"
    if (line.find(" rw-s 00000000 ") == std::string::npos || !line.ends_with(kLink)) continue;
    uint64_t begin = 0, end = 0;
    if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64, &begin, &end) != 2 || end < begin) continue;
    const SegmentPlace place = {begin, end - begin};
    if (!PlaceIsSane(place)) continue;
    if (++candidates > kMaxCandidates || found.size() >= ring::kMaxSegments) break;
    if (IsSegment(pid, place)) found.push_back(place);
  }
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
  // Both are relative to the machine's clock.
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
