// SPDX-License-Identifier: Apache-2.0
//
// axl-ring-run on|off COMMAND...: runs a command in the guest with the trace ring of /dev/axl0 open
// as the daemon opens it (all classes, counter samples each ms) but without a reader, so that a
// measurement has the cost of the trace unit alone; or without the ring, for comparison. Prints the
// number of records made.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "kmod/uapi/axl.h"

int main(int argc, char** argv) {
  bool on = argc > 1 && std::strcmp(argv[1], "on") == 0;
  if (argc < 3 || (!on && std::strcmp(argv[1], "off") != 0)) {
    std::fprintf(stderr, "usage: axl-ring-run on|off COMMAND [ARG...]\n");
    return 2;
  }
  axl_trace_header* header = nullptr;
  if (on) {
    int fd = open("/dev/axl0", O_RDWR | O_CLOEXEC);
    axl_trace_open ring = {};
    ring.size = sizeof(ring);
    ring.ring = AXL_TRACE_RING_DEVICE;
    ring.classes = AXL_REC_CLASSES_ALL;
    ring.sample_period_ns = 1000000;
    int opened = -1;
    for (uint32_t log2 = 16; log2 >= 10 && opened != 0; log2--) {  // what memory there is
      ring.log2_records = log2;
      opened = ioctl(fd, AXL_IOCTL_TRACE_OPEN, &ring);
    }
    if (opened != 0) {
      std::perror("axl-ring-run: /dev/axl0");
      return 1;
    }
    void* map = mmap(nullptr, ring.map_bytes, PROT_READ, MAP_SHARED, fd,
                     static_cast<off_t>(ring.mmap_offset));
    if (map == MAP_FAILED) {
      std::perror("axl-ring-run: mmap");
      return 1;
    }
    header = static_cast<axl_trace_header*>(map);
  }
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (header) {
    axl_trace_header now;
    std::memcpy(&now, header, sizeof(now));
    std::printf("records %llu lost %llu\n", static_cast<unsigned long long>(now.produced),
                static_cast<unsigned long long>(now.lost));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
