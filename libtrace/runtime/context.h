// SPDX-License-Identifier: Apache-2.0
//
// A hardware context: its queues, and the semaphores that streams use. Submits jobs and waits for
// them. Thread-safe. Internal.
#ifndef LIBTRACE_RUNTIME_CONTEXT_H_
#define LIBTRACE_RUNTIME_CONTEXT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kmod/uapi/axl.h"
#include "libtrace/runtime/axl.h"
#include "libtrace/runtime/kernel.h"

namespace acceltrace::runtime {

// An error that stops a device until it is reset. The first error is kept.
class StickyError {
 public:
  // Returns axlSuccess, or the error, whose sentence becomes this thread's.
  axlError_t Check() const;
  // Keeps the thread's current sentence. Returns the first error.
  axlError_t Set(axlError_t error);

 private:
  std::atomic<axlError_t> error_{axlSuccess};
  mutable std::mutex mutex_;
  std::string detail_;
};

using Timeline = std::array<uint64_t, AXL_NUM_ENGINES>;

class Context {
 public:
  static constexpr int64_t kForever = -1;

  // Requests `queues` queues, or fewer if the device does not have as many.
  static axlError_t Create(Kernel& kernel, int fd, uint32_t priority, uint32_t queues,
                           StickyError& sticky, std::unique_ptr<Context>* context);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  uint32_t priority() const { return priority_; }

  // A stream's share: one semaphore per engine, always on the same queue, so that a later owner's
  // work cannot overtake that of an earlier one. The semaphores keep their values when the owner
  // changes.
  struct Slot {
    uint32_t queue = 0;
    uint32_t first_sem = 0;
    Timeline timeline = {};
    bool used = false;
  };
  axlError_t TakeSlot(Slot** slot);
  void ReturnSlot(Slot* slot);

  // Submits one job. The commands' addresses and semaphores must be set. *sequence is the job's
  // number in the queue. If this fails, nothing was submitted.
  axlError_t Submit(uint32_t queue, std::span<axl_desc> commands, uint64_t correlation,
                    uint64_t* sequence);
  // Waits until the queue has completed `sequence`. deadline_ns is an absolute CLOCK_MONOTONIC time
  // or kForever; after it, returns axlErrorNotReady. device_ticks may be nullptr; it receives the
  // time of the completion, or 0 if the driver has forgotten it.
  axlError_t Wait(uint32_t queue, uint64_t sequence, uint64_t correlation, int64_t deadline_ns,
                  uint64_t* device_ticks);
  // Returns true without asking the driver if a wait for this job or a later one has succeeded.
  bool KnownComplete(uint32_t queue, uint64_t sequence) const {
    return queues_[queue].completed.load(std::memory_order_acquire) >= sequence;
  }
  axlError_t Synchronize(uint64_t correlation);

 private:
  // The contents of a job, for the error's sentence if it fails.
  struct Note {
    uint64_t sequence = 0;
    uint32_t job = 0;
    std::vector<uint32_t> tags;
  };
  static constexpr size_t kNotes = 64;
  struct Queue {
    std::atomic<uint64_t> submitted{0};
    std::atomic<uint64_t> completed{0};
    std::mutex mutex;
    std::array<Note, kNotes> notes;
  };

  Context(Kernel& kernel, int fd, StickyError& sticky, const axl_ctx_create& created);
  axlError_t CheckUsable() const;
  bool FindGuilty(axl_wait* wait, Note* guilty);
  int AskStatus(uint32_t queue, uint64_t sequence, int64_t deadline_ns, axl_wait* wait);
  axlError_t FailJob();

  Kernel& kernel_;
  const int fd_;
  const uint32_t token_;  // of the incarnation that made it
  StickyError& sticky_;
  const uint32_t handle_;
  const uint32_t priority_;
  std::vector<Queue> queues_;
  std::mutex slots_mutex_;
  std::vector<Slot> slots_;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_CONTEXT_H_
