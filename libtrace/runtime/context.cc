// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/context.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/incarnation.h"
#include "libtrace/runtime/names.h"

namespace acceltrace::runtime {
namespace {

const char* StatusName(uint32_t status) {
  switch (status) {
    case AXL_ST_OK:
      return "no status";
    case AXL_ST_BAD_OPCODE:
      return "bad opcode";
    case AXL_ST_BAD_FIELD:
      return "bad field";
    case AXL_ST_BAD_ADDRESS:
      return "address outside device memory";
    case AXL_ST_DMA_ERROR:
      return "the bus refused a transfer";
    case AXL_ST_POISONED:
      return "uncorrectable memory error";
    case AXL_ST_RING_ERROR:
      return "ring error";
    case AXL_ST_HANG:
      return "hung, given up by the driver";
    case AXL_ST_CANCELED:
      return "dropped because its context failed";
    default:
      return "unknown status";
  }
}

// The time that the driver may take to end a context after a failure.
constexpr int64_t kResetNs = 5'000'000'000;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

}  // namespace

axlError_t StickyError::Check() const {
  const axlError_t error = error_.load(std::memory_order_acquire);
  if (__builtin_expect(error == axlSuccess, 1)) return axlSuccess;
  std::lock_guard lock(mutex_);
  return Fail(error, "%s", detail_.c_str());
}

axlError_t StickyError::Set(axlError_t error) {
  {
    std::lock_guard lock(mutex_);
    if (error_.load() == axlSuccess) {
      detail_ = Detail();
      error_.store(error, std::memory_order_release);
    }
  }
  return Check();
}

Context::Context(Kernel& kernel, int fd, StickyError& sticky, const axl_ctx_create& created)
    : kernel_(kernel),
      fd_(fd),
      token_(IncarnationToken()),
      sticky_(sticky),
      handle_(created.ctx),
      priority_(created.priority),
      queues_(created.num_queues),
      slots_(created.num_sems / AXL_NUM_ENGINES) {
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    slots_[i].queue = i % created.num_queues;
    slots_[i].first_sem = i * AXL_NUM_ENGINES;
  }
}

axlError_t Context::Create(Kernel& kernel, int fd, uint32_t priority, uint32_t queues,
                           StickyError& sticky, std::unique_ptr<Context>* context) {
  axl_ctx_create create;
  int result;
  do {
    create = {};
    create.size = sizeof create;
    create.num_queues = queues;
    create.priority = priority;
    result = kernel.Ioctl(fd, AXL_IOCTL_CTX_CREATE, &create);
    queues /= 2;
  } while ((result == -ENOSPC || result == -EDQUOT) && queues > 0);
  if (result == -EPERM)
    return Fail(axlErrorPermission,
                "cannot create a context of priority %u: above 1 needs CAP_SYS_NICE", priority);
  if (result < 0) return FailErrno(-result, "create a context");
  if (create.num_sems < AXL_NUM_ENGINES || create.num_sems > AXL_MAX_SEMS) {
    axl_ctx_destroy destroy = {sizeof destroy, create.ctx};
    kernel.Ioctl(fd, AXL_IOCTL_CTX_DESTROY, &destroy);
    return Fail(axlErrorVersionMismatch, "the driver gave a context of %u semaphores: expected %u",
                create.num_sems, AXL_SEMS_PER_CONTEXT);
  }
  context->reset(new Context(kernel, fd, sticky, create));
  return axlSuccess;
}

Context::~Context() {
  axl_ctx_destroy destroy = {sizeof destroy, handle_};
  kernel_.Ioctl(fd_, AXL_IOCTL_CTX_DESTROY, &destroy);
}

axlError_t Context::TakeSlot(Slot** slot) {
  std::lock_guard lock(slots_mutex_);
  for (Slot& candidate : slots_) {
    if (candidate.used) continue;
    candidate.used = true;
    *slot = &candidate;
    return axlSuccess;
  }
  return Fail(axlErrorLimit, "cannot create a stream: %zu of this priority exist; destroy some",
              slots_.size());
}

void Context::ReturnSlot(Slot* slot) {
  std::lock_guard lock(slots_mutex_);
  slot->used = false;
}

// A child of fork() shares its parent's file and memory, and would submit to its queues.
axlError_t Context::CheckUsable() const {
  if (__builtin_expect(token_ != IncarnationToken(), 0)) return FailForked();
  return sticky_.Check();
}

