// SPDX-License-Identifier: Apache-2.0
//
// Laws of jobs: what the driver, the device and its command records report of the same job.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "libtrace/analysis/checks/laws.h"
#include "libtrace/analysis/rows/row_loops.h"
#include "libtrace/model/tables/job_owners.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::analysis {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);
constexpr size_t kFewJobs = 8;

// The driver polls for completion within this time if a job's interrupt does not come
// (docs/driver.md).
constexpr int64_t kPollNs = 20'000'000;

class JobChecker : public LawGroup, public JobLaw {
 public:
  JobChecker(const Coverage& coverage, bool complete, LawPass* pass)
      : model_(pass->model()),
        jobs_(model_.jobs),
        coverage_(coverage),
        complete_(complete),
        pass_(*pass),
        in_(pass->jobs()) {
    any_submit_ = !model::EachRow([](size_t, int64_t at_ns) { return at_ns == model::kNoTime; },
                                  jobs_.submit_ns);
    any_device_ =
        !model::EachRow([](size_t, uint8_t on_device) { return on_device == 0; }, jobs_.on_device);
    // A single event may describe a whole job after it has ended.
    driver_ = any_submit_ || coverage_.Collected("_submit", "tp:", false) ||
              coverage_.Collected("_job", "tp:", false);
    for (const model::Device& device : model_.devices) {
      DeviceFacts& facts = devices_.emplace_back();
      facts.collected = coverage.Collected("device:" + device.about.name(), "device:", any_device_);
      facts.clock_valid = device.clock.valid();
      for (uint32_t unit = 0; unit < static_cast<uint32_t>(device.about.units_size()); ++unit) {
        facts.dma.push_back(device.IsDma(unit) ? ~uint64_t{0} : 0);
      }
    }
    pass->Add(this);
  }

  void OfJobs(size_t from, size_t to) override {
    if (ArePlain(from, to)) return CountPlain(from, to);
    // Divide and conquer finds the jobs that are not plain.
    if (to - from > kFewJobs) {
      const size_t middle = from + (to - from) / 2;
      OfJobs(from, middle), OfJobs(middle, to);
      return;
    }
    for (size_t j = from; j < to; ++j) Check(j);
  }

  void Finish(std::vector<Law>* laws) override {
    if (!driver_) both_.Because("the driver's events were not collected");
    if (!any_device_) both_.Because("the devices' records were not collected");
    for (Tally* tally : {&both_, &consumed_, &counts_, &identity_, &bytes_, &extent_}) {
      if (!complete_ && tally != &identity_) tally->Excuse("events were lost");
      laws->push_back(tally->Done());
    }
  }

 private:
  struct Queue {
    size_t first_submitted = kNone, last_before = kNone;
    size_t last_on_device = kNone, last_consumed = kNone;
  };
  using QueueKey = std::tuple<uint32_t, uint32_t, uint64_t>;  // device, queue, owner
  struct DeviceFacts {
    bool collected = false, clock_valid = false;
    std::vector<uint64_t> dma;  // by unit: all bits or none
  };

