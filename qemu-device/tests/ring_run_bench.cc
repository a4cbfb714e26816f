// SPDX-License-Identifier: Apache-2.0
//
// axl-ring-run COMMAND...: runs a command in the guest with the device's trace
// ring open for all classes and counter samples, and nobody reading it, so that
// a measurement holds the trace unit's cost alone. Says how many records it made.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "kmod/uapi/axl.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: axl-ring-run COMMAND [ARG...]\n");
    return 2;
  }
  int fd = open("/dev/axl0", O_RDWR | O_CLOEXEC);
  axl_trace_open ring = {};
  ring.size = sizeof(ring);
  ring.ring = AXL_TRACE_RING_DEVICE;
  ring.log2_records = 14;
  ring.classes = AXL_REC_CLASSES_ALL;
  ring.sample_period_ns = 100000;
  if (fd < 0 || ioctl(fd, AXL_IOCTL_TRACE_OPEN, &ring) != 0) {
    std::perror("axl-ring-run: /dev/axl0");
    return 1;
  }
  void* map = mmap(nullptr, ring.map_bytes, PROT_READ, MAP_SHARED, fd,
                   static_cast<off_t>(ring.mmap_offset));
  if (map == MAP_FAILED) {
    std::perror("axl-ring-run: mmap");
    return 1;
  }
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[1], argv + 1);
    std::perror(argv[1]);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  axl_trace_header header;
  std::memcpy(&header, map, sizeof(header));
  std::printf("records %llu lost %llu\n", static_cast<unsigned long long>(header.produced),
              static_cast<unsigned long long>(header.lost));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
