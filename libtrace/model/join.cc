// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/join.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/model/late_times.h"
#include "libtrace/model/permute.h"
#include "libtrace/model/rising_ids.h"

namespace acceltrace::model {
namespace {

class Joiner {
 public:
  Joiner(DeviceJobs& device_jobs, const HostJobs& host_jobs, bool known_only, Model* model)
      : known_only_(known_only),
        device_jobs_(device_jobs),
        model_(model),
        jobs_(model->jobs),
        host_jobs_(host_jobs) {}

  void Run(const std::map<std::pair<uint32_t, uint32_t>, uint32_t>* op_names) {
    CollectKeys();
    FillDeviceSide();
    FillHostSide();
    LinkCommands();
    if (op_names != nullptr) NameCommands(*op_names);
  }

 private:
  // Every job that either side speaks of, in order of (device, job).
  void CollectKeys() {
    std::vector<uint64_t> on_device, of_commands, keys;
    EachRow(
        [&](size_t, uint32_t device, uint32_t job) {
          on_device.push_back(JobKey(device, job));
          return true;
        },
        device_jobs_.device, device_jobs_.job);
    // These are in order: each once.
    EachRow(
        [&](size_t row, uint32_t device, uint32_t job) {
          const uint64_t key = JobKey(device, job);
          if (row == 0 || key != of_commands.back()) of_commands.push_back(key);
          return true;
        },
        model_->commands.device, model_->commands.job);
    if (!std::is_sorted(on_device.begin(), on_device.end())) {
      std::sort(on_device.begin(), on_device.end());
    }
    // Most are in both.
    keys.reserve(std::max(on_device.size(), of_commands.size()));
    std::set_union(on_device.begin(), on_device.end(), of_commands.begin(), of_commands.end(),
                   std::back_inserter(keys));
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    // The host spoke of few others, as a rule.
    if (FindSides(keys) != host_jobs_.size()) {
      keys.insert(keys.end(), host_jobs_.keys().begin(), host_jobs_.keys().end());
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      FindSides(keys);
    }
    Resize(keys.size());
    std::vector<uint32_t> half(keys.size());
    for (size_t row = 0; row < keys.size(); ++row)
      half[row] = static_cast<uint32_t>(keys[row] >> 32);
    jobs_.device.Write(0, half.size(), half.data());
    for (size_t row = 0; row < keys.size(); ++row) half[row] = static_cast<uint32_t>(keys[row]);
    jobs_.job.Write(0, half.size(), half.data());
    keys_ = std::move(keys);
  }

  // How many of the jobs the host spoke of.
  size_t FindSides(const std::vector<uint64_t>& keys) {
    size_t found = 0;
    sides_.assign(keys.size(), HostJobs::kNone);
    for (size_t row = 0; row < keys.size(); ++row) {
      sides_[row] = host_jobs_.Find(keys[row]);
      found += sides_[row] != HostJobs::kNone;
    }
    return found;
  }

  // Of one that either side speaks of.
  uint32_t RowOf(uint64_t key) const {
    return static_cast<uint32_t>(std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin());
  }

  void Resize(size_t n) {
    for (auto* column : {&jobs_.device, &jobs_.context, &jobs_.queue, &jobs_.job, &jobs_.pid,
                         &jobs_.tid, &jobs_.commands_submitted, &jobs_.commands_retired,
                         &jobs_.status, &jobs_.first_command, &jobs_.num_commands}) {
      column->resize(n);
    }
    for (auto* column :
         {&jobs_.sequence, &jobs_.correlation, &jobs_.host_correlation, &jobs_.copy_bytes}) {
      column->resize(n);
    }
    for (auto* column : {&jobs_.on_host, &jobs_.on_device, &jobs_.has_irq}) column->resize(n);
    for (auto* column : {&jobs_.submit_ns, &jobs_.doorbell_ns, &jobs_.submit_end_ns, &jobs_.irq_ns,
                         &jobs_.complete_ns, &jobs_.wait_ns, &jobs_.wake_ns}) {
      column->resize(n, kNoTime);
    }
    jobs_.api_row.resize(n, kNoRow);
    jobs_.wait_api_row.resize(n, kNoRow);
  }

