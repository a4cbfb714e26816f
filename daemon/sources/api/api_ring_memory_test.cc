// SPDX-License-Identifier: Apache-2.0
//
// What a process may report about its rings' memory, and do to it before and after.
#include "daemon/sources/api/api_ring_memory.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>

#include "libtrace/ring/format.h"
#include "tests/catch.h"

using namespace acceltrace;
using namespace acceltrace::daemon;

namespace {

constexpr size_t kPage = ring::kPageBytes, kBytes = 16 * kPage;

uint32_t Self() { return static_cast<uint32_t>(getpid()); }

SegmentPlace At(const void* address, size_t bytes = kBytes) {
  return {reinterpret_cast<uintptr_t>(address), bytes};
}

char* Map(int flags = MAP_SHARED | MAP_ANONYMOUS, int fd = -1, size_t bytes = kBytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  REQUIRE(address != MAP_FAILED);
  return static_cast<char*>(address);
}

// Returns an empty string if it was taken, otherwise the reason.
std::string Refusal(const SegmentPlace& place, uint32_t pid = Self()) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const auto taken = TakeSegmentMemory(pid, pidfd, place);
  return taken.ok() ? "" : taken.message();
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool MayOpenMappings() {
  char* memory = Map();
  const bool may = !Has(Refusal(At(memory)), "CAP_CHECKPOINT_RESTORE");
  munmap(memory, kBytes);
  return may;
}

}  // namespace

TEST_CASE("a segment is taken by one tracer at a time, and again once that lets go") {
  if (!MayOpenMappings()) SKIP("takes CAP_CHECKPOINT_RESTORE");
  char* memory = Map();
  memory[5 * kPage] = 'x';
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  {
    auto taken = TakeSegmentMemory(Self(), pidfd, At(memory));
    REQUIRE(taken.ok());
    REQUIRE(taken.value().mapping.bytes() == kBytes);
    auto* ours = static_cast<char*>(taken.value().mapping.get());
    REQUIRE(ours[5 * kPage] == 'x');
    ours[0] = 'y';
    REQUIRE(memory[0] == 'y');
    // It was announced twice, or to two daemons.
    CHECK(Has(Refusal(At(memory)), "another recording"));
  }
  CHECK(Refusal(At(memory)).empty());
  munmap(memory, kBytes);
}

TEST_CASE("what is not one anonymous shared mapping, whole, is refused") {
  if (!MayOpenMappings()) SKIP("takes CAP_CHECKPOINT_RESTORE");
  char* memory = Map();
  CHECK(Has(Refusal({}), "impossible"));
  CHECK(Has(Refusal(At(memory + 1)), "impossible"));
  CHECK(Has(Refusal(At(memory, 0)), "impossible"));
  CHECK(Has(Refusal(At(memory, ring::kMaxSegmentBytes + kPage)), "impossible"));
  CHECK(Has(Refusal({UINT64_MAX - kPage + 1, kPage}), "impossible"));
  CHECK(Has(Refusal(At(memory, kBytes - kPage)), "not one mapping"));
  CHECK(Has(Refusal(At(memory + kPage, kBytes - kPage)), "not one mapping"));

  // The mapping is split by permissions, and shrunk at either end.
  REQUIRE(mprotect(memory + 4 * kPage, kPage, PROT_READ) == 0);
  CHECK(Has(Refusal(At(memory)), "not one mapping"));
  REQUIRE(mprotect(memory + 4 * kPage, kPage, PROT_READ | PROT_WRITE) == 0);
  REQUIRE(munmap(memory + kBytes - kPage, kPage) == 0);
  CHECK(Has(Refusal(At(memory)), "not one mapping"));
  CHECK(Has(Refusal(At(memory, kBytes - kPage)), "another size"));
  REQUIRE(munmap(memory, kPage) == 0);
  CHECK(Has(Refusal(At(memory + kPage, kBytes - 2 * kPage)), "another size"));
  munmap(memory, kBytes);

  // The mapping has grown beyond its file, where a read would be fatal.
  memory = Map();
  void* grown = mremap(memory, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
  REQUIRE(grown != MAP_FAILED);
  CHECK(Has(Refusal(At(grown, 2 * kBytes)), "another size"));
  munmap(grown, 2 * kBytes);

  memory = Map(MAP_PRIVATE | MAP_ANONYMOUS);
  CHECK(Has(Refusal(At(memory)), "not one mapping"));
  munmap(memory, kBytes);
}

TEST_CASE("files that can be shrunk, leased or asked for are refused, whatever they are called") {
  if (!MayOpenMappings()) SKIP("takes CAP_CHECKPOINT_RESTORE");
  for (const char* name : {"api-ring", "../dev/zero (deleted)"}) {
    const UniqueFd file(memfd_create(name, MFD_CLOEXEC));
    REQUIRE(ftruncate(file.get(), kBytes) == 0);
    char* memory = Map(MAP_SHARED, file.get());
    CHECK(Has(Refusal(At(memory)), "not anonymous"));
    munmap(memory, kBytes);
  }
  const int system_v = shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0600);
  REQUIRE(system_v >= 0);
  void* attached = shmat(system_v, nullptr, 0);
  shmctl(system_v, IPC_RMID, nullptr);
  REQUIRE(attached != reinterpret_cast<void*>(-1));
  CHECK(Has(Refusal(At(attached)), "not anonymous"));
  shmdt(attached);
}

