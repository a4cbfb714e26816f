// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/collect_jobs.h"

#include <limits>
#include <utility>

namespace acceltrace::model {

using proto::HostBatch;

// Inlined because a call for each event would take a fifth of the time.
inline __attribute__((always_inline)) void JobCollector::AddToJob(const HostRows& events, size_t i,
                                                                  HostJobs::Place place) {
  const auto [jobs, at] = place;
  const int64_t time_ns = events.time_ns[i];
  const auto set_first = [time_ns](int64_t* field) {
    if (*field == kNoTime) *field = time_ns;
  };
  switch (events.kind[i]) {
    case HostBatch::KIND_SUBMIT:
      if (jobs->submitted[at]) {
        ++stats_.duplicate_jobs;
        break;
      }
      jobs->submitted[at] = 1;
      set_first(&jobs->submit_ns[at]);
      jobs->context[at] = events.context[i], jobs->queue[at] = events.queue[i];
      jobs->sequence[at] = events.sequence[i];
      jobs->pid[at] = events.pid[i], jobs->tid[at] = events.tid[i];
      jobs->correlation[at] = events.correlation[i];
      jobs->commands[at] = static_cast<uint32_t>(events.arg0[i]);
      jobs->copy_bytes[at] = events.arg1[i];
      break;
    case HostBatch::KIND_DOORBELL:
      set_first(&jobs->doorbell_ns[at]);
      break;
    case HostBatch::KIND_SUBMIT_END:
      set_first(&jobs->submit_end_ns[at]);
      break;
    case HostBatch::KIND_COMPLETE: {
      if (jobs->complete_ns[at] != kNoTime) break;
      set_first(&jobs->complete_ns[at]);
      jobs->status[at] = static_cast<uint32_t>(events.arg0[i]);
      Ready& ready = ready_[JobKey(events.device[i], events.queue[i])];
      if (ready.left > 0) {
        --ready.left;
        jobs->irq_ns[at] = ready.irq_ns;
      }
      break;
    }
    case HostBatch::KIND_WAKE: {
      // The thread gave up (deadline, signal), so the job did not wake it.
      if (events.arg0[i] == std::numeric_limits<uint32_t>::max()) break;
      if (jobs->wake_ns[at] != kNoTime) break;  // the first waiter counts
      set_first(&jobs->wake_ns[at]);
      jobs->wait_correlation[at] = events.arg1[i];
      Wait& wait = waits_[events.tid[i]];
      if (!std::exchange(wait.waits, false)) break;
      if (wait.device == events.device[i] && wait.queue == events.queue[i] &&
          wait.sequence == events.sequence[i]) {
        jobs->wait_ns[at] = wait.since_ns;
      }
      break;
    }
    default:
      break;
  }
}

void JobCollector::Add(const HostRows& events, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    const uint32_t device = events.device[i];
    if (device == kNoRow) continue;
    if (events.kind[i] == HostBatch::KIND_WAIT) {
      waits_[events.tid[i]] = {true, device, events.queue[i], events.sequence[i],
                               events.time_ns[i]};
    } else if (events.kind[i] == HostBatch::KIND_IRQ) {
      ready_[JobKey(device, events.queue[i])] = {events.time_ns[i], events.arg1[i]};
    } else if (events.job[i] != 0) {
      // Most events are of the same job as the previous one.
      const uint64_t key = JobKey(device, events.job[i]);
      if (key != key_) place_ = jobs_.Get(key_ = key);
      AddToJob(events, i, place_);
    }
  }
}

HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats) {
  JobCollector collector(stats);
  EachHostChunk(host,
                [&](size_t, size_t rows, const HostRows& events) { collector.Add(events, rows); });
  return collector.Done();
}

}  // namespace acceltrace::model
