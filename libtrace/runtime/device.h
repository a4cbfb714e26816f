// SPDX-License-Identifier: Apache-2.0
//
// An open accelerator of this process: its fd, limits, buffers and contexts. Streams keep it alive.
// Internal.
#ifndef LIBTRACE_RUNTIME_DEVICE_H_
#define LIBTRACE_RUNTIME_DEVICE_H_

#include <array>
#include <memory>
#include <mutex>

#include "kmod/uapi/axl.h"
#include "libtrace/runtime/axl.h"
#include "libtrace/runtime/buffers.h"
#include "libtrace/runtime/context.h"
#include "libtrace/runtime/kernel.h"

namespace acceltrace::runtime {

class Stream;
class Staging;

class Device {
 public:
  static constexpr uint32_t kPriorities = 4;
  static constexpr uint32_t kDefaultPriority = 1;

  // ordinal is libaxl's number, index is the N of /dev/axlN, and identity is a file whose client it
  // joins, or -1.
  static axlError_t Open(Kernel& kernel, int ordinal, uint32_t index, int identity,
                         std::shared_ptr<Device>* device);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  uint32_t index() const { return index_; }
  const axl_info& info() const { return info_; }  // as it was when opened
  axlError_t ReadInfo(axl_info* info);            // now
  Buffers& buffers() { return buffers_; }
  Staging& staging() { return *staging_; }
  StickyError& sticky() { return sticky_; }

  // Made at its first use; lives as long as the device.
  axlError_t GetContext(uint32_t priority, Context** context);
  axlError_t Synchronize(uint64_t correlation);

  // Frees a buffer by `free`; if work still uses it, after that work has completed.
  template <typename Free>
  axlError_t FreeWhenIdle(uint64_t correlation, Free&& free) {
    axlError_t error = free();
    if (error != axlErrorBusy) return error;
    if ((error = Synchronize(correlation))) return error;
    return free();
  }

 private:
  Device(Kernel& kernel, int fd, int ordinal, uint32_t index);
  void BecomeClient(int identity);

  Kernel& kernel_;
  const int fd_;
  const int ordinal_;
  const uint32_t index_;
  axl_info info_ = {};
  StickyError sticky_;
  Buffers buffers_;
  std::mutex contexts_mutex_;
  std::array<std::unique_ptr<Context>, kPriorities> contexts_;
  std::unique_ptr<Staging> staging_;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_DEVICE_H_
