// SPDX-License-Identifier: Apache-2.0
//
// The public functions on memory.
#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/probes.h"
#include "libtrace/runtime/runtime.h"

using acceltrace::runtime::ApiCall;
using acceltrace::runtime::Device;
using acceltrace::runtime::Fail;
using acceltrace::runtime::NoStream;
using acceltrace::runtime::Runtime;

namespace {

axlError_t FreeHost(void* ptr, uint32_t kind, uint64_t correlation) {
  if (!ptr) return axlSuccess;
  // Host memory does not belong to a particular device, so use the current one.
  std::shared_ptr<Device> device;
  if (axlError_t e = Runtime::Get().GetCurrentDevice(&device)) return e;
  return device->FreeWhenIdle(correlation, [&] { return device->buffers().FreeHost(ptr, kind); });
}

}  // namespace

axlError_t axlMalloc(void** ptr, size_t bytes) {
  return ApiCall("axlMalloc", bytes, NoStream(), [&](uint64_t) {
    if (!ptr) return Fail(axlErrorInvalidValue, "axlMalloc: ptr is NULL");
    std::shared_ptr<Device> device;
    if (axlError_t e = Runtime::Get().GetCurrentDevice(&device)) return e;
    return device->buffers().AllocateDevice(AXL_BUF_DEVICE, bytes, ptr);
  });
}

axlError_t axlMallocScratch(void** ptr, size_t bytes) {
  return ApiCall("axlMallocScratch", bytes, NoStream(), [&](uint64_t) {
    if (!ptr) return Fail(axlErrorInvalidValue, "axlMallocScratch: ptr is NULL");
    std::shared_ptr<Device> device;
    if (axlError_t e = Runtime::Get().GetCurrentDevice(&device)) return e;
    return device->buffers().AllocateDevice(AXL_BUF_SCRATCH, bytes, ptr);
  });
}

axlError_t axlFree(void* ptr) {
  return ApiCall("axlFree", 0, NoStream(), [&](uint64_t correlation) {
    if (!ptr) return axlSuccess;
    std::shared_ptr<Device> device;
    if (axlError_t e = Runtime::Get().GetPointerDevice(ptr, &device)) return e;
    return device->FreeWhenIdle(correlation, [&] { return device->buffers().FreeDevice(ptr); });
  });
}

axlError_t axlMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return ApiCall("axlMemGetInfo", 0, NoStream(), [&](uint64_t) {
    if (!free_bytes || !total_bytes)
      return Fail(axlErrorInvalidValue, "axlMemGetInfo: an argument is NULL");
    std::shared_ptr<Device> device;
    if (axlError_t e = Runtime::Get().GetCurrentDevice(&device)) return e;
    axl_info info;
    if (axlError_t e = device->ReadInfo(&info)) return e;
    *free_bytes = info.dram_free_bytes;
    *total_bytes = info.dram_bytes;
    return axlSuccess;
  });
}

axlError_t axlHostAlloc(void** ptr, size_t bytes) {
  return ApiCall("axlHostAlloc", bytes, NoStream(), [&](uint64_t) {
    if (!ptr) return Fail(axlErrorInvalidValue, "axlHostAlloc: ptr is NULL");
    std::shared_ptr<Device> device;
    if (axlError_t e = Runtime::Get().GetCurrentDevice(&device)) return e;
    return device->buffers().AllocateHost(bytes, ptr);
  });
}

axlError_t axlHostFree(void* ptr) {
  return ApiCall("axlHostFree", 0, NoStream(),
                 [&](uint64_t correlation) { return FreeHost(ptr, AXL_BUF_HOST, correlation); });
}

axlError_t axlHostRegister(void* ptr, size_t bytes) {
  return ApiCall("axlHostRegister", bytes, NoStream(), [&](uint64_t) {
    std::shared_ptr<Device> device;
    if (axlError_t e = Runtime::Get().GetCurrentDevice(&device)) return e;
    return device->buffers().RegisterHost(ptr, bytes);
  });
}

axlError_t axlHostUnregister(void* ptr) {
  return ApiCall("axlHostUnregister", 0, NoStream(),
                 [&](uint64_t correlation) { return FreeHost(ptr, AXL_BUF_USER, correlation); });
}