  // Handles the usual case: returns true if both sides recorded all of the jobs, and these
  // succeeded with a record of each submitted command.
  bool ArePlain(size_t from, size_t to) const {
    const size_t jobs = to - from;
    const auto alike = [&](const auto&... columns) {
      return (AreAlike(columns.At(from), jobs) && ...);
    };
    const auto same = [&](const auto& a, const auto& b) {
      return AreSame(a.At(from), b.At(from), jobs);
    };
    const auto since = [&](const Chunked<int64_t>& times, int64_t least_ns) {
      return NoneBelow(times.At(from), jobs, std::max(least_ns, model::kNoTime + 1));
    };
    const uint32_t epoch = in_.first_start.epoch[from];
    return driver_ && alike(in_.device, in_.on_device, in_.status, in_.first_start.epoch) &&
           devices_[in_.device[from]].collected && in_.on_device[from] != 0 &&
           in_.status[from] == 0 && epoch != clock::kNoEpoch &&
           same(in_.first_start.epoch, in_.last_end.epoch) &&
           since(in_.submit_ns, coverage_.begin_ns()) && since(in_.complete_ns, model::kNoTime) &&
           same(in_.commands_submitted, in_.commands_retired) &&
           same(in_.commands_retired, in_.num_commands) &&
           same(in_.host_correlation, in_.correlation);
  }
  void CountPlain(size_t from, size_t to) {
    const size_t jobs = to - from;
    both_.Hold(jobs), consumed_.Hold(jobs);
    counts_.Hold(2 * jobs, 2 * SumOf(in_.num_commands.At(from), jobs));
    identity_.Hold(jobs, SumOf(in_.correlation.At(from), jobs));
    // Sums over the jobs without a fault.
    uint64_t whole = 0, rows = 0, ids = 0, copied = 0, edges = 0;
    const CommandChunk* chunk = nullptr;
    const uint32_t epoch = in_.first_start.epoch[from];
    for (size_t j = from; j < to; ++j) {
      const size_t first = in_.first_command[j], count = in_.num_commands[j];
      if (count > 0 && (chunk == nullptr || !chunk->Has(first, count))) {
        chunk = &pass_.CommandsAt(first);
      }
      if (count == 0 || !chunk->Has(first, count) || chunk->OneEpoch() != epoch) {
        CheckRows(j, true, true);
        chunk = nullptr;  // other chunks have been loaded
        continue;
      }
      Sum sum;
      const size_t row = first - chunk->first;
      const bool own = AddUp(*chunk, j, row, row + count, true, &sum);
      if (!own || sum.copied != in_.copy_bytes[j] || sum.first_start != in_.first_start.ticks[j] ||
          sum.last_end != in_.last_end.ticks[j]) {
        CheckRows(j, true, true);
        continue;
      }
      ++whole, rows += count, copied += sum.copied, edges += sum.first_start + sum.last_end;
      ids += (in_.correlation[j] + in_.queue[j] + in_.context[j]) * count;
    }
    identity_.Hold(3 * rows, ids);
    bytes_.Hold(whole, copied);
    extent_.Hold(2 * whole, edges);
  }

  // Only built if needed, since in most traces both sides recorded all jobs. Rows are in the order
  // of job numbers, which is that of each queue.
  void FindQueues() {
    model::EachRow(
        [this](size_t j, uint32_t device, uint32_t queue, uint32_t pid, uint64_t correlation,
               uint8_t on_device, int64_t submit_ns, int64_t complete_ns) {
          See(j, on_device != 0, submit_ns, complete_ns, &QueueOf(device, queue, pid, correlation));
          return true;
        },
        jobs_.device, jobs_.queue, jobs_.pid, jobs_.correlation, jobs_.on_device, jobs_.submit_ns,
        jobs_.complete_ns);
  }
  void See(size_t j, bool on_device, int64_t submit_ns, int64_t complete_ns, Queue* queue) {
    if (submit_ns != model::kNoTime) {
      if (queue->first_submitted == kNone) queue->first_submitted = j;
    } else if (queue->first_submitted == kNone) {
      queue->last_before = j;
    }
    if (on_device) queue->last_on_device = j;
    if (complete_ns != model::kNoTime) queue->last_consumed = j;
  }

  // Caches the last result, since jobs of one queue follow each other. A device gives a queue to
  // different owners in turn, which are distinguished by the client in the ids of both sides; the
  // process is only known if the submission was recorded.
  Queue& QueueOf(uint32_t device, uint32_t queue, uint32_t pid, uint64_t correlation) {
    constexpr uint64_t kProcess = uint64_t{1} << 32;
    const uint32_t client = model::ClientOf(correlation);
    const QueueKey key{device, queue, client != 0 ? client : kProcess | pid};
    if (last_queue_ == nullptr || key != last_key_) last_queue_ = &queues_[key];
    last_key_ = key;
    return *last_queue_;
  }

  // Returns true if all of the job is after the begin of the recording, or of what a flight
  // recorder kept; otherwise, parts of it may be missing.
  bool Whole(size_t j) {
    const int64_t begin_ns = coverage_.begin_ns();
    if (in_.submit_ns[j] != model::kNoTime) return in_.submit_ns[j] >= begin_ns;
    return !in_.on_device[j] || jobs_.doorbell.host[j].lo_ns >= begin_ns;
  }

  // Returns what is known of the job's process at that time.
  Coverage::Life LifeOf(size_t j) {
    const int64_t at_ns = in_.submit_ns[j];
    return coverage_.LifeAt(owners_.Of(j),
                            at_ns != model::kNoTime ? at_ns : jobs_.doorbell.host[j].mid_ns);
  }

