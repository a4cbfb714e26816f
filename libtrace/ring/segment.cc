// SPDX-License-Identifier: Apache-2.0
#include "libtrace/ring/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace acceltrace::ring {
namespace {

constexpr char kClockSource[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

// The kernel keeps time by the TSC, so it has found it fit; and this process may read it.
bool TscIsTheClock() {
#if defined(__x86_64__)
  int tsc = 0;
  if (prctl(PR_GET_TSC, &tsc) == 0 && tsc != PR_TSC_ENABLE) return false;
  char name[8] = {};
  const int fd = open(kClockSource, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t bytes = read(fd, name, sizeof(name) - 1);
  close(fd);
  return bytes == 4 && std::memcmp(name, "tsc\n", 4) == 0;
#else
  return false;
#endif
}

int MakeMemory(size_t bytes) {
  int fd = static_cast<int>(
      syscall(SYS_memfd_create, "api-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  if (fd < 0 && errno == EINVAL) {  // before Linux 6.3
    fd = static_cast<int>(syscall(SYS_memfd_create, "api-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (fd < 0) return -errno;
  // A reader must not meet a page that is gone.
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int error = errno;
    close(fd);
    return -error;
  }
  return fd;
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
  const Layout layout = {host.num_names, host.threads, host.slot_bits};
  if (!layout.Valid() || layout.bytes() > kMaxSegmentBytes) return EINVAL;
  const int fd = MakeMemory(layout.bytes());
  if (fd < 0) return -fd;
  void* address = mmap(nullptr, layout.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  void* writers = MapWipedOnFork(layout.threads * sizeof(Writer));
  if (address == MAP_FAILED || writers == nullptr ||
      madvise(address, layout.bytes(), MADV_DONTFORK) != 0) {
    if (address != MAP_FAILED) munmap(address, layout.bytes());
    if (writers != nullptr) munmap(writers, RoundUpToPage(layout.threads * sizeof(Writer)));
    close(fd);
    return ENOMEM;
  }
  segment->header = new (address) SegmentHeader;
  segment->layout = layout;
  segment->fd = fd;
  segment->writers = static_cast<Writer*>(writers);
  SegmentHeader* header = segment->header;
  header->version = kVersion;
  header->index = index;
  header->pid = static_cast<uint32_t>(getpid());
  header->clock = TscIsTheClock() ? StampClock::kTsc : StampClock::kMonotonic;
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
