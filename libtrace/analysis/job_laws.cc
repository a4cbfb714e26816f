// SPDX-License-Identifier: Apache-2.0
//
// Laws of jobs: what driver, device and its command records say of the same one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "libtrace/analysis/cursor.h"
#include "libtrace/analysis/laws.h"
#include "libtrace/model/permute.h"
#include "libtrace/stream/column_values.h"

namespace acceltrace::analysis {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

// Within this the driver looks itself whether a job is done whose interrupt does not come
// (docs/driver.md).
constexpr int64_t kPollNs = 20'000'000;

// Columns of commands one after the other.
struct CommandChunk {
  static constexpr size_t kRows = model::Column<uint64_t>::kRows;

  void Load(const model::Commands& commands, size_t row) {
    first = row / kRows * kRows;
    const size_t rows = std::min(kRows, commands.size() - first);
    const auto read = [&](const auto& column, auto* values) { column.Read(first, rows, values); };
    read(commands.correlation, correlation), read(commands.bytes, bytes);
    read(commands.queue, queue), read(commands.context, context), read(commands.unit, unit);
    read(commands.start.ticks, start), read(commands.start.epoch, start_epoch);
    read(commands.end.ticks, end), read(commands.end.epoch, end_epoch);
    uint32_t low = start_epoch[0], high = low;
    for (const uint32_t* epochs : {start_epoch, end_epoch}) {
      stream::WidenTo(epochs, rows, &low, &high);
    }
    one_epoch = low == high;
  }
  // Those of rows [from, to).
  bool IsOfEpoch(uint32_t epoch, size_t from, size_t to) const {
    if (one_epoch) return start_epoch[0] == epoch;
    const auto is = [epoch](uint32_t its) { return its == epoch; };
    return std::all_of(start_epoch + from, start_epoch + to, is) &&
           std::all_of(end_epoch + from, end_epoch + to, is);
  }

  size_t first = static_cast<size_t>(-1) / 2;
  bool one_epoch = false;  // all ticks are of it
  uint64_t correlation[kRows], bytes[kRows], start[kRows], end[kRows];
  uint32_t queue[kRows], context[kRows], unit[kRows], start_epoch[kRows], end_epoch[kRows];
};

class JobChecker {
 public:
  JobChecker(const model::Model& model, const Coverage& coverage)
      : model_(model), jobs_(model.jobs), coverage_(coverage) {
    // Jobs are in the order of their numbers, which is that of each queue.
    model::EachRow(
        [this](size_t j, uint32_t device, uint32_t queue, uint32_t pid, uint64_t correlation,
               uint8_t on_device, int64_t submit_ns, int64_t complete_ns) {
          See(j, on_device != 0, submit_ns, complete_ns, &QueueOf(device, queue, pid, correlation));
          return true;
        },
        jobs_.device, jobs_.queue, jobs_.pid, jobs_.correlation, jobs_.on_device, jobs_.submit_ns,
        jobs_.complete_ns);
    for (const model::Device& device : model.devices) {
      DeviceFacts& facts = devices_.emplace_back();
      facts.collected = coverage.Collected("device:" + device.about.name(), "device:", any_device_);
      facts.clock_valid = device.clock.valid();
      for (uint32_t unit = 0; unit < static_cast<uint32_t>(device.about.units_size()); ++unit) {
        facts.is_dma.push_back(device.IsDma(unit));
      }
    }
  }