TEST_CASE("a deleted file that is called as the kernel calls anonymous memory is refused") {
  if (!MayOpenMappings()) SKIP("takes CAP_CHECKPOINT_RESTORE");
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    SegmentPlace place;
    // The file is in a detached mount, so that its paths begin at the mount's own root.
    if (unshare(CLONE_NEWNS) == 0 && mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
        mount("none", "/mnt", "tmpfs", 0, nullptr) == 0 && mkdir("/mnt/dev", 0755) == 0) {
      const int file = open("/mnt/dev/zero", O_RDWR | O_CREAT | O_CLOEXEC, 0777);
      if (ftruncate(file, kBytes) == 0 && unlink("/mnt/dev/zero") == 0) {
        place = At(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        if (umount2("/mnt", MNT_DETACH) != 0) place = {};
      }
    }
    if (write(ends[1], &place, sizeof(place)) == sizeof(place)) pause();
    _exit(1);
  }
  SegmentPlace place;
  REQUIRE(read(ends[0], &place, sizeof(place)) == sizeof(place));
  char range[96], link[64] = {};
  snprintf(range, sizeof(range), "/proc/%d/map_files/%lx-%lx", child, place.address,
           place.address + place.bytes);
  const bool made = place.address != 0;
  const bool same_name =
      readlink(range, link, sizeof(link) - 1) > 0 && std::string(link) == "/dev/zero (deleted)";
  const std::string refusal = Refusal(place, static_cast<uint32_t>(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  if (!made) SKIP("takes a mount namespace");
  CHECK(same_name);
  CHECK(Has(refusal, "not anonymous"));
}

TEST_CASE("what the process does to its memory later does not reach the reader's") {
  if (!MayOpenMappings()) SKIP("takes CAP_CHECKPOINT_RESTORE");
  char* memory = Map();
  std::memset(memory, 'x', kBytes);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  const auto taken = TakeSegmentMemory(Self(), pidfd, At(memory));
  REQUIRE(taken.ok());
  const auto* ours = static_cast<const volatile char*>(taken.value().mapping.get());
  const auto sum = [&] {
    int found = 0;
    for (size_t i = 0; i < kBytes; i += kPage) found += ours[i] == 'x';
    return found;
  };
  CHECK(sum() == 16);
  REQUIRE(madvise(memory, 4 * kPage, MADV_REMOVE) == 0);
  CHECK(sum() == 12);
  REQUIRE(mprotect(memory, kBytes, PROT_NONE) == 0);
  CHECK(sum() == 12);
  REQUIRE(munmap(memory, kBytes) == 0);
  CHECK(sum() == 12);
}

TEST_CASE("segments of a process are found among its mappings, in any number of them") {
  if (!MayOpenMappings()) SKIP("takes CAP_CHECKPOINT_RESTORE");
  char* other = Map();
  char* segment = Map();
  std::memcpy(segment, &ring::kMagic, sizeof(ring::kMagic));
  const auto found_at = [&](const void* address) {
    const auto all = FindSegments(Self());
    return std::any_of(all.begin(), all.end(), [&](const SegmentPlace& place) {
      return place.address == At(address).address && place.bytes == kBytes;
    });
  };
  CHECK(found_at(segment));
  CHECK_FALSE(found_at(other));
  constexpr size_t kMany = 20000;
  char* many = Map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, kMany * kPage);
  for (size_t i = 0; i < kMany; i += 2) mprotect(many + i * kPage, kPage, PROT_READ);
  CHECK(found_at(segment));
  munmap(many, kMany * kPage);
  munmap(other, kBytes);
  munmap(segment, kBytes);
}

TEST_CASE("a process that has exited has no rings") {
  char* memory = Map();
  const pid_t child = fork();
  if (child == 0) _exit(0);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  REQUIRE(waitpid(child, nullptr, 0) == child);
  const auto taken = TakeSegmentMemory(static_cast<uint32_t>(child), pidfd, At(memory));
  CHECK_FALSE(taken.ok());
  // Its pid is now that of another process: this one.
  const auto reused = TakeSegmentMemory(Self(), pidfd, At(memory));
  CHECK_FALSE(reused.ok());
  CHECK(FindSegments(static_cast<uint32_t>(child)).empty());
  munmap(memory, kBytes);
}
