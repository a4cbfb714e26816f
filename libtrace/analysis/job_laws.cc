// SPDX-License-Identifier: Apache-2.0
//
// Laws of jobs: what driver, device and its command records say of the same one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "libtrace/analysis/laws.h"

namespace acceltrace::analysis {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

// Within this the driver looks itself whether a job is done whose interrupt does not come
// (docs/driver.md).
constexpr int64_t kPollNs = 20'000'000;

class JobChecker {
 public:
  JobChecker(const model::Model& model, const Coverage& coverage)
      : model_(model), jobs_(model.jobs), coverage_(coverage) {
    // Jobs are in the order of their numbers, which is that of each queue.
    for (size_t j = 0; j < jobs_.size(); ++j) {
      Queue& queue = queues_[Key(j)];
      if (jobs_.submit_ns[j] != model::kNoTime) {
        if (queue.first_submitted == kNone) queue.first_submitted = j;
      } else if (queue.first_submitted == kNone) {
        queue.last_before = j;
      }
      if (jobs_.on_device[j]) queue.last_on_device = j;
      if (jobs_.complete_ns[j] != model::kNoTime) queue.last_consumed = j;
      if (jobs_.irq_ns[j] != model::kNoTime) {
        ++taken_[{jobs_.device[j], jobs_.queue[j], jobs_.irq_ns[j]}];
      }
    }
  }

  void Run(bool complete, std::vector<Law>* laws) {
    const bool any_submit = std::any_of(jobs_.submit_ns.begin(), jobs_.submit_ns.end(),
                                        [](int64_t at_ns) { return at_ns != model::kNoTime; });
    const bool any_device = std::any_of(jobs_.on_device.begin(), jobs_.on_device.end(),
                                        [](uint8_t seen) { return seen != 0; });
    // One event may describe a whole job when it is over.
    driver_ = any_submit || coverage_.Collected("_submit", "tp:", false) ||
              coverage_.Collected("_job", "tp:", false);
    for (size_t j = 0; j < jobs_.size(); ++j) {
      const std::string probe = "device:" + model_.devices[jobs_.device[j]].about.name();
      device_ = coverage_.Collected(probe, "device:", any_device);
      Check(j);
    }
    if (!driver_) both_.Because("the driver's events were not collected");
    if (!any_device) both_.Because("the devices' records were not collected");
    for (Tally* tally : {&both_, &consumed_, &counts_, &identity_, &bytes_, &extent_}) {
      if (!complete && tally != &identity_) tally->Excuse("events were lost");
      laws->push_back(tally->Done());
    }
  }

 private:
  struct Queue {
    size_t first_submitted = kNone, last_before = kNone;
    size_t last_on_device = kNone, last_consumed = kNone;
  };
  using QueueKey = std::tuple<uint32_t, uint32_t, uint32_t>;  // device, queue, process

  QueueKey Key(size_t j) const { return {jobs_.device[j], jobs_.queue[j], ProcessOf(jobs_, j)}; }

  // Nothing of it lies before the beginning of the recording, or of what a flight recorder kept:
  // else a part of it may be missing.
  bool Whole(size_t j) const {
    const int64_t begin_ns = coverage_.begin_ns();
    if (jobs_.submit_ns[j] != model::kNoTime) return jobs_.submit_ns[j] >= begin_ns;
    return !jobs_.on_device[j] || jobs_.doorbell.host[j].lo_ns >= begin_ns;
  }

  static bool Later(size_t last, size_t j) { return last == kNone || j > last; }

  // Submitted before the recording of its process began: it precedes all that were seen to be
  // submitted to its queue, and rang before that. The driver may have been in the middle of
  // submitting one.
  bool BegunBefore(size_t j, const Queue& queue) const {
    if (queue.first_submitted != kNone && j > queue.first_submitted) return false;
    const int64_t since_ns = coverage_.Since(ProcessOf(jobs_, j));
    if (since_ns == model::kNoTime || !jobs_.on_device[j]) return true;
    return jobs_.doorbell.host[j].lo_ns <= since_ns || j == queue.last_before;
  }