  // All jobs that anybody speaks of, once each and in order.
  bool IsDeviceSideWhole() const {
    if (device_jobs_.size() != keys_.size()) return false;
    return EachRow([&](size_t row, uint32_t device,
                       uint32_t job) { return keys_[row] == JobKey(device, job); },
                   device_jobs_.device, device_jobs_.job);
  }

  void MoveDeviceSide() {
    jobs_.on_device.assign(keys_.size(), 1);
    jobs_.context = std::move(device_jobs_.context);
    jobs_.queue = std::move(device_jobs_.queue);
    jobs_.correlation = std::move(device_jobs_.correlation);
    jobs_.commands_retired = std::move(device_jobs_.commands);
    jobs_.status = std::move(device_jobs_.status);
    jobs_.has_irq = std::move(device_jobs_.has_irq);
    jobs_.doorbell = std::move(device_jobs_.doorbell);
    jobs_.fetched = std::move(device_jobs_.fetched);
    jobs_.first_start = std::move(device_jobs_.first_start);
    jobs_.last_end = std::move(device_jobs_.last_end);
    jobs_.completion = std::move(device_jobs_.completion);
    jobs_.irq = std::move(device_jobs_.irq);
  }

  void FillDeviceSide() {
    if (IsDeviceSideWhole()) return MoveDeviceSide();
    std::vector<uint32_t> from(jobs_.size(), kNoRow);  // of the device's, by row
    for (size_t i = 0; i < device_jobs_.size(); ++i) {
      const uint32_t row = RowOf(JobKey(device_jobs_.device[i], device_jobs_.job[i]));
      if (jobs_.on_device[row]) {
        ++model_->load.duplicate_jobs;
        continue;
      }
      jobs_.on_device[row] = 1;
      jobs_.context[row] = device_jobs_.context[i];
      jobs_.queue[row] = device_jobs_.queue[i];
      jobs_.correlation[row] = device_jobs_.correlation[i];
      jobs_.commands_retired[row] = device_jobs_.commands[i];
      jobs_.status[row] = device_jobs_.status[i];
      jobs_.has_irq[row] = device_jobs_.has_irq[i];
      from[row] = static_cast<uint32_t>(i);
    }
    // The largest part of it: one after the other, so that little is there twice.
    const auto move = [&](DeviceTimes* source, DeviceTimes* to) {
      if (model::IsLate(*source)) return MoveLate(from, source, to);
      to->Resize(from.size());
      DeviceTimesChunk chunk(to);
      for (size_t first = 0; first < from.size(); first += DeviceTimesChunk::kRows) {
        const size_t end = std::min(from.size(), first + DeviceTimesChunk::kRows);
        chunk.Read(first, end - first);
        for (size_t row = first; row < end; ++row) {
          chunk.Set(row, from[row] != kNoRow ? source->At(from[row]) : DeviceTime{});
        }
        chunk.Write();
      }
      *source = {};
    };
    move(&device_jobs_.doorbell, &jobs_.doorbell);
    move(&device_jobs_.fetched, &jobs_.fetched);
    move(&device_jobs_.first_start, &jobs_.first_start);
    move(&device_jobs_.last_end, &jobs_.last_end);
    move(&device_jobs_.completion, &jobs_.completion);
    move(&device_jobs_.irq, &jobs_.irq);
  }

  // value(side, row, old): what a row has that the host spoke of.
  template <typename T, typename Value>
  void Fill(Column<T>* column, const Value& value) {
    constexpr size_t kRows = Column<T>::kRows;
    T values[kRows];
    for (size_t first = fill_first_; first < fill_end_; first += kRows) {
      const size_t count = std::min(kRows, fill_end_ - first);
      column->Read(first, count, values);
      for (size_t i = 0; i < count; ++i) {
        const uint32_t side = sides_[first + i];
        if (side != HostJobs::kNone) values[i] = value(SideAt(first + i), first + i, values[i]);
      }
      column->Write(first, count, values);
    }
  }
  // The same of what is known only if the submission was seen.
  template <typename T, typename Value>
  void FillSubmitted(Column<T>* column, const Value& value) {
    Fill(column, [&](const HostJob& side, size_t, T old) {
      return side.submitted ? static_cast<T>(value(side)) : old;
    });
  }

