// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/host_jobs.h"

#include <map>
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

HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats) {
  return Collector(host, stats).Run();
}

}  // namespace acceltrace::model
