// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/buffers.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <mutex>

#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/pointers.h"

namespace acceltrace::runtime {
namespace {

const char* KindName(uint32_t kind) {
  switch (kind) {
    case AXL_BUF_DEVICE:
      return "device memory";
    case AXL_BUF_SCRATCH:
      return "scratchpad";
    case AXL_BUF_HOST:
      return "host memory";
    default:
      return "registered host memory";
  }
}

uint64_t PageBytes() {
  static const uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t RoundToPages(uint64_t bytes) { return (bytes + PageBytes() - 1) & ~(PageBytes() - 1); }

bool IsDeviceKind(uint32_t kind) { return kind == AXL_BUF_DEVICE || kind == AXL_BUF_SCRATCH; }

}  // namespace

Buffers::~Buffers() {
  for (const auto& [handle, buffer] : buffers_) {
    if (buffer.kind == AXL_BUF_HOST)
      kernel_.Unmap(reinterpret_cast<void*>(buffer.address), RoundToPages(buffer.bytes));
  }
}

axlError_t Buffers::Create(uint32_t kind, size_t bytes, void* user, uint32_t* handle,
                           uint64_t* mmap_offset) {
  if (bytes == 0 || bytes >= 1ULL << AXL_REF_OFFSET_BITS)
    return Fail(axlErrorInvalidValue, "cannot allocate %zu bytes: give 1 to 2^40 - 1", bytes);
  axl_buf_create create = {};
  create.size = sizeof create;
  create.kind = kind;
  create.bytes = RoundToPages(bytes);
  create.user_addr = reinterpret_cast<uint64_t>(user);
  const int result = kernel_.Ioctl(fd_, AXL_IOCTL_BUF_CREATE, &create);
  if (result < 0) {
    char what[80];
    std::snprintf(what, sizeof what, "allocate %zu bytes of %s", bytes, KindName(kind));
    if (-result == ENOSPC || (-result == ENOMEM && IsDeviceKind(kind)))
      return Fail(axlErrorOutOfDeviceMemory, "cannot %s: not enough is free", what);
    if (-result == EDQUOT && IsDeviceKind(kind))
      return Fail(axlErrorOutOfDeviceMemory,
                  "cannot %s: this user has his part of it (the driver's user_percent)", what);
    return FailErrno(-result, what);
  }
  if (create.handle == 0 || create.handle > kMaxHandle) {
    axl_buf_destroy destroy = {sizeof destroy, create.handle};
    kernel_.Ioctl(fd_, AXL_IOCTL_BUF_DESTROY, &destroy);
    return Fail(axlErrorLimit, "the driver gave buffer handle %u: at most %u can be used",
                create.handle, kMaxHandle);
  }
  *handle = create.handle;
  if (mmap_offset) *mmap_offset = create.mmap_offset;
  return axlSuccess;
}

axlError_t Buffers::Destroy(uint32_t handle) {
  axl_buf_destroy destroy = {sizeof destroy, handle};
  const int result = kernel_.Ioctl(fd_, AXL_IOCTL_BUF_DESTROY, &destroy);
  return result < 0 ? FailErrno(-result, "free a buffer") : axlSuccess;
}

// mutex_ must be held.
void Buffers::SetSize(uint32_t handle, uint64_t entry) {
  std::atomic<Sizes*>& chunk = sizes_[handle / kChunkHandles];
  if (!chunk.load(std::memory_order_relaxed)) {
    owned_sizes_.push_back(std::make_unique<Sizes>());
    chunk.store(owned_sizes_.back().get(), std::memory_order_release);
  }
  (*chunk)[handle % kChunkHandles].store(entry, std::memory_order_release);
}

axlError_t Buffers::AllocateDevice(uint32_t kind, size_t bytes, void** pointer) {
  uint32_t handle;
  if (axlError_t e = Create(kind, bytes, nullptr, &handle, nullptr)) return e;
  std::unique_lock lock(mutex_);
  buffers_[handle] = {kind, bytes, 0};
  SetSize(handle, static_cast<uint64_t>(bytes) << 1 | 1);
  *pointer = MakePointer(ordinal_, handle);
  return axlSuccess;
}

axlError_t Buffers::FreeDevice(void* pointer) {
  const uint64_t ref = PointerRef(pointer);
  const uint32_t handle = AXL_REF_HANDLE(ref);
  std::unique_lock lock(mutex_);
  const auto found = buffers_.find(handle);
  if (found == buffers_.end() || !IsDeviceKind(found->second.kind) || AXL_REF_OFFSET(ref) != 0)
    return Fail(axlErrorInvalidDevicePointer,
                "%p is not the start of a device allocation (freed twice?)", pointer);
  if (axlError_t e = Destroy(handle)) return e;
  buffers_.erase(found);
  SetSize(handle, 0);
  return axlSuccess;
}

axlError_t Buffers::AllocateHost(size_t bytes, void** address) {
  uint32_t handle;
  uint64_t offset;
  if (axlError_t e = Create(AXL_BUF_HOST, bytes, nullptr, &handle, &offset)) return e;
  void* mapped = nullptr;
  const int result = kernel_.Map(fd_, offset, RoundToPages(bytes), &mapped);
  if (result < 0) {
    (void)Destroy(handle);
    return FailErrno(-result, "map host memory");
  }
  std::unique_lock lock(mutex_);
  buffers_[handle] = {AXL_BUF_HOST, bytes, reinterpret_cast<uintptr_t>(mapped)};
  host_[reinterpret_cast<uintptr_t>(mapped)] = handle;
  *address = mapped;
  return axlSuccess;
}

axlError_t Buffers::RegisterHost(void* address, size_t bytes) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(address);
  if (start == 0 || start % PageBytes() != 0)
    return Fail(axlErrorInvalidValue, "cannot register %p: it must be page aligned", address);
  std::unique_lock lock(mutex_);
  const auto next = host_.lower_bound(start);
  const bool after = next != host_.end() && next->first < start + bytes;
  const bool before = next != host_.begin() && [&] {
    const auto& [begin, handle] = *std::prev(next);
    return begin + buffers_.at(handle).bytes > start;
  }();
  if (after || before)
    return Fail(axlErrorInvalidValue, "cannot register %p: part of it is registered already",
                address);
  uint32_t handle;
  if (axlError_t e = Create(AXL_BUF_USER, bytes, address, &handle, nullptr)) return e;
  buffers_[handle] = {AXL_BUF_USER, bytes, start};
  host_[start] = handle;
  return axlSuccess;
}

axlError_t Buffers::FreeHost(void* address, uint32_t kind) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(address);
  std::unique_lock lock(mutex_);
  const auto found = host_.find(start);
  if (found == host_.end() || buffers_.at(found->second).kind != kind)
    return Fail(axlErrorInvalidHostPointer, "%p is not the start of %s (freed twice?)", address,
                KindName(kind));
  const uint32_t handle = found->second;
  // Destroy the handle first: if a job uses it, the driver returns EBUSY and nothing has changed.
  if (axlError_t e = Destroy(handle)) return e;
  if (kind == AXL_BUF_HOST) kernel_.Unmap(address, RoundToPages(buffers_.at(handle).bytes));
  buffers_.erase(handle);
  host_.erase(found);
  return axlSuccess;
}