  static bool Later(size_t last, size_t j) { return last == kNone || j > last; }

  // Returns true if the job was submitted before the recording of its process began: it precedes
  // all recorded submissions to its queue, and its doorbell was earlier. The driver may have been
  // submitting one job at that moment.
  bool BegunBefore(size_t j, const Queue& queue) {
    if (queue.first_submitted != kNone && j > queue.first_submitted) return false;
    const int64_t since_ns = LifeOf(j).since_ns;
    if (since_ns == model::kNoTime || !jobs_.on_device[j]) return true;
    return jobs_.doorbell.host[j].lo_ns <= since_ns || j == queue.last_before;
  }

  // Returns true if its doorbell came when the recording was ending: the device's ring is closed
  // last.
  bool BegunAfter(size_t j) const { return jobs_.doorbell.host[j].hi_ns >= coverage_.end_ns(); }

  // Returns true if the recording ended first: no later job of its queue got that far, and its
  // context still existed.
  bool UnderWayAtEnd(size_t j, size_t last, int64_t seen_ns) {
    const int64_t until_ns = LifeOf(j).until_ns;
    if (seen_ns != model::kNoTime && seen_ns < until_ns) return false;
    if (until_ns < coverage_.end_ns()) return true;
    const int64_t from_ns =
        jobs_.submit_ns[j] == model::kNoTime ? jobs_.doorbell.host[j].hi_ns : jobs_.submit_ns[j];
    return Later(last, j) &&
           !coverage_.ContextEnded(jobs_.device[j], jobs_.context[j], owners_.Of(j), from_ns);
  }

  // A device writes a job's record with its interrupt. If the driver took the completion without
  // that, or with another job's interrupt, the record may come after the end.
  bool InterruptMayCome(size_t j) {
    const int64_t complete_ns = jobs_.complete_ns[j], irq_ns = jobs_.irq_ns[j];
    if (complete_ns == model::kNoTime || jobs_.num_commands[j] == 0 ||
        jobs_.num_commands[j] != jobs_.commands_submitted[j] ||
        coverage_.end_ns() - kPollNs > complete_ns) {
      return false;
    }
    if (irq_ns == model::kNoTime) return true;
    if (taken_.empty()) FindTaken();
    return taken_.at({jobs_.device[j], jobs_.queue[j], irq_ns}) > 1;
  }
  void FindTaken() {
    for (size_t j = 0; j < jobs_.size(); ++j) {
      if (jobs_.irq_ns[j] == model::kNoTime) continue;
      ++taken_[{jobs_.device[j], jobs_.queue[j], jobs_.irq_ns[j]}];
    }
  }

  std::string Where(size_t j, const std::string& what) const {
    return fmt::format("{} job {}: {}", model_.devices[jobs_.device[j]].about.name(), jobs_.job[j],
                       what);
  }
  void Equal(Tally* tally, size_t j, const char* what, uint64_t left, uint64_t right) const {
    if (left == right) return tally->Hold(1, left);
    Unequal(tally, j, what, left, right);
  }
  [[gnu::noinline]] void Unequal(Tally* tally, size_t j, const char* what, uint64_t left,
                                 uint64_t right) const {
    tally->Case(left, right,
                [&] { return Where(j, fmt::format("{} {} against {}", what, left, right)); });
  }

