// SPDX-License-Identifier: Apache-2.0
//
// The public functions that copy and fill memory.
#include <algorithm>
#include <bit>

#include "libtrace/runtime/encode.h"
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/probes.h"
#include "libtrace/runtime/runtime.h"
#include "libtrace/runtime/staging.h"

namespace acceltrace::runtime {
namespace {

axlError_t CopyPiece(const CopyArgs& args, Stream& stream, uint64_t correlation) {
  Device& device = stream.device();
  axl_desc command;
  bool pageable;
  if (axlError_t e = EncodeCopy(device.buffers(), nullptr, args, &command, &pageable)) return e;
  if (pageable) return device.staging().Copy(stream, args, correlation);
  return stream.Enqueue(command, correlation, nullptr);
}

axlError_t CopyAsync(const CopyArgs& args, Stream& stream, uint64_t correlation) {
  if (axlError_t e = CheckCopy(args)) return e;
  if (args.width == 0 || args.rows == 0) return axlSuccess;
  const uint64_t limit =
      args.kind == axlMemcpyDeviceToDevice ? kMaxCopyBytesOnDevice : kMaxCopyBytes;
  const uint64_t width = std::min(args.width, limit);
  const uint64_t rows = std::min({args.rows, limit / width, kMaxCopyRows});
  if (rows == args.rows && width == args.width) return CopyPiece(args, stream, correlation);
  for (uint64_t row = 0; row < args.rows; row += rows) {
    for (uint64_t column = 0; column < args.width; column += width) {
      CopyArgs piece = args;
      piece.dst = static_cast<char*>(args.dst) + row * args.dst_pitch + column;
      piece.src = static_cast<const char*>(args.src) + row * args.src_pitch + column;
      piece.rows = std::min(rows, args.rows - row);
      piece.width = std::min(width, args.width - column);
      if (axlError_t e = CopyPiece(piece, stream, correlation)) return e;
    }
  }
  return axlSuccess;
}

}  // namespace
}  // namespace acceltrace::runtime

using acceltrace::runtime::ApiCall;
using acceltrace::runtime::CopyArgs;
using acceltrace::runtime::CopyAsync;
using acceltrace::runtime::CopyBytes;
using acceltrace::runtime::Fail;
using acceltrace::runtime::Runtime;
using acceltrace::runtime::Stream;

axlError_t axlMemcpy(void* dst, const void* src, size_t bytes, axlMemcpyKind kind) {
  return ApiCall("axlMemcpy", bytes, axlStream_t(nullptr), [&](uint64_t correlation) {
    std::shared_ptr<Stream> stream;
    if (axlError_t e = Runtime::Get().GetStream(nullptr, &stream)) return e;
    if (stream->InBatch())
      return Fail(axlErrorBatchState, "axlMemcpy is not possible in a batch: use axlMemcpyAsync");
    const CopyArgs args = {dst, bytes, src, bytes, bytes, 1, kind};
    if (axlError_t e = CopyAsync(args, *stream, correlation)) return e;
    return stream->Synchronize(correlation);
  });
}

axlError_t axlMemcpyAsync(void* dst, const void* src, size_t bytes, axlMemcpyKind kind,
                          axlStream_t stream) {
  return ApiCall("axlMemcpyAsync", bytes, stream, [&](uint64_t correlation) {
    std::shared_ptr<Stream> target;
    if (axlError_t e = Runtime::Get().GetStream(stream, &target)) return e;
    return CopyAsync({dst, bytes, src, bytes, bytes, 1, kind}, *target, correlation);
  });
}

axlError_t axlMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                            size_t width, size_t height, axlMemcpyKind kind, axlStream_t stream) {
  const CopyArgs args = {dst, dst_pitch, src, src_pitch, width, height, kind};
  return ApiCall("axlMemcpy2DAsync", CopyBytes(args), stream, [&](uint64_t correlation) {
    std::shared_ptr<Stream> target;
    if (axlError_t e = Runtime::Get().GetStream(stream, &target)) return e;
    return CopyAsync(args, *target, correlation);
  });
}

axlError_t axlMemsetD32Async(void* dst, uint32_t value, size_t count, axlStream_t stream) {
  return ApiCall("axlMemsetD32Async", count * 4, stream, [&](uint64_t correlation) {
    std::shared_ptr<Stream> target;
    if (axlError_t e = Runtime::Get().GetStream(stream, &target)) return e;
    for (size_t done = 0; done < count;) {
      axlVector args = {};
      args.dst = static_cast<uint32_t*>(dst) + done;
      args.rows = 1;
      args.cols = static_cast<uint32_t>(std::min<size_t>(count - done, AXL_MAX_ELEMENTS));
      args.alpha = std::bit_cast<float>(value);
      axl_desc command;
      if (axlError_t e = acceltrace::runtime::EncodeVector(target->device().buffers(), "memset",
                                                           axlVecFill, args, &command))
        return e;
      if (axlError_t e = target->Enqueue(command, correlation, nullptr)) return e;
      done += args.cols;
    }
    return axlSuccess;
  });
}
