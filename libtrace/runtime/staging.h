// SPDX-License-Identifier: Apache-2.0
//
// Copies to and from ordinary (pageable) host memory, using buffers that the device can access.
// Internal.
#ifndef LIBTRACE_RUNTIME_STAGING_H_
#define LIBTRACE_RUNTIME_STAGING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "libtrace/runtime/buffers.h"
#include "libtrace/runtime/encode.h"

namespace acceltrace::runtime {

class Stream;
class Context;

// Uses two chunks alternately, so that the CPU fills one while the device reads the other. Each
// device has one staged copy at a time; axlHostAlloc avoids staging.
class Staging {
 public:
  static constexpr size_t kChunkBytes = 256 * 1024;

  explicit Staging(Buffers& buffers) : buffers_(buffers) {}

  // Copies to the device return once src may be reused, copies to the host once dst is complete.
  axlError_t Copy(Stream& stream, const CopyArgs& args, uint64_t correlation);

 private:
  struct Chunk {
    void* memory = nullptr;
    Context* context = nullptr;  // of the last job that uses it; null = none
    uint32_t queue = 0;
    uint64_t sequence = 0;
  };
  // The piece has rows x width bytes, which fit into one chunk, where they are packed.
  axlError_t CopyPiece(Stream& stream, const CopyArgs& piece, uint64_t correlation);

  Buffers& buffers_;
  std::mutex mutex_;
  std::array<Chunk, 2> chunks_;
  size_t next_ = 0;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_STAGING_H_