  // Handles the usual case: returns true if both sides recorded all of the job. Otherwise, nothing
  // is counted.
  bool CountBothSides(size_t j) {
    if (!driver_ || in_.submit_ns[j] == model::kNoTime || in_.on_device[j] == 0 ||
        in_.complete_ns[j] == model::kNoTime || !devices_[in_.device[j]].collected) {
      return false;
    }
    both_.Hold(1);
    consumed_.Hold(1);
    return true;
  }
  void CheckSides(size_t j, const Queue& queue) {
    const bool submitted = in_.submit_ns[j] != model::kNoTime, on_device = in_.on_device[j] != 0;
    const int64_t complete_ns = in_.complete_ns[j];
    if (submitted && devices_[in_.device[j]].collected) {
      // The driver cancels the jobs of a context that ends, of which the device reports nothing.
      const bool canceled = !on_device && complete_ns != model::kNoTime && in_.status[j] != 0;
      if (!canceled && (on_device || !InterruptMayCome(j)) &&
          (on_device || !UnderWayAtEnd(j, queue.last_on_device, complete_ns))) {
        both_.Holds(on_device,
                    [&] { return Where(j, "submitted, but never completed by the device"); });
      }
    } else if (driver_ && !submitted && on_device && !BegunBefore(j, queue) && !BegunAfter(j)) {
      both_.Holds(false, [&] { return Where(j, "completed by the device, but never submitted"); });
    }
    if (!on_device || !driver_) return;
    const auto woken = [&] { return jobs_.wake_ns[j] != model::kNoTime && in_.status[j] == 0; };
    if (complete_ns == model::kNoTime && !woken() &&
        (BegunBefore(j, queue) || UnderWayAtEnd(j, queue.last_consumed, model::kNoTime) ||
         jobs_.completion.host[j].hi_ns >= LifeOf(j).until_ns)) {
      return;
    }
    consumed_.Holds(complete_ns != model::kNoTime,
                    [&] { return Where(j, "completed by the device, but not for the driver"); });
  }

  // The sums over a job's commands.
  struct Sum {
    uint64_t copied = 0, first_start = 0, last_end = 0;
    bool measured = false;  // all ticks belong to the job's own count
  };

  void CheckCommands(size_t j, bool whole) {
    const bool submitted = in_.submit_ns[j] != model::kNoTime && whole;
    const bool good = in_.status[j] == 0, on_device = in_.on_device[j] != 0;
    if (submitted && on_device) CheckCounts(j, good, in_.num_commands[j], in_.correlation[j]);
    CheckRows(j, submitted, whole);
  }
  void CheckRows(size_t j, bool submitted, bool whole) {
    const bool good = in_.status[j] == 0, on_device = in_.on_device[j] != 0;
    const uint32_t count = in_.num_commands[j];
    // Ticks are only compared within one count, so its epoch must be known.
    const uint32_t epoch = in_.first_start.epoch[j];
    Sum sum;
    sum.measured = !devices_[in_.device[j]].clock_valid ||
                   (epoch != clock::kNoEpoch && epoch == in_.last_end.epoch[j]);
    const size_t first = in_.first_command[j], end = first + count;
    for (size_t row = first; row < end;) {
      const CommandChunk& chunk = pass_.CommandsAt(row);
      const size_t stop = std::min(end, chunk.end());
      AddCommands(chunk, j, row - chunk.first, stop - chunk.first, row == first, &sum);
      row = stop;
    }
    if (submitted && on_device && good) Equal(&bytes_, j, "bytes", in_.copy_bytes[j], sum.copied);
    if (on_device && good && whole && count > 0 && count == in_.commands_retired[j] &&
        sum.measured) {
      Equal(&extent_, j, "first start of job, of its commands:", in_.first_start.ticks[j],
            sum.first_start);
      Equal(&extent_, j, "last end of job, of its commands:", in_.last_end.ticks[j], sum.last_end);
    }
  }

  // Sums up the same rows as AddCommands(). Returns true if all of them refer to the job.
  bool AddUp(const CommandChunk& chunk, size_t j, size_t from, size_t to, bool begins,
             Sum* sum) const {
    const std::vector<uint64_t>& dma = devices_[in_.device[j]].dma;
    const uint32_t queue = in_.queue[j], context = in_.context[j];
    const uint64_t correlation = in_.correlation[j];
    const uint64_t *starts = chunk.ticks[CommandChunk::kStart],
                   *ends = chunk.ticks[CommandChunk::kEnd];
    uint64_t others = (chunk.queue[from] ^ queue) | (chunk.context[from] ^ context), copied = 0;
    uint64_t first_start = begins ? starts[from] : sum->first_start;
    uint64_t last_end = begins ? ends[from] : sum->last_end;
    for (size_t i = from; i < to; ++i) {
      others |= chunk.correlation[i] ^ correlation;
      const uint32_t unit = chunk.unit[i];
      copied += unit < dma.size() ? chunk.bytes[i] & dma[unit] : 0;
      const uint64_t start = starts[i], end = ends[i];
      first_start = static_cast<int64_t>(first_start - start) > 0 ? start : first_start;
      last_end = static_cast<int64_t>(end - last_end) > 0 ? end : last_end;
    }
    for (size_t i = from; !(chunk.one_queue && chunk.one_context) && i < to; ++i) {
      others |= (chunk.queue[i] ^ queue) | (chunk.context[i] ^ context);
    }
    sum->copied += copied, sum->first_start = first_start, sum->last_end = last_end;
    return others == 0;
  }
  // Only checks the times that are compared.
  static bool AreOfEpoch(const CommandChunk& chunk, uint32_t epoch, size_t from, size_t to) {
    if (chunk.one_epoch) return chunk.epoch[0][0] == epoch;
    const auto are = [&](const uint32_t* its) {
      return std::all_of(its + from, its + to, [epoch](uint32_t one) { return one == epoch; });
    };
    return are(chunk.epoch[CommandChunk::kStart]) && are(chunk.epoch[CommandChunk::kEnd]);
  }

