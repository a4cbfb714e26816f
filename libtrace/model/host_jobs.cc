// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/host_jobs.h"

#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "libtrace/model/permute.h"

namespace acceltrace::model {
namespace {

using proto::HostBatch;

class Collector {
 public:
  Collector(const HostEvents& host, LoadStats* stats) : host_(host), stats_(*stats) {}

  HostJobs Run() {
    const auto see = [&](size_t row, uint8_t kind, uint32_t device, uint32_t job, int64_t time_ns,
                         uint32_t queue, uint64_t arg0, uint64_t arg1) {
      if (device == kNoRow) return true;
      const Event event{row, device, queue, time_ns, arg0, arg1};
      if (kind == HostBatch::KIND_WAIT) {
        waits_[host_.tid.At(row)] = {device, queue, host_.sequence.At(row), time_ns};
      } else if (kind == HostBatch::KIND_IRQ) {
        ready_[{device, queue}] = {time_ns, arg1};
      } else if (job != 0) {
        AddToJob(kind, event, jobs_.Get(JobKey(device, job)));
      }
      return true;
    };
    EachRow(see, host_.kind, host_.device, host_.job, host_.time_ns, host_.queue, host_.arg0,
            host_.arg1);
    return std::move(jobs_);
  }

 private:
  struct Event {
    size_t row;
    uint32_t device, queue;
    int64_t time_ns;
    uint64_t arg0, arg1;
  };
  // What a thread waits for, and since when.
  struct Wait {
    uint32_t device = 0, queue = 0;
    uint64_t sequence = 0;
    int64_t since_ns = kNoTime;
  };
  // A run of the handler says how many completions it found ready in its queue,
  // not which: they are the next ones that the driver consumes there. What it
  // consumes beyond them (found by polling, or written meanwhile) had no run.
  struct Ready {
    int64_t irq_ns = kNoTime;
    uint64_t left = 0;
  };

  void AddToJob(uint8_t kind, const Event& event, HostJob* job) {
    const auto set_first = [&](int64_t* field) {
      if (*field == kNoTime) *field = event.time_ns;
    };
    switch (kind) {
      case HostBatch::KIND_SUBMIT:
        if (job->submitted) {
          ++stats_.duplicate_jobs;
          break;
        }
        job->submitted = true;
        set_first(&job->submit_ns);
        job->context = host_.context.At(event.row);
        job->queue = event.queue;
        job->sequence = host_.sequence.At(event.row);
        job->pid = host_.pid.At(event.row);
        job->tid = host_.tid.At(event.row);
        job->correlation = host_.correlation.At(event.row);
        job->commands = static_cast<uint32_t>(event.arg0);
        job->copy_bytes = event.arg1;
        break;
      case HostBatch::KIND_DOORBELL:
        set_first(&job->doorbell_ns);
        break;
      case HostBatch::KIND_SUBMIT_END:
        set_first(&job->submit_end_ns);
        break;
      case HostBatch::KIND_COMPLETE: {
        if (job->complete_ns != kNoTime) break;
        set_first(&job->complete_ns);
        job->status = static_cast<uint32_t>(event.arg0);
        Ready& ready = ready_[{event.device, event.queue}];
        if (ready.left > 0) {
          --ready.left;
          job->irq_ns = ready.irq_ns;
        }
        break;
      }
      case HostBatch::KIND_WAKE: {
        // The thread gave up (deadline, signal): the job did not wake it.
        if (event.arg0 == std::numeric_limits<uint32_t>::max()) break;
        if (job->wake_ns != kNoTime) break;  // the first waiter counts
        set_first(&job->wake_ns);
        job->wait_correlation = event.arg1;
        const auto wait = waits_.find(host_.tid.At(event.row));
        if (wait == waits_.end()) break;
        if (wait->second.device == event.device && wait->second.queue == event.queue &&
            wait->second.sequence == host_.sequence.At(event.row)) {
          job->wait_ns = wait->second.since_ns;
        }
        waits_.erase(wait);
        break;
      }
      default:
        break;
    }
  }

