// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/kernel.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace acceltrace::runtime {
namespace {

constexpr uint32_t kMaxDeviceNodes = 64;

struct NodePath {
  explicit NodePath(uint32_t index) { std::snprintf(text, sizeof text, "/dev/axl%u", index); }
  char text[24];
};

// Opens and closes by raw system calls: the C library's functions are cancellation points, at which
// a thread could leak a descriptor or be cancelled within a destructor.
class RealKernel : public Kernel {
 public:
  std::vector<uint32_t> Devices() override {
    std::vector<uint32_t> found;
    for (uint32_t index = 0; index < kMaxDeviceNodes; ++index) {
      struct stat status;
      if (stat(NodePath(index).text, &status) == 0 && S_ISCHR(status.st_mode))
        found.push_back(index);
    }
    return found;
  }

  int Open(uint32_t index) override {
    const long fd = syscall(SYS_openat, AT_FDCWD, NodePath(index).text, O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : static_cast<int>(fd);
  }

  int Close(int fd) override { return syscall(SYS_close, fd) < 0 ? -errno : 0; }

  int Ioctl(int fd, unsigned long request, void* argument) override {
    const int result = ioctl(fd, request, argument);
    return result < 0 ? -errno : result;
  }

  int Map(int fd, uint64_t offset, size_t bytes, void** address) override {
    void* mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return -errno;
    *address = mapped;
    return 0;
  }

  int Unmap(void* address, size_t bytes) override {
    return munmap(address, bytes) < 0 ? -errno : 0;
  }
};

}  // namespace

Kernel& LinuxKernel() {
  static RealKernel kernel;
  return kernel;
}

}  // namespace acceltrace::runtime
