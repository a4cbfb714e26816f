// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/testing/fake_kernel.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "libtrace/runtime/testing/fake_ops.h"

namespace acceltrace::runtime {

FakeKernel::FakeKernel(std::vector<uint32_t> devices, uint32_t seed)
    : random_(seed), devices_(std::move(devices)) {
  info_.size = sizeof info_;
  info_.uapi_version = AXL_UAPI_VERSION;
  info_.features = AXL_FEATURE_BF16 | AXL_FEATURE_SG;
  info_.num_queues = AXL_MAX_QUEUES;
  info_.num_contexts = AXL_MAX_CONTEXTS;
  info_.clock_bits = 64;
  info_.clock_hz = 1000000000;
  info_.dram_bytes = info_.dram_free_bytes = 512ull << 20;
  info_.scratch_bytes = 4 << 20;
  info_.engine_hz = 1000000000;
  info_.matrix_rows = info_.matrix_cols = info_.vector_lanes = 32;
  std::snprintf(info_.pci_name, sizeof info_.pci_name, "0000:00:04.0");
}

FakeKernel::~FakeKernel() {
  for (auto& [fd, file] : files_) {
    for (auto& [handle, buffer] : file->buffers) {
      if (buffer->kind == AXL_BUF_HOST && buffer->memory) munmap(buffer->memory, buffer->bytes);
    }
  }
}

std::vector<uint32_t> FakeKernel::Devices() { return devices_; }

int FakeKernel::Open(uint32_t index) {
  std::lock_guard lock(mutex_);
  if (open_errno_) return -open_errno_;
  if (std::find(devices_.begin(), devices_.end(), index) == devices_.end()) return -ENOENT;
  files_[next_fd_] = std::make_unique<File>();
  files_[next_fd_]->device = index;
  files_[next_fd_]->client = ++last_client_;
  return next_fd_++;
}

int FakeKernel::Close(int fd) {
  std::lock_guard lock(mutex_);
  const auto found = files_.find(fd);
  if (found == files_.end()) return -EBADF;
  files_.erase(found);  // mappings exist until Unmap
  return 0;
}

int FakeKernel::Ioctl(int fd, unsigned long request, void* argument) {
  std::unique_lock lock(mutex_);
  ++calls_[request];
  const auto failure = failures_.find(request);
  if (failure != failures_.end()) {
    if (failure->second.skip > 0) {
      --failure->second.skip;
    } else {
      const int error = failure->second.error;
      if (--failure->second.times <= 0) failures_.erase(failure);
      return -error;
    }
  }
  const auto found = files_.find(fd);
  if (found == files_.end()) return -EBADF;
  return Dispatch(*found->second, request, argument, lock);
}

int FakeKernel::Dispatch(File& file, unsigned long request, void* argument,
                         std::unique_lock<std::mutex>& lock) {
  uint32_t size;
  std::memcpy(&size, argument, sizeof size);
  if (size != _IOC_SIZE(request)) return -EINVAL;
  switch (request) {
    case AXL_IOCTL_INFO: {
      auto* info = static_cast<axl_info*>(argument);
      *info = info_;
      info->device_index = file.device;
      info->client = file.client;
      return 0;
    }
    case AXL_IOCTL_JOIN:
      return Join(file, static_cast<axl_join*>(argument));
    case AXL_IOCTL_CTX_CREATE:
      return CreateContext(file, static_cast<axl_ctx_create*>(argument));
    case AXL_IOCTL_CTX_DESTROY: {
      Ctx* ctx = FindCtx(file, static_cast<axl_ctx_destroy*>(argument)->ctx);
      if (!ctx) return -ENOENT;
      ctx->alive = false;
      ++contexts_free_;
      return 0;
    }
    case AXL_IOCTL_BUF_CREATE:
      return CreateBuffer(file, static_cast<axl_buf_create*>(argument));
    case AXL_IOCTL_BUF_DESTROY:
      return DestroyBuffer(file, static_cast<axl_buf_destroy*>(argument)->handle);
    case AXL_IOCTL_SUBMIT:
      return Submit(file, static_cast<axl_submit*>(argument));
    case AXL_IOCTL_WAIT:
      return Wait(file, static_cast<axl_wait*>(argument), lock);
    default:
      return -ENOTTY;
  }
}

int FakeKernel::Join(File& file, axl_join* join) {
  const auto other = files_.find(join->fd);
  if (other == files_.end()) return -EINVAL;
  if (!file.contexts.empty()) return -EBUSY;
  join->client = file.client = other->second->client;
  return 0;
}

int FakeKernel::CreateContext(File& file, axl_ctx_create* create) {
  if (create->flags || create->reserved || !create->num_queues ||
      create->num_queues > info_.num_queues || create->priority > 3)
    return -EINVAL;
  if (contexts_free_ == 0) return -ENOSPC;
  --contexts_free_;
  Ctx& ctx = file.contexts.emplace_back();
  ctx.alive = true;
  ctx.queues.resize(create->num_queues);
  ctx.sems.resize(AXL_SEMS_PER_CONTEXT);
  create->ctx = static_cast<uint32_t>(file.contexts.size());
  create->num_sems = AXL_SEMS_PER_CONTEXT;
  create->hw_context = create->ctx - 1;
  return 0;
}

int FakeKernel::CreateBuffer(File& file, axl_buf_create* create) {
  if (create->bytes == 0 || create->flags || create->kind > AXL_BUF_SCRATCH ||
      (create->kind == AXL_BUF_USER && (!create->user_addr || create->user_addr % 4096)))
    return -EINVAL;
  const uint64_t limit = create->kind == AXL_BUF_SCRATCH ? info_.scratch_bytes : info_.dram_bytes;
  uint64_t used = create->bytes;
  for (const auto& [handle, buffer] : file.buffers) {
    if (buffer->kind == create->kind) used += buffer->bytes;
  }
  if (used > limit) return -ENOSPC;
  auto buffer = std::make_unique<Buffer>();
  buffer->kind = create->kind;
  buffer->bytes = create->bytes;
  if (create->kind == AXL_BUF_HOST) {
    void* memory =
        mmap(nullptr, create->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -ENOMEM;
    buffer->memory = static_cast<std::byte*>(memory);
  } else if (create->kind == AXL_BUF_USER) {
    buffer->memory = reinterpret_cast<std::byte*>(create->user_addr);
  } else {
    buffer->owned.resize(create->bytes, std::byte{0xa5});
    buffer->memory = buffer->owned.data();
  }
  create->handle = file.next_handle++;
  create->mmap_offset = static_cast<uint64_t>(create->handle) << 32;
  file.buffers[create->handle] = std::move(buffer);
  return 0;
}

int FakeKernel::DestroyBuffer(File& file, uint32_t handle) {
  const auto found = file.buffers.find(handle);
  if (found == file.buffers.end()) return -ENOENT;
  for (const auto& [where, sequence] : found->second->last_use) {
    const Ctx& ctx = file.contexts[where.first - 1];
    if (ctx.alive && ctx.queues[where.second].completed < sequence) return -EBUSY;
  }
  file.buffers.erase(found);  // host memory stays mapped until Unmap
  return 0;
}

int FakeKernel::Map(int fd, uint64_t offset, size_t bytes, void** address) {
  std::lock_guard lock(mutex_);
  const auto file = files_.find(fd);
  if (file == files_.end()) return -EBADF;
  const auto found = file->second->buffers.find(static_cast<uint32_t>(offset >> 32));
  if (found == file->second->buffers.end() || found->second->kind != AXL_BUF_HOST ||
      bytes > found->second->bytes)
    return -EINVAL;
  *address = found->second->memory;
  return 0;
}

int FakeKernel::Unmap(void* address, size_t bytes) {
  std::lock_guard lock(mutex_);
  for (auto& [fd, file] : files_) {
    for (auto& [handle, buffer] : file->buffers) {
      if (buffer->memory == address) buffer->memory = nullptr;
    }
  }
  return munmap(address, bytes) < 0 ? -errno : 0;
}

void FakeKernel::SetMode(Mode mode) {
  std::lock_guard lock(mutex_);
  mode_ = mode;
  if (mode == Mode::kEager) {
    for (auto& [fd, file] : files_) {
      while (RunOne(*file)) {
      }
    }
  }
  changed_.notify_all();
}

void FakeKernel::FailIoctl(unsigned long request, int error, int times, int skip) {
  std::lock_guard lock(mutex_);
  failures_[request] = {error, times, skip};
}

void FakeKernel::FailCommand(uint32_t status, uint64_t skip) {
  std::lock_guard lock(mutex_);
  fail_status_ = status;
  fail_skip_ = skip;
}

std::vector<FakeKernel::Job> FakeKernel::jobs() const {
  std::lock_guard lock(mutex_);
  return jobs_;
}

uint64_t FakeKernel::executed() const {
  std::lock_guard lock(mutex_);
  return executed_;
}

bool FakeKernel::deadlocked() const {
  std::lock_guard lock(mutex_);
  return deadlocked_;
}

size_t FakeKernel::open_fds() const {
  std::lock_guard lock(mutex_);
  return files_.size();
}

size_t FakeKernel::live_buffers() const {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [fd, file] : files_) count += file->buffers.size();
  return count;
}

uint64_t FakeKernel::ioctls(unsigned long request) const {
  std::lock_guard lock(mutex_);
  const auto found = calls_.find(request);
  return found == calls_.end() ? 0 : found->second;
}

}  // namespace acceltrace::runtime