  void FillHostSide() {
    std::set<HandlerRun> late_runs;
    Calls calls(model_->api.correlation);
    // All columns of some jobs after each other: what the host says of these stays in caches.
    constexpr size_t kRows = Column<uint32_t>::kRows;
    for (size_t first = 0; first < sides_.size(); first += kRows) {
      fill_first_ = first, fill_end_ = std::min(first + kRows, sides_.size());
      ReadSides();
      FillHostColumns(&late_runs);
      LinkApi(&calls);
    }
    fill_first_ = 0, fill_end_ = sides_.size();
    block_.clear();
    if (!late_runs.empty()) DropIrqsOfOthers(late_runs);
  }

  // Those of the rows that are filled, once for all columns.
  void ReadSides() {
    block_.resize(fill_end_ - fill_first_);
    for (size_t i = 0; i < block_.size(); ++i) {
      const uint32_t side = sides_[fill_first_ + i];
      if (side != HostJobs::kNone) block_[i] = host_jobs_.At(side);
    }
  }
  // Of a row that the host spoke of.
  const HostJob& SideAt(size_t row) const {
    return block_.empty() ? host_jobs_.At(sides_[row]) : block_[row - fill_first_];
  }

  using HandlerRun = std::tuple<uint32_t, uint32_t, int64_t>;  // of a handler: device, queue, time

  void FillHostColumns(std::set<HandlerRun>* late_runs) {
    FillSubmitted(&jobs_.on_host, [](const HostJob&) { return 1; });
    if (!known_only_) FillOtherColumns();
    FillSubmitted(&jobs_.queue, [](const HostJob& side) { return side.queue; });
    FillSubmitted(&jobs_.pid, [](const HostJob& side) { return side.pid; });
    FillTime(&jobs_.submit_ns, &HostJob::submit_ns);
    FillTime(&jobs_.doorbell_ns, &HostJob::doorbell_ns);
    FillTime(&jobs_.submit_end_ns, &HostJob::submit_end_ns);
    FillTime(&jobs_.complete_ns, &HostJob::complete_ns);
    Fill(&jobs_.irq_ns, [&](const HostJob& side, size_t row, int64_t) {
      // A handler that was entered before the completion was written, and still
      // found it, is not the interrupt that this job sent. Where the device's
      // record or its time is missing that is known of a handler entered before
      // the job was submitted.
      const bool earlier_run =
          side.irq_ns != kNoTime &&
          ((side.submit_ns != kNoTime && side.irq_ns < side.submit_ns) ||
           (jobs_.on_device.At(row) && side.irq_ns < jobs_.completion.host[row].lo_ns));
      if (earlier_run) return kNoTime;
      if (IsLate(row, side.irq_ns) && late_runs->size() < kMostRuns) {
        late_runs->insert(RunOf(row, side.irq_ns));
      }
      return side.irq_ns;
    });
  }

  void FillTime(Column<int64_t>* column, int64_t HostJob::*member) {
    Fill(column, [member](const HostJob& side, size_t, int64_t) { return side.*member; });
  }

  void FillOtherColumns() {
    FillSubmitted(&jobs_.context, [](const HostJob& side) { return side.context; });
    FillSubmitted(&jobs_.sequence, [](const HostJob& side) { return side.sequence; });
    FillSubmitted(&jobs_.tid, [](const HostJob& side) { return side.tid; });
    FillSubmitted(&jobs_.commands_submitted, [](const HostJob& side) { return side.commands; });
    FillSubmitted(&jobs_.copy_bytes, [](const HostJob& side) { return side.copy_bytes; });
    FillSubmitted(&jobs_.host_correlation, [](const HostJob& side) { return side.correlation; });
    Fill(&jobs_.correlation, [&](const HostJob& side, size_t row, uint64_t old) {
      return side.submitted && !jobs_.on_device.At(row) ? side.correlation : old;
    });
    Fill(&jobs_.status,
         [](const HostJob& side, size_t, uint32_t old) { return old == 0 ? side.status : old; });
    FillTime(&jobs_.wait_ns, &HostJob::wait_ns);
    FillTime(&jobs_.wake_ns, &HostJob::wake_ns);
  }

