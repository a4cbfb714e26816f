// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/device.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/incarnation.h"
#include "libtrace/runtime/staging.h"

namespace acceltrace::runtime {
namespace {

axlError_t FailOpen(uint32_t index, int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return Fail(axlErrorPermission,
                  "cannot open /dev/axl%u: permission denied; join the group that owns it "
                  "(ls -l /dev/axl%u) or run as root",
                  index, index);
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return Fail(axlErrorNoDevice, "cannot open /dev/axl%u: the device is gone", index);
    default:
      return Fail(axlErrorUnknown, "cannot open /dev/axl%u: %s", index,
                  std::strerror(error_number));
  }
}

// The driver's values are checked once, so that they can later be used as divisors and indices.
axlError_t CheckInfo(const axl_info& info, uint32_t index) {
  if (info.uapi_version != AXL_UAPI_VERSION)
    return Fail(axlErrorVersionMismatch,
                "/dev/axl%u: the driver speaks version %u of its interface, this library %u; "
                "install both from one release",
                index, info.uapi_version, AXL_UAPI_VERSION);
  const bool sane = info.num_queues >= 1 && info.num_queues <= AXL_MAX_QUEUES &&
                    info.num_contexts >= 1 && info.num_contexts <= AXL_MAX_CONTEXTS &&
                    info.clock_bits >= 16 && info.clock_bits <= 64 && info.clock_hz > 0;
  if (!sane)
    return Fail(axlErrorVersionMismatch,
                "/dev/axl%u: the driver's description of the device makes no sense (%u queues, "
                "%u contexts, %u clock bits); check dmesg",
                index, info.num_queues, info.num_contexts, info.clock_bits);
  return axlSuccess;
}

}  // namespace

Device::Device(Kernel& kernel, int fd, int ordinal, uint32_t index)
    : kernel_(kernel),
      fd_(fd),
      ordinal_(ordinal),
      index_(index),
      buffers_(kernel, fd, ordinal),
      staging_(std::make_unique<Staging>(buffers_)) {}

// Contexts must be destroyed first, since their jobs use the buffers.
Device::~Device() {
  for (auto& context : contexts_) context.reset();
  kernel_.Close(fd_);
}

axlError_t Device::Open(Kernel& kernel, int ordinal, uint32_t index, int identity,
                        std::shared_ptr<Device>* device) {
  const int fd = kernel.Open(index);
  if (fd < 0) return FailOpen(index, -fd);
  std::shared_ptr<Device> opened(new Device(kernel, fd, ordinal, index));
  if (axlError_t e = opened->ReadInfo(&opened->info_)) return e;
  opened->BecomeClient(identity);
  *device = std::move(opened);
  return axlSuccess;
}

// If the program has closed the identity's file, or there was no device when the number was
// requested, later calls use this device's own number.
void Device::BecomeClient(int identity) {
  axl_join join = {};
  join.size = sizeof join;
  join.fd = identity;
  if (identity >= 0 && kernel_.Ioctl(fd_, AXL_IOCTL_JOIN, &join) == 0) info_.client = join.client;
  SetClient(info_.client);
}

axlError_t Device::ReadInfo(axl_info* info) {
  *info = {};
  info->size = sizeof *info;
  const int result = kernel_.Ioctl(fd_, AXL_IOCTL_INFO, info);
  if (result < 0) return FailErrno(-result, "ask the driver what the device is");
  info->pci_name[sizeof info->pci_name - 1] = '\0';
  return CheckInfo(*info, index_);
}

axlError_t Device::GetContext(uint32_t priority, Context** context) {
  std::lock_guard lock(contexts_mutex_);
  std::unique_ptr<Context>& entry = contexts_[priority];
  if (!entry) {
    if (axlError_t e = sticky_.Check()) return e;
    // Take a fair share, so that there can be as many processes as there are contexts.
    const uint32_t share = std::max(1u, info_.num_queues / info_.num_contexts);
    if (axlError_t e = Context::Create(kernel_, fd_, priority, share, sticky_, &entry)) return e;
  }
  *context = entry.get();
  return axlSuccess;
}

axlError_t Device::Synchronize(uint64_t correlation) {
  std::array<Context*, kPriorities> contexts = {};
  {
    std::lock_guard lock(contexts_mutex_);
    for (uint32_t i = 0; i < kPriorities; ++i) contexts[i] = contexts_[i].get();
  }
  for (Context* context : contexts) {
    if (!context) continue;
    if (axlError_t e = context->Synchronize(correlation)) return e;
  }
  return sticky_.Check();
}

}  // namespace acceltrace::runtime