  const HostEvents& host_;
  LoadStats& stats_;
  HostJobs jobs_;
  std::unordered_map<uint32_t, Wait> waits_;              // by thread
  std::map<std::pair<uint32_t, uint32_t>, Ready> ready_;  // by device and queue
};

}  // namespace

template <typename Of, typename Each>
void HostJobs::EachField(Of* packed, const Each& each) {
  each(&HostJob::submitted, &packed->submitted);
  each(&HostJob::context, &packed->context), each(&HostJob::queue, &packed->queue);
  each(&HostJob::pid, &packed->pid), each(&HostJob::tid, &packed->tid);
  each(&HostJob::commands, &packed->commands), each(&HostJob::status, &packed->status);
  each(&HostJob::sequence, &packed->sequence), each(&HostJob::correlation, &packed->correlation);
  each(&HostJob::copy_bytes, &packed->copy_bytes);
  each(&HostJob::wait_correlation, &packed->wait_correlation);
  each(&HostJob::submit_ns, &packed->submit_ns), each(&HostJob::doorbell_ns, &packed->doorbell_ns);
  each(&HostJob::submit_end_ns, &packed->submit_end_ns), each(&HostJob::irq_ns, &packed->irq_ns);
  each(&HostJob::complete_ns, &packed->complete_ns), each(&HostJob::wait_ns, &packed->wait_ns);
  each(&HostJob::wake_ns, &packed->wake_ns);
}

HostJob* HostJobs::Open(uint32_t row) {
  std::unique_ptr<HostJob[]>& chunk = chunks_[row / kChunk];
  if (chunk == nullptr) {
    chunk = std::make_unique<HostJob[]>(kChunk);
    Unpack(row / kChunk, chunk.get());
  }
  return &chunk[row % kChunk];
}

HostJob* HostJobs::Get(uint64_t key) {
  // Events of a job are close to each other.
  uint32_t& known = known_[key % kKnown];
  if (known < keys_.size() && keys_[known] == key) return Open(known);
  const auto next = static_cast<uint32_t>(keys_.size());
  const uint32_t row = known = index_.Add(key, next, KeyOf{keys_});
  if (row != next) return Open(row);
  keys_.push_back(key);
  if (next % kChunk == 0) {
    chunks_.push_back(std::make_unique<HostJob[]>(kChunk));
    if (chunks_.size() > kOpen) Pack(chunks_.size() - 1 - kOpen);
  }
  return Open(next);
}

// Each is packed once, in their order.
void HostJobs::Pack(size_t chunk) {
  const std::unique_ptr<HostJob[]> jobs = std::move(chunks_[chunk]);
  EachField(&packed_, [&](auto member, auto* column) {
    typename std::remove_reference_t<decltype(*column)>::value_type values[kChunk];
    for (size_t i = 0; i < kChunk; ++i) values[i] = jobs[i].*member;
    column->AppendValues(values, kChunk);
  });
}

void HostJobs::Unpack(size_t chunk, HostJob* jobs) const {
  EachField(&packed_, [&](auto member, const auto* column) {
    typename std::remove_reference_t<decltype(*column)>::value_type values[kChunk];
    column->Read(chunk * kChunk, kChunk, values);
    for (size_t i = 0; i < kChunk; ++i) jobs[i].*member = values[i];
  });
}

// How often a chunk is unpacked: where they are asked for in no order that would go on and on.
constexpr size_t kMostTimes = 16;

const HostJob* HostJobs::Unpacked(size_t chunk) const {
  Slot& slot = slots_[chunk % kSlots];
  if (slot.chunk == chunk) return slot.jobs.get();
  if (slot.jobs == nullptr) slot.jobs = std::make_unique<HostJob[]>(kChunk);
  Unpack(chunk, slot.jobs.get());
  slot.chunk = chunk;
  if (++unpacked_ <= kMostTimes * chunks_.size()) return slot.jobs.get();
  slot.chunk = SIZE_MAX;
  return (chunks_[chunk] = std::move(slot.jobs)).get();
}

HostJobs::Times HostJobs::TimesOf(uint32_t row) const {
  const size_t chunk = row / kChunk, at = row % kChunk;
  if (const HostJob* jobs = chunks_[chunk].get(); jobs != nullptr) {
    return {jobs[at].submit_ns, jobs[at].doorbell_ns, jobs[at].complete_ns};
  }
  if (times_ == nullptr) times_ = std::make_unique<std::array<TimesSlot, kSlots>>();
  TimesSlot& slot = (*times_)[chunk % kSlots];
  if (slot.chunk != chunk) {
    if (unpacked_times_ > kMostTimes * chunks_.size()) {
      return {packed_.submit_ns[row], packed_.doorbell_ns[row], packed_.complete_ns[row]};
    }
    ++unpacked_times_;
    packed_.submit_ns.Read(chunk * kChunk, kChunk, slot.submit_ns.data());
    packed_.doorbell_ns.Read(chunk * kChunk, kChunk, slot.doorbell_ns.data());
    packed_.complete_ns.Read(chunk * kChunk, kChunk, slot.complete_ns.data());
    slot.chunk = chunk;
  }
  return {slot.submit_ns[at], slot.doorbell_ns[at], slot.complete_ns[at]};
}

HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats) {
  return Collector(host, stats).Run();
}

}  // namespace acceltrace::model