  // The recording ended first: nothing later in its queue got so far, and its context lived.
  bool UnderWayAtEnd(size_t j, size_t last, int64_t seen_ns) const {
    const uint32_t pid = ProcessOf(jobs_, j);
    if (seen_ns != model::kNoTime && seen_ns < coverage_.Until(pid)) return false;
    if (coverage_.Until(pid) < coverage_.end_ns()) return true;
    const int64_t from_ns =
        jobs_.submit_ns[j] == model::kNoTime ? jobs_.doorbell.host[j].hi_ns : jobs_.submit_ns[j];
    return Later(last, j) &&
           !coverage_.ContextEnded(jobs_.device[j], jobs_.context[j], pid, from_ns);
  }

  // A device writes the record of a job as it sends the interrupt. The driver took this one's
  // completion without it, or with that of another job: its own may come after the end.
  bool InterruptMayCome(size_t j) const {
    const int64_t complete_ns = jobs_.complete_ns[j], irq_ns = jobs_.irq_ns[j];
    if (complete_ns == model::kNoTime || jobs_.num_commands[j] == 0 ||
        jobs_.num_commands[j] != jobs_.commands_submitted[j] ||
        coverage_.end_ns() - kPollNs > complete_ns) {
      return false;
    }
    return irq_ns == model::kNoTime || taken_.at({jobs_.device[j], jobs_.queue[j], irq_ns}) > 1;
  }

  std::string Where(size_t j, const std::string& what) const {
    return fmt::format("{} job {}: {}", model_.devices[jobs_.device[j]].about.name(), jobs_.job[j],
                       what);
  }
  void Equal(Tally* tally, size_t j, const char* what, uint64_t left, uint64_t right) const {
    tally->Case(left, right,
                [&] { return Where(j, fmt::format("{} {} against {}", what, left, right)); });
  }

  void CheckSides(size_t j, const Queue& queue) {
    const bool submitted = jobs_.submit_ns[j] != model::kNoTime;
    const int64_t complete_ns = jobs_.complete_ns[j];
    if (submitted && device_) {
      // The driver cancels what a context that ends leaves: the device says nothing more of it.
      const bool canceled =
          !jobs_.on_device[j] && complete_ns != model::kNoTime && jobs_.status[j] != 0;
      if (!canceled && (jobs_.on_device[j] || !InterruptMayCome(j)) &&
          (jobs_.on_device[j] || !UnderWayAtEnd(j, queue.last_on_device, complete_ns))) {
        both_.Holds(jobs_.on_device[j],
                    [&] { return Where(j, "submitted, but never completed by the device"); });
      }
    } else if (driver_ && !submitted && jobs_.on_device[j] && !BegunBefore(j, queue)) {
      both_.Holds(false, [&] { return Where(j, "completed by the device, but never submitted"); });
    }
    if (!jobs_.on_device[j] || !driver_) return;
    const int64_t completion_ns = jobs_.completion.host[j].hi_ns;
    const bool woken = jobs_.wake_ns[j] != model::kNoTime && jobs_.status[j] == 0;
    if (complete_ns == model::kNoTime && !woken &&
        (BegunBefore(j, queue) || UnderWayAtEnd(j, queue.last_consumed, model::kNoTime) ||
         completion_ns >= coverage_.Until(ProcessOf(jobs_, j)))) {
      return;
    }
    consumed_.Holds(complete_ns != model::kNoTime,
                    [&] { return Where(j, "completed by the device, but not for the driver"); });
  }