  void Run(bool complete, std::vector<Law>* laws) {
    // One event may describe a whole job when it is over.
    driver_ = any_submit_ || coverage_.Collected("_submit", "tp:", false) ||
              coverage_.Collected("_job", "tp:", false);
    for (size_t first = 0; first < jobs_.size(); first += CommandChunk::kRows) {
      const size_t rows = std::min(CommandChunk::kRows, jobs_.size() - first);
      LoadColumns(first, rows);
      for (size_t j = first; j < first + rows; ++j) Check(j);
    }
    if (!driver_) both_.Because("the driver's events were not collected");
    if (!any_device_) both_.Because("the devices' records were not collected");
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
  struct DeviceFacts {
    bool collected = false, clock_valid = false;
    std::vector<uint8_t> is_dma;  // by unit
  };

  void LoadColumns(size_t first, size_t rows) {
    const auto load = [&](auto&... columns) { (columns.Load(first, rows), ...); };
    load(device_, queue_, context_, pid_, status_, submitted_, retired_, first_command_);
    load(num_commands_, correlation_, host_correlation_, copy_bytes_, submit_ns_, complete_ns_);
    load(on_device_, on_host_, first_start_, last_end_);
  }

  void See(size_t j, bool on_device, int64_t submit_ns, int64_t complete_ns, Queue* queue) {
    if (submit_ns != model::kNoTime) {
      any_submit_ = true;
      if (queue->first_submitted == kNone) queue->first_submitted = j;
    } else if (queue->first_submitted == kNone) {
      queue->last_before = j;
    }
    if (on_device) queue->last_on_device = j;
    if (complete_ns != model::kNoTime) queue->last_consumed = j;
    any_device_ |= on_device;
  }

  // Jobs of one queue follow each other: it is not looked up for each.
  Queue& QueueOf(uint32_t device, uint32_t queue, uint32_t pid, uint64_t correlation) {
    const QueueKey key{device, queue, pid != 0 ? pid : static_cast<uint32_t>(correlation >> 32)};
    if (last_queue_ == nullptr || key != last_key_) last_queue_ = &queues_[key];
    last_key_ = key;
    return *last_queue_;
  }

  // Nothing of it lies before the beginning of the recording, or of what a flight recorder kept:
  // else a part of it may be missing.
  bool Whole(size_t j) {
    const int64_t begin_ns = coverage_.begin_ns();
    if (submit_ns_[j] != model::kNoTime) return submit_ns_[j] >= begin_ns;
    return !on_device_[j] || jobs_.doorbell.host[j].lo_ns >= begin_ns;
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

  // Its doorbell was rung when the recording was at its end: the device's ring is closed last.
  bool BegunAfter(size_t j) const { return jobs_.doorbell.host[j].hi_ns >= coverage_.end_ns(); }

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

  // As of nearly all jobs: whether both sides saw all of it. Else nothing is counted.
  bool CountBothSides(size_t j) {
    if (!driver_ || submit_ns_[j] == model::kNoTime || on_device_[j] == 0 ||
        complete_ns_[j] == model::kNoTime || !devices_[device_[j]].collected) {
      return false;
    }
    both_.Hold(1);
    consumed_.Hold(1);
    return true;
  }
  void CheckSides(size_t j, const Queue& queue) {
    const bool submitted = submit_ns_[j] != model::kNoTime, on_device = on_device_[j] != 0;
    const int64_t complete_ns = complete_ns_[j];
    if (submitted && devices_[device_[j]].collected) {
      // The driver cancels what a context that ends leaves: the device says nothing more of it.
      const bool canceled = !on_device && complete_ns != model::kNoTime && status_[j] != 0;
      if (!canceled && (on_device || !InterruptMayCome(j)) &&
          (on_device || !UnderWayAtEnd(j, queue.last_on_device, complete_ns))) {
        both_.Holds(on_device,
                    [&] { return Where(j, "submitted, but never completed by the device"); });
      }
    } else if (driver_ && !submitted && on_device && !BegunBefore(j, queue) && !BegunAfter(j)) {
      both_.Holds(false, [&] { return Where(j, "completed by the device, but never submitted"); });
    }
    if (!on_device || !driver_) return;
    const auto woken = [&] { return jobs_.wake_ns[j] != model::kNoTime && status_[j] == 0; };
    if (complete_ns == model::kNoTime && !woken() &&
        (BegunBefore(j, queue) || UnderWayAtEnd(j, queue.last_consumed, model::kNoTime) ||
         jobs_.completion.host[j].hi_ns >= coverage_.Until(ProcessOf(jobs_, j)))) {
      return;
    }
    consumed_.Holds(complete_ns != model::kNoTime,
                    [&] { return Where(j, "completed by the device, but not for the driver"); });
  }

  // What its commands say together.
  struct Sum {
    uint64_t copied = 0, first_start = 0, last_end = 0;
    bool measured = false;  // all ticks are of the job's own count
  };

  void CheckCommands(size_t j, bool whole) {
    const bool submitted = submit_ns_[j] != model::kNoTime && whole;
    const bool good = status_[j] == 0, on_device = on_device_[j] != 0;
    const uint32_t count = num_commands_[j];
    if (submitted && on_device) CheckCounts(j, good, count, correlation_[j]);
    // Ticks are compared within one count: not where nobody knows which one it was.
    const uint32_t epoch = first_start_.epoch[j];
    Sum sum;
    sum.measured = !devices_[device_[j]].clock_valid ||
                   (epoch != clock::kNoEpoch && epoch == last_end_.epoch[j]);
    const size_t first = first_command_[j], end = first + count;
    for (size_t row = first; row < end;) {
      if (row - chunk_.first >= CommandChunk::kRows) chunk_.Load(model_.commands, row);
      const size_t stop = std::min(end, chunk_.first + CommandChunk::kRows);
      AddCommands(j, row - chunk_.first, stop - chunk_.first, row == first, &sum);
      row = stop;
    }
    if (submitted && on_device && good) Equal(&bytes_, j, "bytes", copy_bytes_[j], sum.copied);
    if (on_device && good && whole && count > 0 && count == retired_[j] && sum.measured) {
      Equal(&extent_, j, "first start of job, of its commands:", first_start_.ticks[j],
            sum.first_start);
      Equal(&extent_, j, "last end of job, of its commands:", last_end_.ticks[j], sum.last_end);
    }
  }

  // Those in [from, to) of the chunk, of which there are some. begins: they are its first.
  void AddCommands(size_t j, size_t from, size_t to, bool begins, Sum* sum) {
    const std::vector<uint8_t>& is_dma = devices_[device_[j]].is_dma;
    const uint32_t epoch = first_start_.epoch[j], queue = queue_[j], context = context_[j];
    const uint64_t correlation = correlation_[j];
    uint64_t others = 0, copied = 0;
    uint64_t first_start = begins ? chunk_.start[from] : sum->first_start;
    uint64_t last_end = begins ? chunk_.end[from] : sum->last_end;
    for (size_t i = from; i < to; ++i) {
      others |= (chunk_.correlation[i] ^ correlation) | (chunk_.queue[i] ^ queue) |
                (chunk_.context[i] ^ context);
      const uint32_t unit = chunk_.unit[i];
      if (unit < is_dma.size() && is_dma[unit]) copied += chunk_.bytes[i];
      const uint64_t start = chunk_.start[i], end = chunk_.end[i];
      if (static_cast<int64_t>(first_start - start) > 0) first_start = start;
      if (static_cast<int64_t>(end - last_end) > 0) last_end = end;
    }
    sum->measured = sum->measured && chunk_.IsOfEpoch(epoch, from, to);
    sum->copied += copied, sum->first_start = first_start, sum->last_end = last_end;
    const bool placed = on_device_[j] != 0 || on_host_[j] != 0;
    if (others != 0) return CheckIdentity(j, placed, from, to);
    const uint64_t ids = placed ? correlation + queue + context : correlation;
    identity_.Hold((placed ? 3 : 1) * (to - from), ids * (to - from));
  }
  void CheckIdentity(size_t j, bool placed, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      Equal(&identity_, j, "correlation of job, command:", correlation_[j], chunk_.correlation[i]);
      if (!placed) continue;
      Equal(&identity_, j, "queue of job, command:", queue_[j], chunk_.queue[i]);
      Equal(&identity_, j, "context of job, command:", context_[j], chunk_.context[i]);
    }
  }

  void CheckCounts(size_t j, bool good, uint32_t count, uint64_t correlation) {
    const uint32_t submitted = submitted_[j], retired = retired_[j];
    // What fails takes the rest of its job with it.
    if (good || retired > submitted) {
      Equal(&counts_, j, "commands submitted", submitted, retired);
    }
    if (good || count > submitted) Equal(&counts_, j, "commands retired", retired, count);
    Equal(&identity_, j, "correlation of driver, device:", host_correlation_[j], correlation);
  }

  void Check(size_t j) {
    const bool whole = Whole(j);
    if (whole && !CountBothSides(j)) {
      CheckSides(j, QueueOf(device_[j], queue_[j], pid_[j], correlation_[j]));
    }
    CheckCommands(j, whole);
  }

  const model::Model& model_;
  const model::Jobs& jobs_;
  const Coverage& coverage_;
  bool driver_ = false, any_submit_ = false, any_device_ = false;
  std::vector<DeviceFacts> devices_;
  std::map<QueueKey, Queue> queues_;
  QueueKey last_key_;
  Queue* last_queue_ = nullptr;
  // Columns of jobs.
  Chunked<uint32_t> device_{jobs_.device}, queue_{jobs_.queue}, context_{jobs_.context};
  Chunked<uint32_t> pid_{jobs_.pid}, status_{jobs_.status};
  Chunked<uint32_t> submitted_{jobs_.commands_submitted}, retired_{jobs_.commands_retired};
  Chunked<uint32_t> first_command_{jobs_.first_command}, num_commands_{jobs_.num_commands};
  Chunked<uint64_t> correlation_{jobs_.correlation}, host_correlation_{jobs_.host_correlation};
  Chunked<uint64_t> copy_bytes_{jobs_.copy_bytes};
  Chunked<int64_t> submit_ns_{jobs_.submit_ns}, complete_ns_{jobs_.complete_ns};
  Chunked<uint8_t> on_device_{jobs_.on_device}, on_host_{jobs_.on_host};
  ChunkedTicks first_start_{jobs_.first_start}, last_end_{jobs_.last_end};
  CommandChunk chunk_;
  // Jobs that one run of the interrupt handler took, by device, queue, and when it was entered:
  // once they are asked for.
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
  std::make_unique<JobChecker>(model, coverage)->Run(complete, laws);
}

}  // namespace acceltrace::analysis
