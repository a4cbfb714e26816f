// SPDX-License-Identifier: Apache-2.0
//
// Converts the public argument structs to descriptors: fills in defaults and checks that each
// operand is within one allocation. Semaphores are left to the planner. Internal.
#ifndef LIBTRACE_RUNTIME_ENCODE_H_
#define LIBTRACE_RUNTIME_ENCODE_H_

#include <cstddef>

#include "kmod/uapi/axl.h"
#include "libtrace/runtime/axl.h"
#include "libtrace/runtime/buffers.h"

namespace acceltrace::runtime {

axlError_t EncodeMatmul(const Buffers& buffers, const char* op, const axlMatmul& args,
                        axl_desc* command);
axlError_t EncodeVector(const Buffers& buffers, const char* op, axlVectorOp code,
                        const axlVector& args, axl_desc* command);

// Rows of `width` bytes.
struct CopyArgs {
  void* dst;
  uint64_t dst_pitch;
  const void* src;
  uint64_t src_pitch;
  uint64_t width;
  uint64_t rows;
  axlMemcpyKind kind;
};
// The limit for one command; device-to-device copies have their own limit on the elements.
inline constexpr uint64_t kMaxCopyRows = AXL_MAX_COPY_ROWS;
inline constexpr uint64_t kMaxCopyBytes = AXL_MAX_COPY_BYTES;
inline constexpr uint64_t kMaxCopyBytesOnDevice = uint64_t{AXL_MAX_ELEMENTS} * 4;
axlError_t CheckCopy(const CopyArgs& args);
uint64_t CopyBytes(const CopyArgs& args);
// Sets *pageable, without encoding anything, if the device cannot access the host memory. If
// pageable is nullptr, that is an error.
axlError_t EncodeCopy(const Buffers& buffers, const char* op, const CopyArgs& args,
                      axl_desc* command, bool* pageable);

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_ENCODE_H_