  void CheckCommands(size_t j) {
    const bool whole = Whole(j);
    const bool submitted = jobs_.submit_ns[j] != model::kNoTime && whole;
    const bool good = jobs_.status[j] == 0;
    if (submitted && jobs_.on_device[j]) {
      // What fails takes the rest of its job with it.
      if (good || jobs_.commands_retired[j] > jobs_.commands_submitted[j]) {
        Equal(&counts_, j, "commands submitted", jobs_.commands_submitted[j],
              jobs_.commands_retired[j]);
      }
      if (good || jobs_.num_commands[j] > jobs_.commands_submitted[j]) {
        Equal(&counts_, j, "commands retired", jobs_.commands_retired[j], jobs_.num_commands[j]);
      }
      Equal(&identity_, j, "correlation of driver, device:", jobs_.host_correlation[j],
            jobs_.correlation[j]);
    }
    const model::Commands& commands = model_.commands;
    uint64_t copied = 0, first_start = 0, last_end = 0;
    // Ticks are compared within one count: not where nobody knows which one it was.
    const uint32_t epoch = jobs_.first_start.epoch[j];
    bool measured = !model_.devices[jobs_.device[j]].clock.valid() ||
                    (epoch != clock::kNoEpoch && epoch == jobs_.last_end.epoch[j]);
    for (uint32_t c = 0; c < jobs_.num_commands[j]; ++c) {
      const size_t row = jobs_.first_command[j] + c;
      Equal(&identity_, j, "correlation of job, command:", jobs_.correlation[j],
            commands.correlation[row]);
      if (jobs_.on_device[j] || jobs_.on_host[j]) {
        Equal(&identity_, j, "queue of job, command:", jobs_.queue[j], commands.queue[row]);
        Equal(&identity_, j, "context of job, command:", jobs_.context[j], commands.context[row]);
      }
      if (model_.devices[jobs_.device[j]].IsDma(commands.unit[row])) copied += commands.bytes[row];
      const uint64_t start = commands.start.ticks[row], end = commands.end.ticks[row];
      measured &= commands.start.epoch[row] == epoch && commands.end.epoch[row] == epoch;
      if (c == 0 || static_cast<int64_t>(first_start - start) > 0) first_start = start;
      if (c == 0 || static_cast<int64_t>(end - last_end) > 0) last_end = end;
    }
    if (submitted && jobs_.on_device[j] && good) {
      Equal(&bytes_, j, "bytes", jobs_.copy_bytes[j], copied);
    }
    if (jobs_.on_device[j] && good && whole && jobs_.num_commands[j] > 0 &&
        jobs_.num_commands[j] == jobs_.commands_retired[j] && measured) {
      Equal(&extent_, j, "first start of job, of its commands:", jobs_.first_start.ticks[j],
            first_start);
      Equal(&extent_, j, "last end of job, of its commands:", jobs_.last_end.ticks[j], last_end);
    }
  }

  void Check(size_t j) {
    if (Whole(j)) CheckSides(j, queues_.at(Key(j)));
    CheckCommands(j);
  }

  const model::Model& model_;
  const model::Jobs& jobs_;
  const Coverage& coverage_;
  bool driver_ = false, device_ = false;
  std::map<QueueKey, Queue> queues_;
  // Jobs that one run of the interrupt handler took, by device, queue, and when it was entered.
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, size_t> taken_;
  Tally both_{"jobs_on_both_sides", "jobs submitted = jobs completed by the device"};
  Tally consumed_{"completions_consumed", "completions written = completions consumed"};
  Tally counts_{"commands_per_job", "commands submitted = commands retired = command records"};
  Tally identity_{"correlation", "correlation of driver = job record = command records"};
  Tally bytes_{"copy_bytes", "bytes the driver was asked to copy = bytes the device copied"};
  Tally extent_{"job_extent", "first start and last end of a job = those of its commands"};
};

}  // namespace

void JobLaws(const model::Model& model, const Coverage& coverage, bool complete,
             std::vector<Law>* laws) {
  JobChecker(model, coverage).Run(complete, laws);
}

}  // namespace acceltrace::analysis
