// SPDX-License-Identifier: Apache-2.0
//
// The system calls of libaxl as a table that tests can replace: with testing/fake_kernel.h the
// whole runtime runs without a device. Internal.
#ifndef LIBTRACE_RUNTIME_KERNEL_H_
#define LIBTRACE_RUNTIME_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace acceltrace::runtime {

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Returns the N of each /dev/axlN, ascending.
  virtual std::vector<uint32_t> Devices() = 0;
  // Each of the following returns a value >= 0 or -errno.
  virtual int Open(uint32_t index) = 0;
  virtual int Close(int fd) = 0;
  virtual int Ioctl(int fd, unsigned long request, void* argument) = 0;
  virtual int Map(int fd, uint64_t offset, size_t bytes, void** address) = 0;
  virtual int Unmap(void* address, size_t bytes) = 0;
};

// Returns the real one, which lives as long as the process.
Kernel& LinuxKernel();

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_KERNEL_H_
