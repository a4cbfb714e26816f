// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/host_jobs.h"

#include <limits>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace acceltrace::model {
namespace {

using proto::HostBatch;

class Collector {
 public:
  explicit Collector(LoadStats* stats) : stats_(*stats) {}

  HostJobs Run(const HostEvents& host) {
    const auto events = std::make_unique<Events>();
    for (size_t first = 0; first < host.size(); first += kRows) {
      const size_t rows = std::min(kRows, host.size() - first);
      events->Read(host, first, rows);
      for (size_t i = 0; i < rows; ++i) Add(*events, i);
    }
    return std::move(jobs_);
  }

 private:
  static constexpr size_t kRows = Column<uint8_t>::kRows;

  // A chunk of them.
  struct Events {
    uint8_t kind[kRows];
    uint32_t pid[kRows], tid[kRows], device[kRows], context[kRows], queue[kRows], job[kRows];
    uint64_t sequence[kRows], correlation[kRows], arg0[kRows], arg1[kRows];
    int64_t time_ns[kRows];

    void Read(const HostEvents& host, size_t first, size_t rows) {
      const auto read = [&](const auto& column, auto* to) { column.Read(first, rows, to); };
      read(host.kind, kind), read(host.time_ns, time_ns);
      read(host.pid, pid), read(host.tid, tid), read(host.device, device);
      read(host.context, context), read(host.queue, queue), read(host.job, job);
      read(host.sequence, sequence), read(host.correlation, correlation);
      read(host.arg0, arg0), read(host.arg1, arg1);
    }
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

  void Add(const Events& events, size_t i) {
    if (events.device[i] == kNoRow) return;
    if (events.kind[i] == HostBatch::KIND_WAIT) {
      waits_[events.tid[i]] = {events.device[i], events.queue[i], events.sequence[i],
                               events.time_ns[i]};
    } else if (events.kind[i] == HostBatch::KIND_IRQ) {
      ReadyOf(JobKey(events.device[i], events.queue[i])) = {events.time_ns[i], events.arg1[i]};
    } else if (events.job[i] != 0) {
      const HostJobs::Place place = jobs_.Get(JobKey(events.device[i], events.job[i]));
      AddToJob(events, i, place.at, place.chunk);
    }
  }

  void AddToJob(const Events& events, size_t i, size_t at, HostJobs::Chunk* jobs) {
    const auto set_first = [&](HostJobs::Values<int64_t>* field) {
      if ((*field)[at] == kNoTime) (*field)[at] = events.time_ns[i];
    };
    switch (events.kind[i]) {
      case HostBatch::KIND_SUBMIT:
        if (jobs->submitted[at]) {
          ++stats_.duplicate_jobs;
          break;
        }
        jobs->submitted[at] = 1;
        set_first(&jobs->submit_ns);
        jobs->context[at] = events.context[i], jobs->queue[at] = events.queue[i];
        jobs->sequence[at] = events.sequence[i];
        jobs->pid[at] = events.pid[i], jobs->tid[at] = events.tid[i];
        jobs->correlation[at] = events.correlation[i];
        jobs->commands[at] = static_cast<uint32_t>(events.arg0[i]);
        jobs->copy_bytes[at] = events.arg1[i];
        break;
      case HostBatch::KIND_DOORBELL:
        set_first(&jobs->doorbell_ns);
        break;
      case HostBatch::KIND_SUBMIT_END:
        set_first(&jobs->submit_end_ns);
        break;
      case HostBatch::KIND_COMPLETE: {
        if (jobs->complete_ns[at] != kNoTime) break;
        set_first(&jobs->complete_ns);
        jobs->status[at] = static_cast<uint32_t>(events.arg0[i]);
        Ready& ready = ReadyOf(JobKey(events.device[i], events.queue[i]));
        if (ready.left > 0) {
          --ready.left;
          jobs->irq_ns[at] = ready.irq_ns;
        }
        break;
      }
      case HostBatch::KIND_WAKE: {
        // The thread gave up (deadline, signal): the job did not wake it.
        if (events.arg0[i] == std::numeric_limits<uint32_t>::max()) break;
        if (jobs->wake_ns[at] != kNoTime) break;  // the first waiter counts
        set_first(&jobs->wake_ns);
        jobs->wait_correlation[at] = events.arg1[i];
        const auto wait = waits_.find(events.tid[i]);
        if (wait == waits_.end()) break;
        if (wait->second.device == events.device[i] && wait->second.queue == events.queue[i] &&
            wait->second.sequence == events.sequence[i]) {
          jobs->wait_ns[at] = wait->second.since_ns;
        }
        waits_.erase(wait);
        break;
      }
      default:
        break;
    }
  }

