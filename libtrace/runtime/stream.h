// SPDX-License-Identifier: Apache-2.0
//
// Streams and events. A stream owns one semaphore per engine, and each command signals its engine's
// semaphore with the next value. The tail of a stream is what it has promised so far: at most one
// value per engine. An event is a copy of a tail. Internal.
#ifndef LIBTRACE_RUNTIME_STREAM_H_
#define LIBTRACE_RUNTIME_STREAM_H_

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "libtrace/runtime/commands.h"
#include "libtrace/runtime/context.h"
#include "libtrace/runtime/device.h"
#include "libtrace/runtime/planner.h"

namespace acceltrace::runtime {

class Event {
 public:
  explicit Event(bool timed) : timed_(timed) {}
  bool timed() const { return timed_; }

  struct Record {
    std::shared_ptr<Device> device;  // null = never recorded
    Context* context = nullptr;      // of that device
    std::vector<Point> points;       // empty = nothing to wait for
    uint32_t queue = 0;
    uint64_t sequence = 0;  // 0 = nothing was ever submitted before it
  };
  Record record() const {
    std::lock_guard lock(mutex_);
    return record_;
  }
  void Set(Record record) {
    std::lock_guard lock(mutex_);
    record_ = std::move(record);
    ticks_ = 0;
  }
  // The device time of the recorded job's completion; 0 = not requested yet. The driver forgets it
  // after a while.
  uint64_t ticks(uint64_t sequence) const {
    std::lock_guard lock(mutex_);
    return record_.sequence == sequence ? ticks_ : 0;
  }
  void SetTicks(uint64_t sequence, uint64_t ticks) {
    std::lock_guard lock(mutex_);
    if (record_.sequence == sequence) ticks_ = ticks;
  }

 private:
  const bool timed_;
  mutable std::mutex mutex_;
  Record record_;
  uint64_t ticks_ = 0;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  static constexpr size_t kMaxPending = 16;

  // Numbers 1 to kMaxDevices are those of the devices' own streams.
  static uint32_t OwnId(int ordinal) { return static_cast<uint32_t>(ordinal) + 1; }
  static uint32_t NextId();

  static axlError_t Create(std::shared_ptr<Device> device, uint32_t priority, uint32_t id,
                           std::shared_ptr<Stream>* stream);
  Stream(std::shared_ptr<Device> device, Context& context, Context::Slot* slot, uint32_t id);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device() { return *device_; }
  Context& context() { return context_; }
  uint32_t queue() const { return slot_->queue; }
  uint32_t id() const { return id_; }  // number in traces

  // Enqueues a command after all previous ones, or adds it to the open batch. *sequence is 0 in a
  // batch; it may be nullptr.
  axlError_t Enqueue(const axl_desc& command, uint64_t correlation, uint64_t* sequence);
  // Enqueues a whole graph after all previous commands.
  axlError_t Launch(const CommandList& commands, uint64_t correlation);
  axlError_t BatchBegin();
  axlError_t BatchEnd(uint64_t correlation);

  axlError_t Record(Event& event, uint64_t correlation);
  axlError_t WaitEvent(const Event::Record& record, uint64_t correlation);
  axlError_t Synchronize(uint64_t correlation);
  axlError_t Query(uint64_t correlation);
  axlError_t Wait(uint32_t queue, uint64_t sequence, uint64_t correlation, int64_t deadline_ns,
                  uint64_t* device_ticks) {
    return context_.Wait(queue, sequence, correlation, deadline_ns, device_ticks);
  }

  bool InBatch();

 private:
  axlError_t SubmitLocked(const CommandList& commands, uint64_t correlation);
  axlError_t FlushLocked(const Planner& planner, uint64_t correlation);
  axlError_t JoinPendingLocked(uint64_t correlation);
  axlError_t RefuseInBatch(const char* what) const;

  const std::shared_ptr<Device> device_;
  Context& context_;
  Context::Slot* const slot_;
  const uint32_t id_;
  const Timeline inherited_;  // values up to these are those of the slot's previous owners

  std::mutex mutex_;
  uint64_t sequence_ = 0;       // of its last job, in its slot's queue
  Timeline tail_ = {};          // for each engine the value that must be reached; 0 = none
  std::vector<Point> pending_;  // of other streams, for which the next commands wait
  uint32_t last_engine_ = AXL_ENGINE_VECTOR;
  std::optional<CommandList> batch_;
  CommandList single_;         // reused, so that a launch does not allocate
  std::vector<axl_desc> job_;  // likewise
  std::vector<uint64_t> values_;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_STREAM_H_