  // Adds the commands [from, to) of the chunk, at least one. `begins` means that they are the job's
  // first.
  void AddCommands(const CommandChunk& chunk, size_t j, size_t from, size_t to, bool begins,
                   Sum* sum) {
    const bool own = AddUp(chunk, j, from, to, begins, sum);
    sum->measured = sum->measured && AreOfEpoch(chunk, in_.first_start.epoch[j], from, to);
    const bool placed = in_.on_device[j] != 0 || in_.on_host[j] != 0;
    if (!own) return CheckIdentity(chunk, j, placed, from, to);
    const uint64_t ids =
        placed ? in_.correlation[j] + in_.queue[j] + in_.context[j] : uint64_t{in_.correlation[j]};
    identity_.Hold((placed ? 3 : 1) * (to - from), ids * (to - from));
  }
  void CheckIdentity(const CommandChunk& chunk, size_t j, bool placed, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      Equal(&identity_, j, "correlation of job, command:", in_.correlation[j],
            chunk.correlation[i]);
      if (!placed) continue;
      Equal(&identity_, j, "queue of job, command:", in_.queue[j], chunk.queue[i]);
      Equal(&identity_, j, "context of job, command:", in_.context[j], chunk.context[i]);
    }
  }

  void CheckCounts(size_t j, bool good, uint32_t count, uint64_t correlation) {
    const uint32_t submitted = in_.commands_submitted[j], retired = in_.commands_retired[j];
    // A failure also ends the rest of its job.
    if (good || retired > submitted) {
      Equal(&counts_, j, "commands submitted", submitted, retired);
    }
    if (good || count > submitted) Equal(&counts_, j, "commands retired", retired, count);
    Equal(&identity_, j, "correlation of driver, device:", in_.host_correlation[j], correlation);
  }

  void Check(size_t j) {
    const bool whole = Whole(j);
    if (whole && !CountBothSides(j)) {
      if (queues_.empty()) FindQueues();
      CheckSides(j, QueueOf(in_.device[j], in_.queue[j], in_.pid[j], in_.correlation[j]));
    }
    CheckCommands(j, whole);
  }

  const model::Model& model_;
  const model::Jobs& jobs_;
  const Coverage& coverage_;
  const bool complete_;
  LawPass& pass_;
  const JobChunk& in_;
  model::JobOwners owners_{model_};
  bool driver_ = false, any_submit_ = false, any_device_ = false;
  std::vector<DeviceFacts> devices_;
  std::map<QueueKey, Queue> queues_;
  QueueKey last_key_;
  Queue* last_queue_ = nullptr;
  // The number of jobs that a run of the interrupt handler took, by device, queue and start of the
  // run. Only built when needed.
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, size_t> taken_;
  Tally both_{"jobs_on_both_sides", "jobs submitted = jobs completed by the device"};
  Tally consumed_{"completions_consumed", "completions written = completions consumed"};
  Tally counts_{"commands_per_job", "commands submitted = commands retired = command records"};
  Tally identity_{"correlation", "correlation of driver = job record = command records"};
  Tally bytes_{"copy_bytes", "bytes the driver was asked to copy = bytes the device copied"};
  Tally extent_{"job_extent", "first start and last end of a job = those of its commands"};
};

}  // namespace

std::unique_ptr<LawGroup> JobLaws(const Coverage& coverage, bool complete, LawPass* pass) {
  return std::make_unique<JobChecker>(coverage, complete, pass);
}

}  // namespace acceltrace::analysis