  static constexpr size_t kMostRuns = 1 << 16;
  HandlerRun RunOf(size_t row, int64_t irq_ns) const {
    return {jobs_.device.At(row), jobs_.queue.At(row), irq_ns};
  }
  // Its own interrupt was sent later.
  bool IsLate(size_t row, int64_t irq_ns) const {
    return irq_ns != kNoTime && jobs_.has_irq.At(row) && irq_ns < jobs_.irq.host[row].lo_ns;
  }

  // The interrupt of one job may find others done whose own ones come late.
  void DropIrqsOfOthers(const std::set<HandlerRun>& late_runs) {
    std::set<HandlerRun> sent;  // by another job
    Fill(&jobs_.irq_ns, [&](const HostJob&, size_t row, int64_t irq_ns) {
      if (irq_ns == kNoTime || IsLate(row, irq_ns)) return irq_ns;
      if (const HandlerRun run = RunOf(row, irq_ns); late_runs.count(run) != 0) sent.insert(run);
      return irq_ns;
    });
    Fill(&jobs_.irq_ns, [&](const HostJob&, size_t row, int64_t irq_ns) {
      const bool of_other = IsLate(row, irq_ns) && sent.count(RunOf(row, irq_ns)) != 0;
      return of_other ? kNoTime : irq_ns;
    });
  }

  // Calls by correlation; of those that share one the first counts.
  class Calls {
   public:
    explicit Calls(const Column<uint64_t>& ids) : submitted_(ids), awaited_(submitted_) {
      if (submitted_.rise()) return;
      calls_.reserve(ids.size());
      EachRow(
          [&](size_t row, uint64_t id) {
            if (id != 0) calls_.emplace_back(id, static_cast<uint32_t>(row));
            return true;
          },
          ids);
      if (!std::is_sorted(calls_.begin(), calls_.end())) std::sort(calls_.begin(), calls_.end());
    }
    // The one that submitted a job, or waited for it; each is asked for in order, about.
    uint32_t Submitted(uint64_t id) { return Find(id, &submitted_, &last_); }
    uint32_t Awaited(uint64_t id) { return Find(id, &awaited_, &last_wait_); }

   private:
    uint32_t Find(uint64_t id, RisingIds* rising, size_t* last) const {
      if (!rising->rise()) return FindCall(calls_, id, last);
      return id == 0 ? kNoRow : rising->Find(id);
    }

    RisingIds submitted_, awaited_;
    std::vector<std::pair<uint64_t, uint32_t>> calls_;  // if ids do not rise
    size_t last_ = 0, last_wait_ = 0;
  };

  // Of the rows that are filled.
  void LinkApi(Calls* calls) {
    const ApiCalls& api = model_->api;
    const size_t count = fill_end_ - fill_first_;
    uint32_t found[Column<uint32_t>::kRows], waited[Column<uint32_t>::kRows];
    for (size_t i = 0; i < count; ++i) {
      const size_t row = fill_first_ + i;
      const uint32_t call = found[i] = calls->Submitted(jobs_.correlation.At(row));
      if (call != kNoRow && !jobs_.on_host.At(row)) {
        jobs_.pid[row] = api.pid.At(call);
        jobs_.tid[row] = api.tid.At(call);
      }
      const bool woken = sides_[row] != HostJobs::kNone && block_[i].wake_ns != kNoTime;
      waited[i] = woken ? calls->Awaited(block_[i].wait_correlation) : kNoRow;
    }
    jobs_.api_row.Write(fill_first_, count, found);
    jobs_.wait_api_row.Write(fill_first_, count, waited);
  }

