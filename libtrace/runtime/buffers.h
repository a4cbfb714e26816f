// SPDX-License-Identifier: Apache-2.0
//
// The buffers of one device: device memory, scratchpad, and host memory that the device accesses.
// Thread-safe. Internal.
#ifndef LIBTRACE_RUNTIME_BUFFERS_H_
#define LIBTRACE_RUNTIME_BUFFERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "libtrace/runtime/axl.h"
#include "libtrace/runtime/kernel.h"
#include "libtrace/runtime/pointers.h"

namespace acceltrace::runtime {

class Buffers {
 public:
  Buffers(Kernel& kernel, int fd, int ordinal) : kernel_(kernel), fd_(fd), ordinal_(ordinal) {}
  ~Buffers();  // unmaps; the driver frees the rest when the fd is closed
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // kind is AXL_BUF_DEVICE or AXL_BUF_SCRATCH.
  axlError_t AllocateDevice(uint32_t kind, size_t bytes, void** pointer);
  axlError_t FreeDevice(void* pointer);
  axlError_t AllocateHost(size_t bytes, void** address);
  axlError_t RegisterHost(void* address, size_t bytes);
  // kind is AXL_BUF_HOST or AXL_BUF_USER, as at its creation.
  axlError_t FreeHost(void* address, uint32_t kind);

  // Returns the AXL_REF of [pointer, pointer + bytes), which must be in one live allocation.
  axlError_t ResolveDevice(const void* pointer, uint64_t bytes, const char* what,
                           uint64_t* ref) const;
  // Does the same for host memory. Returns false if the device cannot access it.
  bool ResolveHost(const void* address, uint64_t bytes, uint64_t* ref) const;

 private:
  struct Buffer {
    uint32_t kind;
    uint64_t bytes;
    uintptr_t address;  // only for host memory
  };

  axlError_t Create(uint32_t kind, size_t bytes, void* user, uint32_t* handle,
                    uint64_t* mmap_offset);
  axlError_t Destroy(uint32_t handle);

  // The information that ResolveDevice needs without a lock: bytes << 1 | 1, or 0 if there is no
  // device buffer.
  static constexpr uint32_t kChunkHandles = 1024;
  using Sizes = std::array<std::atomic<uint64_t>, kChunkHandles>;
  void SetSize(uint32_t handle, uint64_t entry);

  Kernel& kernel_;
  const int fd_;
  const int ordinal_;
  std::array<std::atomic<Sizes*>, (kMaxHandle + 1) / kChunkHandles> sizes_ = {};
  std::vector<std::unique_ptr<Sizes>> owned_sizes_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint32_t, Buffer> buffers_;
  std::map<uintptr_t, uint32_t> host_;  // start address to handle
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_BUFFERS_H_
