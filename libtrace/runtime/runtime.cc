// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/runtime.h"

#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/incarnation.h"
#include "libtrace/runtime/pointers.h"
#include "libtrace/runtime/probes.h"

namespace acceltrace::runtime {
namespace {

thread_local int current_device = 0;

}  // namespace

// Leaked on purpose: threads may still call this while the process exits, and the kernel cleans up.
Runtime& Runtime::Get() {
  static Runtime& runtime = *std::make_unique<Runtime>().release();
  return runtime;
}

void Runtime::Restart(Kernel* kernel) {
  const auto all = [](const auto&) { return true; };
  graphs_.RemoveIf(all);
  events_.RemoveIf(all);
  streams_.RemoveIf(all);
  std::lock_guard lock(mutex_);
  entries_.clear();
  if (identity_ >= 0) kernel_->Close(identity_);
  identity_ = -1;
  SetClient(0);
  kernel_ = kernel ? kernel : &LinuxKernel();
  current_device = 0;
  PlaceOf(nullptr) = {};
}

axlError_t Runtime::FindDevicesLocked() {
  if (entries_.empty()) {
    for (const uint32_t index : kernel_->Devices()) {
      if (entries_.size() == kMaxDevices) break;
      entries_.push_back({index, 0, nullptr, nullptr});
    }
  }
  if (entries_.empty())
    return Fail(axlErrorNoDevice,
                "no accelerator: there is no /dev/axlN; check lspci -d 1234:acc1 and load the "
                "driver (modprobe axl)");
  return axlSuccess;
}

axlError_t Runtime::EntryLocked(int ordinal, Entry** entry) {
  if (axlError_t e = FindDevicesLocked()) return e;
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= entries_.size())
    return Fail(axlErrorInvalidDevice, "device %d does not exist: there are %zu, from 0", ordinal,
                entries_.size());
  Entry& found = entries_[static_cast<size_t>(ordinal)];
  if (found.device && found.token != IncarnationToken()) return FailForked();
  *entry = &found;
  return axlSuccess;
}

uint32_t Runtime::AskForClient() {
  std::lock_guard lock(mutex_);
  for (const uint32_t index : kernel_->Devices()) {
    const int fd = kernel_->Open(index);
    if (fd < 0) continue;
    axl_info info = {};
    info.size = sizeof info;
    if (kernel_->Ioctl(fd, AXL_IOCTL_INFO, &info) < 0 || info.uapi_version != AXL_UAPI_VERSION) {
      kernel_->Close(fd);
      continue;
    }
    // The parent's file stays open in a child that did not execute another program. It should be
    // closed here, but the number may belong to another file by now.
    identity_ = fd;
    identity_token_ = IncarnationToken();
    return info.client;
  }
  return 0;
}

axlError_t Runtime::DeviceCount(int* count) {
  std::lock_guard lock(mutex_);
  *count = 0;
  if (axlError_t e = FindDevicesLocked()) return e;
  *count = static_cast<int>(entries_.size());
  return axlSuccess;
}

axlError_t Runtime::SetDevice(int ordinal) {
  std::lock_guard lock(mutex_);
  Entry* entry;
  if (axlError_t e = EntryLocked(ordinal, &entry)) return e;
  current_device = ordinal;
  PlaceOf(nullptr) = {};  // the null stream is that of the current device
  return axlSuccess;
}

int Runtime::CurrentDevice() const { return current_device; }

axlError_t Runtime::GetDevice(int ordinal, std::shared_ptr<Device>* device) {
  std::lock_guard lock(mutex_);
  Entry* entry;
  if (axlError_t e = EntryLocked(ordinal, &entry)) return e;
  if (!entry->device) {
    const int identity = identity_token_ == IncarnationToken() ? identity_ : -1;
    if (axlError_t e = Device::Open(*kernel_, ordinal, entry->index, identity, &entry->device))
      return e;
    entry->token = IncarnationToken();
  }
  *device = entry->device;
  return axlSuccess;
}

axlError_t Runtime::GetPointerDevice(const void* pointer, std::shared_ptr<Device>* device) {
  std::lock_guard lock(mutex_);
  const auto ordinal = static_cast<size_t>(PointerOrdinal(pointer));
  if (ordinal >= entries_.size() || !entries_[ordinal].device)
    return Fail(axlErrorInvalidDevicePointer, "%p is not a device pointer", pointer);
  Entry* entry;
  if (axlError_t e = EntryLocked(static_cast<int>(ordinal), &entry)) return e;
  *device = entry->device;
  return axlSuccess;
}

axlError_t Runtime::ResetDevice(int ordinal) {
  Entry dropped;  // closed outside of the lock
  {
    std::lock_guard lock(mutex_);
    if (entries_.empty()) return axlSuccess;
    Entry* entry;
    if (axlError_t e = EntryLocked(ordinal, &entry)) return e;
    dropped = *entry;
    entry->device.reset();
    entry->stream.reset();
  }
  Device* const device = dropped.device.get();
  if (!device) return axlSuccess;
  events_.RemoveIf([&](const Event& event) { return event.record().device.get() == device; });
  streams_.RemoveIf([&](Stream& stream) { return &stream.device() == device; });
  graphs_.RemoveIf([&](Graph& graph) {
    std::lock_guard lock(graph.mutex);
    return graph.device.get() == device;
  });
  return axlSuccess;
}

axlError_t Runtime::GetStream(axlStream_t handle, std::shared_ptr<Stream>* stream) {
  if (handle) {
    *stream = streams_.Find(handle);
    if (*stream) return axlSuccess;
    return Fail(axlErrorInvalidHandle, "%p is not a stream (destroyed, or its device was reset?)",
                static_cast<void*>(handle));
  }
  std::shared_ptr<Device> device;
  if (axlError_t e = GetCurrentDevice(&device)) return e;
  std::lock_guard lock(mutex_);
  Entry* entry;
  if (axlError_t e = EntryLocked(device->ordinal(), &entry)) return e;
  if (entry->device != device)
    return Fail(axlErrorDeviceLost, "the device was reset by another thread meanwhile");
  if (!entry->stream) {
    if (axlError_t e = Stream::Create(device, Device::kDefaultPriority,
                                      Stream::OwnId(device->ordinal()), &entry->stream))
      return e;
  }
  *stream = entry->stream;
  return axlSuccess;
}

axlError_t Runtime::GetEvent(axlEvent_t handle, std::shared_ptr<Event>* event) const {
  *event = events_.Find(handle);
  if (*event) return axlSuccess;
  return Fail(axlErrorInvalidHandle, "%p is not an event (destroyed, or its device was reset?)",
              static_cast<void*>(handle));
}

axlError_t Runtime::GetGraph(axlGraph_t handle, std::shared_ptr<Graph>* graph) const {
  *graph = graphs_.Find(handle);
  if (*graph) return axlSuccess;
  return Fail(axlErrorInvalidHandle, "%p is not a graph (destroyed, or its device was reset?)",
              static_cast<void*>(handle));
}

uint32_t Runtime::StreamId(axlStream_t handle) const {
  if (!handle) return Stream::OwnId(current_device);
  const std::shared_ptr<Stream> stream = streams_.Find(handle);
  return stream ? stream->id() : 0;
}

thread_local constinit KnownStream known_streams[kKnownStreams];

uint32_t FindStreamNumber(axlStream_t stream) {
  const uint32_t number = Runtime::Get().StreamId(stream);
  if (number != 0) PlaceOf(stream) = {reinterpret_cast<uintptr_t>(stream), number};
  return number;
}

}  // namespace acceltrace::runtime