axlError_t Buffers::ResolveDevice(const void* pointer, uint64_t bytes, const char* what,
                                  uint64_t* ref) const {
  *ref = PointerRef(pointer);
  if (PointerOrdinal(pointer) != ordinal_)
    return Fail(axlErrorInvalidDevicePointer, "%s: %p is not of device %d", what, pointer,
                ordinal_);
  const uint32_t handle = AXL_REF_HANDLE(*ref);
  const Sizes* const chunk = sizes_[handle / kChunkHandles].load(std::memory_order_acquire);
  const uint64_t entry =
      chunk ? (*chunk)[handle % kChunkHandles].load(std::memory_order_acquire) : 0;
  if (!entry)
    return Fail(axlErrorInvalidDevicePointer, "%s: %p is not in a device allocation", what,
                pointer);
  const uint64_t offset = AXL_REF_OFFSET(*ref);
  const uint64_t size = entry >> 1;
  if (offset > size || bytes > size - offset)
    return Fail(axlErrorInvalidDevicePointer,
                "%s: %llu bytes at offset %llu reach past the allocation's %llu", what,
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset),
                static_cast<unsigned long long>(size));
  return axlSuccess;
}

bool Buffers::ResolveHost(const void* address, uint64_t bytes, uint64_t* ref) const {
  const uintptr_t start = reinterpret_cast<uintptr_t>(address);
  std::shared_lock lock(mutex_);
  auto next = host_.upper_bound(start);
  if (next == host_.begin()) return false;
  const auto& [begin, handle] = *std::prev(next);
  const uint64_t size = buffers_.at(handle).bytes;
  const uint64_t offset = start - begin;
  if (offset > size || bytes > size - offset) return false;
  *ref = AXL_REF(handle, offset);
  return true;
}

}  // namespace acceltrace::runtime
