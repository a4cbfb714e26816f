// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/encode.h"
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/names.h"

namespace acceltrace::runtime {
namespace {

constexpr uint64_t kMaxPitch = UINT32_MAX;

// Returns the bytes from the first to the last one. CheckCopy keeps this below 2^64.
uint64_t Span(const CopyArgs& args, uint64_t pitch) { return (args.rows - 1) * pitch + args.width; }

axlError_t EncodeOnDevice(const Buffers& buffers, const char* op, const CopyArgs& args,
                          axl_desc* command) {
  const uint64_t misaligned = reinterpret_cast<uint64_t>(args.dst) |
                              reinterpret_cast<uint64_t>(args.src) | args.width |
                              (args.rows > 1 ? args.dst_pitch | args.src_pitch : 0);
  if (misaligned % 4 != 0)
    return Fail(axlErrorInvalidValue,
                "%s: a copy within the device needs addresses, sizes and pitches in multiples of 4",
                op);
  if (args.width / 4 > AXL_MAX_ELEMENTS)
    return Fail(axlErrorInvalidValue, "%s: a row is too large for one command; split the copy", op);
  axlVector vec = {};
  vec.dst = args.dst;
  vec.src0 = args.src;
  vec.rows = static_cast<uint32_t>(args.rows);
  vec.cols = static_cast<uint32_t>(args.width / 4);
  vec.src0Stride = static_cast<uint32_t>(args.src_pitch / 4);
  vec.dstStride = static_cast<uint32_t>(args.dst_pitch / 4);
  return EncodeVector(buffers, op, axlVecCopy, vec, command);
}

}  // namespace

uint64_t CopyBytes(const CopyArgs& args) {
  return args.rows && args.width > UINT64_MAX / args.rows ? UINT64_MAX : args.width * args.rows;
}

axlError_t CheckCopy(const CopyArgs& args) {
  if (args.kind < axlMemcpyHostToDevice || args.kind > axlMemcpyDeviceToDevice)
    return Fail(axlErrorInvalidValue, "%d is not a direction of a copy",
                static_cast<int>(args.kind));
  if (args.width == 0 || args.rows == 0) return axlSuccess;
  if (!args.dst || !args.src)
    return Fail(axlErrorInvalidValue, "%s of the copy is NULL", args.dst ? "src" : "dst");
  if (args.width >= 1ULL << AXL_REF_OFFSET_BITS || args.rows > UINT32_MAX)
    return Fail(axlErrorInvalidValue, "a copy of %llu rows of %llu bytes is too large",
                static_cast<unsigned long long>(args.rows),
                static_cast<unsigned long long>(args.width));
  if (args.rows > 1 && (args.dst_pitch > kMaxPitch || args.src_pitch > kMaxPitch ||
                        args.dst_pitch < args.width || args.src_pitch < args.width))
    return Fail(axlErrorInvalidValue,
                "pitches (%llu, %llu) must be at least the width of %llu bytes and below 4 GiB",
                static_cast<unsigned long long>(args.dst_pitch),
                static_cast<unsigned long long>(args.src_pitch),
                static_cast<unsigned long long>(args.width));
  return axlSuccess;
}

axlError_t EncodeCopy(const Buffers& buffers, const char* op, const CopyArgs& args,
                      axl_desc* command, bool* pageable) {
  if (pageable) *pageable = false;
  if (args.kind == axlMemcpyDeviceToDevice)
    return EncodeOnDevice(buffers, op ? op : "memcpy_d2d", args, command);
  if (args.rows > kMaxCopyRows || CopyBytes(args) > kMaxCopyBytes)
    return Fail(axlErrorInvalidValue,
                "%s: %llu rows of %llu bytes are too large for one command; split the copy",
                op ? op : "memcpy", static_cast<unsigned long long>(args.rows),
                static_cast<unsigned long long>(args.width));
  const bool to_device = args.kind == axlMemcpyHostToDevice;
  if (!op) op = to_device ? "memcpy_h2d" : "memcpy_d2h";
  const void* host = to_device ? args.src : args.dst;
  const void* device = to_device ? args.dst : args.src;
  const uint64_t host_pitch = to_device ? args.src_pitch : args.dst_pitch;
  const uint64_t device_pitch = to_device ? args.dst_pitch : args.src_pitch;

  *command = {};
  command->opcode = to_device ? AXL_OP_COPY_H2D : AXL_OP_COPY_D2H;
  command->engine = to_device ? AXL_ENGINE_H2D : AXL_ENGINE_D2H;
  command->copy.bytes = args.width;
  command->copy.rows = static_cast<uint32_t>(args.rows);
  if (args.rows > 1) {
    command->copy.host_pitch = static_cast<uint32_t>(host_pitch);
    command->copy.device_pitch = static_cast<uint32_t>(device_pitch);
  }
  uint64_t ref;
  if (axlError_t e = buffers.ResolveDevice(device, Span(args, device_pitch),
                                           to_device ? "dst" : "src", &ref)) {
    const char* detail = Detail();
    return Fail(e, "%s: %s", op, detail);
  }
  command->copy.device = ref;
  if (!buffers.ResolveHost(host, Span(args, host_pitch), &ref)) {
    if (!pageable)
      return Fail(axlErrorInvalidHostPointer,
                  "%s: host memory %p is not wholly from axlHostAlloc or axlHostRegister", op,
                  host);
    *pageable = true;
    return axlSuccess;
  }
  command->copy.host = ref;
  command->tag = OpTag(op);
  return axlSuccess;
}

}  // namespace acceltrace::runtime
