// SPDX-License-Identifier: Apache-2.0
//
// A hardware context: its queues, and the semaphores that streams take from it.
// Submits and waits. Thread-safe. Internal.
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

// An error that stops a device until it is reset: the first one stays.
class StickyError {
 public:
  // axlSuccess, or the error with its sentence made this thread's.
  axlError_t Check() const;
  // Keeps the thread's current sentence. Returns the error that counts.
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

  // Asks for `queues` and takes fewer if the device has no more.
  static axlError_t Create(Kernel& kernel, int fd, uint32_t priority, uint32_t queues,
                           StickyError& sticky, std::unique_ptr<Context>* context);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  uint32_t priority() const { return priority_; }

  // A stream's share: one semaphore for each engine, always on the same queue, so
  // that a later owner's work cannot overtake an earlier one's. The semaphores
  // keep their values from owner to owner.
  struct Slot {
    uint32_t queue = 0;
    uint32_t first_sem = 0;
    Timeline timeline = {};
    bool used = false;
  };
  axlError_t TakeSlot(Slot** slot);
  void ReturnSlot(Slot* slot);

  // One job. The commands' addresses and semaphores are ready. *sequence counts in
  // the queue. On failure nothing was submitted.
  axlError_t Submit(uint32_t queue, std::span<axl_desc> commands, uint64_t correlation,
                    uint64_t* sequence);
  // Until the queue completed `sequence`. deadline_ns: absolute CLOCK_MONOTONIC or
  // kForever; past it, axlErrorNotReady. device_ticks: of the completion, 0 = the
  // driver no longer knows; may be nullptr.
  axlError_t Wait(uint32_t queue, uint64_t sequence, uint64_t correlation, int64_t deadline_ns,
                  uint64_t* device_ticks);
  // True without asking the driver: a wait for it or a later one succeeded.
  bool KnownComplete(uint32_t queue, uint64_t sequence) const {
    return queues_[queue].completed.load(std::memory_order_acquire) >= sequence;
  }
  axlError_t Synchronize(uint64_t correlation);

 private:
  // What a failed job consisted of, for the error's sentence.
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