  // Most are asked for in order. last: where one was found before.
  static uint32_t FindCall(const std::vector<std::pair<uint64_t, uint32_t>>& calls,
                           uint64_t correlation, size_t* last) {
    const auto is_it = [&](size_t at) {
      return (at == 0 || calls[at - 1].first < correlation) &&
             (at == calls.size() || calls[at].first >= correlation);
    };
    if (*last < calls.size() && is_it(*last + 1)) {
      ++*last;
    } else if (!is_it(*last)) {
      *last = static_cast<size_t>(
          std::lower_bound(calls.begin(), calls.end(), std::pair(correlation, 0u)) - calls.begin());
    }
    const bool found = *last < calls.size() && calls[*last].first == correlation;
    return found ? calls[*last].second : kNoRow;
  }

  void LinkCommands() {
    const Commands& commands = model_->commands;
    uint32_t row = 0;                  // of the last one; rows are in the jobs' order
    bool known = false, open = false;  // open: nobody else knows its correlation
    std::vector<uint32_t> first(jobs_.size()), number(jobs_.size());
    const auto link = [&](size_t i, uint32_t device, uint32_t job) {
      const uint64_t key = JobKey(device, job);
      const bool again = known && keys_[row] == key;
      if (!again) {
        row = row + 1 < keys_.size() && keys_[row + 1] == key ? row + 1 : RowOf(key);
        first[row] = static_cast<uint32_t>(i);
        open = !jobs_.on_device.At(row) && jobs_.correlation.At(row) == 0;
      }
      known = true;
      ++number[row];
      if (open) {
        const uint64_t correlation = commands.correlation.At(i);
        if (correlation != 0) jobs_.correlation[row] = correlation, open = false;
      }
      return true;
    };
    EachRow(link, commands.device, commands.job);
    jobs_.first_command.Write(0, first.size(), first.data());
    jobs_.num_commands.Write(0, number.size(), number.data());
  }

  // What is known of a command by its job: where that is, and what its process calls it.
  void NameCommands(const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names) {
    Commands& commands = model_->commands;
    std::vector<uint32_t> rows(commands.size()), ops(commands.size());
    uint32_t row = 0, pid = 0, tag = 0, op = 0;  // of the last one
    bool known = false;
    const auto name = [&](size_t i, uint32_t device, uint32_t job, uint32_t its_tag) {
      const uint64_t key = JobKey(device, job);
      const bool again = known && keys_[row] == key;
      if (keys_[row] != key) row = RowOf(key);
      rows[i] = row;
      const uint32_t its_pid = again ? pid : jobs_.pid.At(row);
      if (!known || its_pid != pid || its_tag != tag) {
        const auto found = op_names.find({its_pid, its_tag});
        op = found == op_names.end() ? 0 : found->second;
      }
      known = true, pid = its_pid, tag = its_tag;
      ops[i] = op;
      return true;
    };
    EachRow(name, commands.device, commands.job, commands.tag);
    commands.job_row = {}, commands.op = {};
    commands.job_row.AppendValues(rows.data(), rows.size());
    commands.op.AppendValues(ops.data(), ops.size());
  }

  const bool known_only_;
  DeviceJobs& device_jobs_;
  Model* model_;
  Jobs& jobs_;
  std::vector<uint64_t> keys_;  // JobKey of each row, sorted
  const HostJobs& host_jobs_;
  size_t fill_first_ = 0, fill_end_ = 0;  // rows that Fill() fills
  std::vector<uint32_t> sides_;  // of each row, in HostJobs; kNone: the host did not speak of it
  std::vector<HostJob> block_;   // of the rows that Fill() fills, if they are few
};

}  // namespace

void JoinJobs(DeviceJobs* device_jobs, const HostJobs& host_jobs,
              const std::map<std::pair<uint32_t, uint32_t>, uint32_t>* op_names, bool known_only,
              Model* model) {
  Joiner(*device_jobs, host_jobs, known_only, model).Run(op_names);
}

}  // namespace acceltrace::model
