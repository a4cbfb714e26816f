// SPDX-License-Identifier: Apache-2.0
#include "libtrace/ring/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#include "libtrace/ring/ask.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace acceltrace::ring {
namespace {

constexpr uint32_t kLeastSlotBits = 10;
constexpr char kClockSource[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

// If the kernel keeps time by the TSC, it has found the TSC reliable. The process must also be
// allowed to read it.
bool TscIsTheClock() {
#if defined(__x86_64__)
  int tsc = 0;
  if (prctl(PR_GET_TSC, &tsc) == 0 && tsc != PR_TSC_ENABLE) return false;
  char name[8] = {};
  // Uses raw system calls, since the C library's functions are cancellation points, at which a
  // thread could leave a half-made segment behind.
  const long fd = syscall(SYS_openat, AT_FDCWD, kClockSource, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long bytes = syscall(SYS_read, fd, name, sizeof(name) - 1);
  syscall(SYS_close, fd);
  return bytes == 4 && std::memcmp(name, "tsc\n", 4) == 0;
#else
  return false;
#endif
}

// Uses a small share of a limited address space only, since the program may need the rest.
uint32_t SlotBits(Layout layout) {
  constexpr rlim_t kShare = 32;
  rlimit most{};
  if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return layout.slot_bits;
  while (layout.slot_bits > kLeastSlotBits && layout.bytes() > most.rlim_cur / kShare) {
    --layout.slot_bits;
  }
  return layout.slot_bits;
}

// The mapping is not inherited on fork, since a child makes its own. It is also unlocked where the
// program locks all future memory, since it would count against the program's limit.
void* MakeMemory(size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  (void)munlock(address, bytes);
  if (madvise(address, bytes, MADV_DONTFORK) == 0) return address;
  munmap(address, bytes);
  return nullptr;
}

}  // namespace

void* MapWipedOnFork(size_t bytes) {
  void* address = mmap(nullptr, RoundUpToPage(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  if (madvise(address, RoundUpToPage(bytes), MADV_WIPEONFORK) != 0) {
    munmap(address, RoundUpToPage(bytes));
    return nullptr;
  }
  return address;
}

int MakeSegment(const Host& host, uint32_t index, Segment* segment) {
  Layout layout = {host.num_names, host.threads, host.slot_bits};
  if (!layout.Valid()) return EINVAL;
  layout.slot_bits = SlotBits(layout);
  if (layout.bytes() > kMaxSegmentBytes) return EINVAL;
  void* address = MakeMemory(layout.bytes());
  void* writers = MapWipedOnFork(layout.threads * sizeof(Writer));
  if (address == nullptr || writers == nullptr) {
    if (address != nullptr) munmap(address, layout.bytes());
    if (writers != nullptr) munmap(writers, RoundUpToPage(layout.threads * sizeof(Writer)));
    return ENOMEM;
  }
  segment->header = new (address) SegmentHeader;
  segment->layout = layout;
  segment->writers = static_cast<Writer*>(writers);
  SegmentHeader* header = segment->header;
  header->version = kVersion;
  header->index = index;
  header->pid = static_cast<uint32_t>(getpid());
  header->clock = TscIsTheClock() ? StampClock::kTsc : StampClock::kMonotonic;
  header->late = WasUnrecorded() ? 1 : 0;
  header->names = layout.names;
  header->threads = layout.threads;
  header->slot_bits = layout.slot_bits;
  for (uint32_t i = 0; i < layout.names; ++i) {
    char* name = segment->at(layout.names_at() + i * kNameBytes);
    std::strncpy(name, host.names[i], kNameBytes - 1);
  }
  header->magic = kMagic;
  return 0;
}

void Populate(void* address, size_t bytes) {
  if (madvise(address, bytes, MADV_POPULATE_WRITE) == 0) return;
  for (size_t at = 0; at < bytes; at += kPageBytes) {
    volatile char* byte = static_cast<char*>(address) + at;
    *byte = *byte;
  }
}

uint64_t MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace acceltrace::ring
