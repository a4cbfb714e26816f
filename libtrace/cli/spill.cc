// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/spill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <jemalloc/jemalloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace acceltrace::cli {
namespace {

constexpr off_t kAtOnceBytes = 8 << 20;

// An unnamed file that is mapped as a whole. Memory is taken from its beginning on and never given
// back: jemalloc reuses what is freed.
struct Region {
  int fd = -1, statm = -1;
  uint64_t resident_bytes = 0;  // its limit
  char* base = nullptr;
  size_t room = 0;
  std::mutex growing;
  std::atomic<size_t> used = 0;

  bool Has(const void* at) const { return at >= base && at < base + room; }
};
Region region;

uint64_t ResidentBytes() {
  char text[128];
  const ssize_t size = pread(region.statm, text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* second = std::strchr(text, ' ');
  if (second == nullptr) return 0;
  return std::strtoull(second, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Pages that this process unmaps are still in the kernel's page cache or on the disk, and come back
// when they are used.
void Trim() {
  if (ResidentBytes() > region.resident_bytes) madvise(region.base, region.used, MADV_DONTNEED);
}

// These are called by jemalloc, so they must not allocate (jemalloc(3), arena.<i>.extent_hooks).
void* Take(extent_hooks_t*, void* wanted, size_t size, size_t alignment, bool* zero, bool* commit,
           unsigned) {
  const std::lock_guard lock(region.growing);
  const auto base = reinterpret_cast<uintptr_t>(region.base);
  const size_t at = ((base + region.used + alignment - 1) & ~(alignment - 1)) - base;
  if (at > region.room || size > region.room - at) return nullptr;
  if (wanted != nullptr && wanted != region.base + at) return nullptr;
  // Reserve disk space, since using a page without it would raise a signal.
  int failed = 0;
  do {
    failed = fallocate(region.fd, 0, static_cast<off_t>(at), static_cast<off_t>(size));
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return nullptr;
  region.used = at + size;
  Trim();
  *zero = *commit = true;
  return region.base + at;
}

// Returning true means that the memory is kept.
bool GiveBack(extent_hooks_t*, void* at, size_t size, bool, unsigned) {
  return region.Has(at) || munmap(at, size) != 0;
}
void Destroy(extent_hooks_t*, void* at, size_t size, bool, unsigned) {
  if (!region.Has(at)) munmap(at, size);
}
bool Split(extent_hooks_t*, void*, size_t, size_t, size_t, bool, unsigned) { return false; }
bool Merge(extent_hooks_t*, void* a, size_t, void* b, size_t, bool, unsigned) {
  return region.Has(a) != region.Has(b);
}

extent_hooks_t hooks = {Take, GiveBack, Destroy, nullptr, nullptr, nullptr, nullptr, Split, Merge};

// Returns -1 with errno set if it fails.
int OpenUnnamed(const std::string& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string path = folder + "/acceltrace-" + std::string(6, 'X');
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

// Existing memory is used again and again without calls of Take(), so the limit is also enforced
// regularly.
void Watch(std::stop_token stop) {
  constexpr std::chrono::milliseconds kEach(5);
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    Trim();
    wake.wait_for(lock, stop, kEach, [] { return false; });
  }
}

Status MapRegion(uint64_t most_bytes) {
  const char* chosen = std::getenv("TMPDIR");
  const std::string folder = chosen != nullptr && chosen[0] == '/' ? chosen : "/var/tmp";
  const auto failed = [&](int error) {
    if (region.fd >= 0) close(region.fd);
    region.fd = -1;
    return Status::Error(fmt::format("no file for memory in {}: {}: set TMPDIR to another folder",
                                     folder, std::strerror(error)));
  };
  // Exceeding the limit on file sizes would raise a signal.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < most_bytes) return failed(EFBIG);
  region.fd = OpenUnnamed(folder);
  // Some file systems cannot reserve space.
  if (region.fd < 0 || fallocate(region.fd, 0, 0, kAtOnceBytes) != 0 ||
      ftruncate(region.fd, static_cast<off_t>(most_bytes)) != 0) {
    return failed(errno);
  }
  void* mapped =
      mmap(nullptr, most_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, region.fd, 0);
  if (mapped == MAP_FAILED) return failed(errno);
  madvise(mapped, most_bytes, MADV_DONTDUMP);
  region.base = static_cast<char*>(mapped), region.room = most_bytes;
  return {};
}

}  // namespace

Status SpillBeyond(uint64_t resident_bytes, uint64_t most_bytes) {
  if (region.fd >= 0) return {};
  if (region.statm < 0) region.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (region.statm < 0) return Status::Error("no /proc to see how much memory is taken: mount it");
  region.resident_bytes = resident_bytes;
  const Status mapped = MapRegion(most_bytes);
  if (!mapped.ok()) return mapped;
  // jemalloc makes the arena for large allocations at the first of them.
  void* volatile large = std::malloc(9 << 20);
  std::free(large);
  unsigned arenas = 0;
  size_t size = sizeof arenas;
  mallctl("arenas.narenas", &arenas, &size, nullptr, 0);
  for (unsigned i = 0; i < arenas; ++i) {
    // Limit how much an arena grows at a time, so that Take() is called often enough.
    size_t most_at_once = kAtOnceBytes;
    mallctl(fmt::format("arena.{}.retain_grow_limit", i).c_str(), nullptr, nullptr, &most_at_once,
            sizeof most_at_once);
    extent_hooks_t* all = &hooks;
    mallctl(fmt::format("arena.{}.extent_hooks", i).c_str(), nullptr, nullptr, &all, sizeof all);
  }
  static std::jthread watch;
  watch = std::jthread(Watch);
  return {};
}

}  // namespace acceltrace::cli