  // Most are asked for several times in a row.
  Ready& ReadyOf(uint64_t queue) {
    if (last_ready_ == nullptr || queue != last_queue_) {
      last_queue_ = queue, last_ready_ = &ready_[queue];
    }
    return *last_ready_;
  }

  LoadStats& stats_;
  HostJobs jobs_;
  std::unordered_map<uint32_t, Wait> waits_;  // by thread
  std::map<uint64_t, Ready> ready_;           // by device and queue
  uint64_t last_queue_ = 0;
  Ready* last_ready_ = nullptr;
};

}  // namespace

void HostJobs::FindStretches(const uint32_t* rows, size_t count, std::vector<Stretch>* stretches) {
  stretches->clear();
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    const uint32_t first = rows[begin], step = first == kNone ? 0 : 1;
    size_t most = count;
    if (first != kNone) most = std::min(count, begin + kChunk - first % kChunk);
    for (end = begin + 1; end < most && rows[end] == rows[end - 1] + step;) ++end;
    stretches->push_back({first, end - begin});
  }
}

uint32_t HostJobs::FindRising(uint64_t key) const {
  if (keys_.empty()) return kNone;
  // Numbers that follow each other.
  const uint64_t likely = last_ + (key - keys_[last_]);
  if (likely < keys_.size() && keys_[likely] == key) return static_cast<uint32_t>(likely);
  const auto found = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (found == keys_.end() || *found != key) return kNone;
  return static_cast<uint32_t>(found - keys_.begin());
}

uint32_t HostJobs::Add(uint64_t key) {
  const auto next = static_cast<uint32_t>(keys_.size());
  if (rise_ && next > 0 && key <= keys_.back()) {
    if (const uint32_t row = FindRising(key); row != kNone) return row;
    rise_ = false;
    for (uint32_t row = 0; row < next; ++row) index_.Add(keys_[row], row, KeyOf{keys_});
  }
  if (!rise_) {
    if (const uint32_t row = index_.Add(key, next, KeyOf{keys_}); row != next) return row;
  }
  keys_.push_back(key);
  const size_t at = next % kChunk;
  if (at == 0) {
    chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
    if (chunks_.size() > kOpen) Pack(chunks_.size() - 1 - kOpen);
  }
  Chunk& chunk = *chunks_.back();
  EachHostJobField(chunk, chunk, [at](auto& values, const auto&) {
    values[at] = kNotKnown<typename std::remove_reference_t<decltype(values)>::value_type>;
  });
  return next;
}

HostJobs::Chunk* HostJobs::Open(size_t c) {
  reopened_ = true;
  auto chunk = std::make_unique_for_overwrite<Chunk>();
  EachHostJobField(packed_, *chunk, [c](const auto& column, auto& values) {
    column.Read(c * kChunk, kChunk, values.data());
  });
  return (chunks_[c] = std::move(chunk)).get();
}

// Each is packed once, in their order.
void HostJobs::Pack(size_t c) {
  const std::unique_ptr<Chunk> chunk = std::move(chunks_[c]);
  EachHostJobField(packed_, *chunk, [](auto& column, const auto& values) {
    column.AppendValues(values.data(), kChunk);
  });
}

// How often a chunk is unpacked: where they are asked for in no order that would go on and on.
constexpr size_t kMostTimes = 16;

HostJobs::Times HostJobs::TimesOf(uint32_t row) const {
  const size_t c = row / kChunk, at = row % kChunk;
  if (const Chunk* chunk = chunks_[c].get(); chunk != nullptr) {
    return {chunk->submit_ns[at], chunk->doorbell_ns[at], chunk->complete_ns[at]};
  }
  if (times_ == nullptr) times_ = std::make_unique<std::array<TimesSlot, kSlots>>();
  TimesSlot& slot = (*times_)[c % kSlots];
  if (slot.chunk != c) {
    if (unpacked_times_ > kMostTimes * chunks_.size()) {
      return {packed_.submit_ns[row], packed_.doorbell_ns[row], packed_.complete_ns[row]};
    }
    ++unpacked_times_;
    packed_.submit_ns.Read(c * kChunk, kChunk, slot.submit_ns.data());
    packed_.doorbell_ns.Read(c * kChunk, kChunk, slot.doorbell_ns.data());
    packed_.complete_ns.Read(c * kChunk, kChunk, slot.complete_ns.data());
    slot.chunk = c;
  }
  return {slot.submit_ns[at], slot.doorbell_ns[at], slot.complete_ns[at]};
}

HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats) {
  return Collector(stats).Run(host);
}

}  // namespace acceltrace::model
