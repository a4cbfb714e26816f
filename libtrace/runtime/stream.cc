// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/stream.h"

#include <algorithm>
#include <atomic>

#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/names.h"
#include "libtrace/runtime/pointers.h"

namespace acceltrace::runtime {
namespace {

std::atomic<uint32_t> stream_count{kMaxDevices};

axl_desc Nop(uint32_t engine, const char* name) {
  axl_desc nop = {};
  nop.opcode = AXL_OP_NOP;
  nop.engine = static_cast<uint8_t>(engine);
  nop.tag = OpTag(name);
  return nop;
}

}  // namespace

uint32_t Stream::NextId() { return ++stream_count; }

axlError_t Stream::Create(std::shared_ptr<Device> device, uint32_t priority, uint32_t id,
                          std::shared_ptr<Stream>* stream) {
  Context* context;
  if (axlError_t e = device->GetContext(priority, &context)) return e;
  Context::Slot* slot;
  if (axlError_t e = context->TakeSlot(&slot)) return e;
  *stream = std::make_shared<Stream>(std::move(device), *context, slot, id);
  return axlSuccess;
}

Stream::Stream(std::shared_ptr<Device> device, Context& context, Context::Slot* slot, uint32_t id)
    : device_(std::move(device)),
      context_(context),
      slot_(slot),
      id_(id),
      inherited_(slot->timeline) {}

Stream::~Stream() { context_.ReturnSlot(slot_); }

axlError_t Stream::RefuseInBatch(const char* what) const {
  if (!batch_) return axlSuccess;
  return Fail(axlErrorBatchState, "%s is not possible between axlBatchBegin and axlBatchEnd", what);
}

bool Stream::InBatch() {
  std::lock_guard lock(mutex_);
  return batch_.has_value();
}

axlError_t Stream::Enqueue(const axl_desc& command, uint64_t correlation, uint64_t* sequence) {
  std::lock_guard lock(mutex_);
  if (sequence) *sequence = 0;
  if (batch_) {
    const uint32_t previous = static_cast<uint32_t>(batch_->size()) - 1;
    return batch_->Add(command, std::span(&previous, batch_->size() ? 1 : 0));
  }
  single_.Clear();
  if (axlError_t e = single_.Add(command, {})) return e;
  if (axlError_t e = SubmitLocked(single_, correlation)) return e;
  if (sequence) *sequence = sequence_;
  return axlSuccess;
}

axlError_t Stream::Launch(const CommandList& commands, uint64_t correlation) {
  std::lock_guard lock(mutex_);
  if (axlError_t e = RefuseInBatch("a graph launch")) return e;
  return SubmitLocked(commands, correlation);
}

axlError_t Stream::BatchBegin() {
  std::lock_guard lock(mutex_);
  if (batch_) return Fail(axlErrorBatchState, "the stream already collects a batch: end it first");
  batch_.emplace();
  return axlSuccess;
}

axlError_t Stream::BatchEnd(uint64_t correlation) {
  std::lock_guard lock(mutex_);
  if (!batch_) return Fail(axlErrorBatchState, "the stream collects no batch: begin one first");
  const CommandList commands = std::move(*batch_);
  batch_.reset();
  return SubmitLocked(commands, correlation);
}

axlError_t Stream::SubmitLocked(const CommandList& commands, uint64_t correlation) {
  if (commands.size() == 0) return axlSuccess;
  Planner planner(slot_->first_sem, slot_->timeline, tail_, pending_, &values_);
  job_.clear();
  for (size_t i = 0; i < commands.size(); ++i) {
    if (job_.size() + planner.MaxDescriptors() > AXL_MAX_JOB_COMMANDS) {
      if (axlError_t e = FlushLocked(planner, correlation)) return e;
    }
    planner.Append(commands, i, &job_);
  }
  if (axlError_t e = FlushLocked(planner, correlation)) return e;
  pending_.clear();
  last_engine_ = commands.command(commands.size() - 1).engine;
  return axlSuccess;
}

// Only remember what the driver accepted, or later commands would wait for it forever.
axlError_t Stream::FlushLocked(const Planner& planner, uint64_t correlation) {
  if (axlError_t e = context_.Submit(slot_->queue, job_, correlation, &sequence_)) return e;
  slot_->timeline = planner.timeline();
  tail_ = planner.Tail();
  job_.clear();
  return axlSuccess;
}

axlError_t Stream::JoinPendingLocked(uint64_t correlation) {
  if (pending_.empty()) return axlSuccess;
  single_.Clear();
  if (axlError_t e = single_.Add(Nop(last_engine_, "join"), {})) return e;
  return SubmitLocked(single_, correlation);
}

axlError_t Stream::Record(Event& event, uint64_t correlation) {
  std::lock_guard lock(mutex_);
  if (axlError_t e = RefuseInBatch("axlEventRecord")) return e;
  if (event.timed()) {
    single_.Clear();
    if (axlError_t e = single_.Add(Nop(last_engine_, "event"), {})) return e;
    if (axlError_t e = SubmitLocked(single_, correlation)) return e;
  } else if (axlError_t e = JoinPendingLocked(correlation)) {
    return e;
  }
  Event::Record record;
  record.device = device_;
  record.context = &context_;
  record.queue = slot_->queue;
  record.sequence = sequence_;
  for (uint32_t engine = 0; engine < AXL_NUM_ENGINES; ++engine) {
    if (tail_[engine])
      record.points.push_back({static_cast<uint16_t>(slot_->first_sem + engine), tail_[engine],
                               slot_->queue, sequence_});
  }
  event.Set(std::move(record));
  return axlSuccess;
}

axlError_t Stream::WaitEvent(const Event::Record& record, uint64_t correlation) {
  if (!record.device || record.sequence == 0) return axlSuccess;  // nothing to wait for
  if (record.context->KnownComplete(record.queue, record.sequence)) return axlSuccess;
  if (record.context != &context_)  // semaphores only work within a context
    return record.context->Wait(record.queue, record.sequence, correlation, Context::kForever,
                                nullptr);
  std::lock_guard lock(mutex_);
  if (pending_.size() + record.points.size() > kMaxPending && !batch_) {
    if (axlError_t e = JoinPendingLocked(correlation)) return e;
  }
  for (const Point& point : record.points) {
    // Its own work needs no wait, but that of the slot's previous owner does.
    const uint32_t engine = point.sem - slot_->first_sem;
    if (engine < AXL_NUM_ENGINES && point.value > inherited_[engine]) continue;
    const auto same = std::find_if(pending_.begin(), pending_.end(),
                                   [&](const Point& p) { return p.sem == point.sem; });
    if (same == pending_.end()) {
      pending_.push_back(point);
    } else if (same->value < point.value) {
      *same = point;
    }
  }
  return axlSuccess;
}

axlError_t Stream::Synchronize(uint64_t correlation) {
  std::vector<Point> pending;
  uint64_t sequence;
  {
    std::lock_guard lock(mutex_);
    if (axlError_t e = RefuseInBatch("synchronising the stream")) return e;
    pending = pending_;
    sequence = sequence_;
  }
  if (axlError_t e = device_->sticky().Check()) return e;
  for (const Point& point : pending) {
    if (context_.KnownComplete(point.queue, point.sequence)) continue;
    if (axlError_t e = Wait(point.queue, point.sequence, correlation, Context::kForever, nullptr))
      return e;
  }
  if (sequence && !context_.KnownComplete(slot_->queue, sequence)) {
    if (axlError_t e = Wait(slot_->queue, sequence, correlation, Context::kForever, nullptr))
      return e;
  }
  std::lock_guard lock(mutex_);
  if (sequence == sequence_) tail_ = {};
  return axlSuccess;
}

axlError_t Stream::Query(uint64_t correlation) {
  std::vector<Point> points;
  {
    std::lock_guard lock(mutex_);
    if (axlError_t e = RefuseInBatch("querying the stream")) return e;
    points = pending_;
    if (sequence_) points.push_back({AXL_SEM_NONE, 0, slot_->queue, sequence_});
  }
  if (axlError_t e = device_->sticky().Check()) return e;
  for (const Point& point : points) {
    if (context_.KnownComplete(point.queue, point.sequence)) continue;
    if (axlError_t e = Wait(point.queue, point.sequence, correlation, 0, nullptr)) return e;
  }
  return axlSuccess;
}

}  // namespace acceltrace::runtime
