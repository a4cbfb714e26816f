// SPDX-License-Identifier: Apache-2.0
//
// Copies to and from ordinary (pageable) host memory, through buffers that the
// device reaches. Internal.
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

// Two chunks in turn, so that the CPU fills one while the device reads the other. One
// staged copy at a time for each device: whoever cares uses axlHostAlloc.
class Staging {
 public:
  static constexpr size_t kChunkBytes = 256 * 1024;

  explicit Staging(Buffers& buffers) : buffers_(buffers) {}

  // To the device: returns once src may be reused. From it: once dst is complete.
  axlError_t Copy(Stream& stream, const CopyArgs& args, uint64_t correlation);

 private:
  struct Chunk {
    void* memory = nullptr;
    Context* context = nullptr;  // of the last job that uses it; null = none
    uint32_t queue = 0;
    uint64_t sequence = 0;
  };
  // rows x width bytes that fit one chunk, packed there.
  axlError_t CopyPiece(Stream& stream, const CopyArgs& piece, uint64_t correlation);

  Buffers& buffers_;
  std::mutex mutex_;
  std::array<Chunk, 2> chunks_;
  size_t next_ = 0;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_STAGING_H_