axlError_t Context::Submit(uint32_t queue_number, std::span<axl_desc> commands,
                           uint64_t correlation, uint64_t* sequence) {
  if (axlError_t e = CheckUsable()) return e;
  axl_submit submit = {};
  submit.size = sizeof submit;
  submit.ctx = handle_;
  submit.queue = queue_number;
  submit.cmds = reinterpret_cast<uint64_t>(commands.data());
  submit.num_cmds = static_cast<uint32_t>(commands.size());
  submit.cmd_bytes = sizeof(axl_desc);
  submit.correlation = correlation;
  submit.fence_fd = -1;
  AnnounceOps(commands);
  int result;
  do {
    result = kernel_.Ioctl(fd_, AXL_IOCTL_SUBMIT, &submit);
  } while (result == -EINTR);
  if (result == -EIO) return FailJob();
  if (result == -ENODEV) return sticky_.Set(FailErrno(ENODEV, "submit a job"));
  if (result < 0) return FailErrno(-result, "submit a job");
  *sequence = submit.sequence;

  Queue& queue = queues_[queue_number];
  uint64_t submitted = queue.submitted.load();
  while (submitted < submit.sequence &&
         !queue.submitted.compare_exchange_weak(submitted, submit.sequence)) {
  }
  std::lock_guard lock(queue.mutex);
  Note& note = queue.notes[submit.sequence % kNotes];
  note.sequence = submit.sequence;
  note.job = submit.job;
  note.tags.resize(commands.size());
  std::transform(commands.begin(), commands.end(), note.tags.begin(),
                 [](const axl_desc& command) { return command.tag; });
  return axlSuccess;
}

axlError_t Context::Wait(uint32_t queue_number, uint64_t sequence, uint64_t correlation,
                         int64_t deadline_ns, uint64_t* device_ticks) {
  if (token_ != IncarnationToken()) return FailForked();
  Queue& queue = queues_[queue_number];
  axl_wait wait;
  int result;
  do {
    wait = {};
    wait.size = sizeof wait;
    wait.ctx = handle_;
    wait.queue = queue_number;
    wait.sequence = sequence;
    wait.deadline_ns = deadline_ns;
    wait.correlation = correlation;
    result = kernel_.Ioctl(fd_, AXL_IOCTL_WAIT, &wait);
  } while (result == -EINTR);
  if (result == -ETIMEDOUT) return Fail(axlErrorNotReady, "the work is still running");
  if (result == -EIO) return FailJob();
  if (result == -ENODEV) return sticky_.Set(FailErrno(ENODEV, "wait for a job"));
  if (result < 0) return FailErrno(-result, "wait for a job");
  uint64_t completed = queue.completed.load();
  while (completed < sequence && !queue.completed.compare_exchange_weak(completed, sequence)) {
  }
  if (device_ticks) *device_ticks = wait.device_ticks;
  return axlSuccess;
}

int Context::AskStatus(uint32_t queue, uint64_t sequence, int64_t deadline_ns, axl_wait* wait) {
  int result;
  do {
    *wait = {};
    wait->size = sizeof *wait;
    wait->ctx = handle_;
    wait->queue = queue;
    wait->sequence = sequence;
    wait->deadline_ns = deadline_ns;
    result = kernel_.Ioctl(fd_, AXL_IOCTL_WAIT, wait);
  } while (result == -EINTR);
  return result;
}

// Jobs before the failed one are fine, and the driver reports those after it as cancelled. The
// first bad job of each queue is found by bisection, and one of these jobs is not merely cancelled.
bool Context::FindGuilty(axl_wait* wait, Note* guilty) {
  const int64_t deadline_ns = NowNs() + kResetNs;
  for (uint32_t q = 0; q < queues_.size(); ++q) {
    uint64_t good = 0, bad = queues_[q].submitted.load();
    axl_wait last, ask;
    if (bad == 0 || AskStatus(q, bad, deadline_ns, &last) != -EIO) continue;
    while (good + 1 < bad) {
      const uint64_t middle = good + (bad - good) / 2;
      if (AskStatus(q, middle, deadline_ns, &ask) == -EIO) {
        bad = middle;
        last = ask;
      } else {
        good = middle;
      }
    }
    if (last.status == AXL_ST_CANCELED) continue;
    *wait = last;
    std::lock_guard lock(queues_[q].mutex);
    const Note& note = queues_[q].notes[bad % kNotes];
    if (note.sequence == bad) *guilty = note;
    return true;
  }
  return false;
}

axlError_t Context::FailJob() {
  if (axlError_t e = sticky_.Check()) return e;  // the first failure is the relevant one
  axl_wait wait = {};
  Note guilty;
  if (!FindGuilty(&wait, &guilty)) {
    Fail(axlErrorLaunchFailure, "a job of this context failed; call axlDeviceReset");
    return sticky_.Set(axlErrorLaunchFailure);
  }
  const axlError_t error = wait.status == AXL_ST_HANG ? axlErrorTimeout : axlErrorLaunchFailure;
  const NameTable::Name* name = wait.error_index < guilty.tags.size()
                                    ? OpNames().Find(guilty.tags[wait.error_index])
                                    : nullptr;
  char job[24] = "a job";  // too long ago to identify it
  if (guilty.job) std::snprintf(job, sizeof job, "job %u", guilty.job);
  Fail(error, "%s failed at its command %u (%s): %s; call axlDeviceReset", job, wait.error_index,
       name ? name->text.c_str() : "unknown op", StatusName(wait.status));
  return sticky_.Set(error);
}

axlError_t Context::Synchronize(uint64_t correlation) {
  if (axlError_t e = CheckUsable()) return e;
  for (uint32_t i = 0; i < queues_.size(); ++i) {
    const uint64_t submitted = queues_[i].submitted.load();
    if (submitted == 0 || KnownComplete(i, submitted)) continue;
    if (axlError_t e = Wait(i, submitted, correlation, kForever, nullptr)) return e;
  }
  return axlSuccess;
}

}  // namespace acceltrace::runtime
