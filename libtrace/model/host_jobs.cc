// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/host_jobs.h"

#include <map>
#include <utility>

namespace acceltrace::model {
namespace {

using proto::HostBatch;

class Collector {
 public:
  Collector(const HostEvents& host, LoadStats* stats) : host_(host), stats_(*stats) {}

  HostJobs Run() {
    for (size_t i = 0; i < host_.size(); ++i) {
      if (host_.device[i] == kNoRow) continue;
      if (host_.kind[i] == HostBatch::KIND_WAIT) {
        waits_[host_.tid[i]] = {host_.device[i], host_.queue[i], host_.sequence[i],
                                host_.time_ns[i]};
      } else if (host_.kind[i] == HostBatch::KIND_IRQ) {
        ready_[{host_.device[i], host_.queue[i]}] = {host_.time_ns[i], host_.arg1[i]};
      } else if (host_.job[i] != 0) {
        AddToJob(i, &jobs_[JobKey(host_.device[i], host_.job[i])]);
      }
    }
    return std::move(jobs_);
  }

 private:
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

  void AddToJob(size_t i, HostJob* job) {
    const auto set_first = [&](int64_t* field) {
      if (*field == kNoTime) *field = host_.time_ns[i];
    };
    switch (host_.kind[i]) {
      case HostBatch::KIND_SUBMIT:
        if (job->submitted) {
          ++stats_.duplicate_jobs;
          break;
        }
        job->submitted = true;
        set_first(&job->submit_ns);
        job->context = host_.context[i];
        job->queue = host_.queue[i];
        job->sequence = host_.sequence[i];
        job->pid = host_.pid[i];
        job->tid = host_.tid[i];
        job->correlation = host_.correlation[i];
        job->commands = static_cast<uint32_t>(host_.arg0[i]);
        job->copy_bytes = host_.arg1[i];
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
        job->status = static_cast<uint32_t>(host_.arg0[i]);
        Ready& ready = ready_[{host_.device[i], host_.queue[i]}];
        if (ready.left > 0) {
          --ready.left;
          job->irq_ns = ready.irq_ns;
        }
        break;
      }
      case HostBatch::KIND_WAKE: {
        // The thread gave up (deadline, signal): the job did not wake it.
        if (host_.arg0[i] == std::numeric_limits<uint32_t>::max()) break;
        if (job->wake_ns != kNoTime) break;  // the first waiter counts
        set_first(&job->wake_ns);
        job->wait_correlation = host_.arg1[i];
        const auto wait = waits_.find(host_.tid[i]);
        if (wait == waits_.end()) break;
        if (wait->second.device == host_.device[i] && wait->second.queue == host_.queue[i] &&
            wait->second.sequence == host_.sequence[i]) {
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

HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats) {
  return Collector(host, stats).Run();
}

}  // namespace acceltrace::model
