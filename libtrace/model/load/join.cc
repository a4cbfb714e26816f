// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/join.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/model/load/late_times.h"
#include "libtrace/model/tables/command_runs.h"
#include "libtrace/model/tables/job_calls.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::model {
namespace {

// Accessors of fields of HostJobFields.
#define HOST_FIELD(name, field) \
  constexpr auto name = [](auto& of) -> auto& { return of.field; }
HOST_FIELD(kSubmitted, submitted);
HOST_FIELD(kContext, context);
HOST_FIELD(kQueue, queue);
HOST_FIELD(kPid, pid);
HOST_FIELD(kTid, tid);
HOST_FIELD(kCommands, commands);
HOST_FIELD(kStatus, status);
HOST_FIELD(kSequence, sequence);
HOST_FIELD(kCorrelation, correlation);
HOST_FIELD(kCopyBytes, copy_bytes);
HOST_FIELD(kWaitCorrelation, wait_correlation);
HOST_FIELD(kSubmitNs, submit_ns);
HOST_FIELD(kDoorbellNs, doorbell_ns);
HOST_FIELD(kSubmitEndNs, submit_end_ns);
HOST_FIELD(kIrqNs, irq_ns);
HOST_FIELD(kCompleteNs, complete_ns);
HOST_FIELD(kWaitNs, wait_ns);
HOST_FIELD(kWakeNs, wake_ns);
#undef HOST_FIELD

class Joiner {
 public:
  Joiner(DeviceJobs& device_jobs, HostJobs& host_jobs, bool known_only, Model* model)
      : known_only_(known_only),
        device_jobs_(device_jobs),
        model_(model),
        jobs_(model->jobs),
        host_jobs_(host_jobs) {}

  void Run(const std::map<std::pair<uint32_t, uint32_t>, uint32_t>* op_names) {
    CollectKeys();
    Resize(keys_->size());
    WriteKeys();
    FillDeviceSide();
    FillHostSide();
    FindCorrelations();
    if (op_names != nullptr) NameCommands(*op_names);
  }

 private:
  static constexpr size_t kRows = Column<uint32_t>::kRows;

  // Collects every job that either side knows, in order of (device, job), and where its commands
  // are.
  void CollectKeys() {
    // Usually, the host knows all of them.
    if (host_jobs_.rise() && FindDeviceSide() && FindCommands()) return;
    for (const uint64_t key : UniteKeys()) {
      all_keys_.push_back(key);
      sides_.push_back(host_jobs_.Find(key));
    }
    keys_ = &all_keys_;
    FindDeviceSide(), FindCommands();
  }

  std::vector<uint64_t> UniteKeys() const {
    std::vector<uint64_t> keys;
    keys.reserve(host_jobs_.size() + device_jobs_.size());
    for (size_t row = 0; row < host_jobs_.size(); ++row) keys.push_back(host_jobs_.keys()[row]);
    EachRow([&](size_t, uint32_t device,
                uint32_t job) { return keys.push_back(JobKey(device, job)), true; },
            device_jobs_.device, device_jobs_.job);
    EachCommandRun(model_->commands,
                   [&](size_t, uint64_t key) { return keys.push_back(key), true; });
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  // Returns true if each job of the device has a row, in the same order.
  bool FindDeviceSide() {
    JobKeyReader keys(*keys_);
    size_t row = 0;
    bool each = device_jobs_.size() == keys_->size();
    const bool all = EachRow(
        [&](size_t i, uint32_t device, uint32_t job) {
          const uint64_t key = JobKey(device, job);
          while (row < keys_->size() && keys[row] < key) ++row;
          each &= row == i;
          return row < keys_->size() && keys[row] == key;
        },
        device_jobs_.device, device_jobs_.job);
    device_whole_ = all && each;
    return all;
  }

  // Finds the commands of each row. Returns false if some belong to a job without a row.
  bool FindCommands() {
    JobKeyReader keys(*keys_);
    uint32_t firsts[kRows], numbers[kRows];
    const size_t rows = keys_->size(), commands = model_->commands.size();
    jobs_.first_command = {}, jobs_.num_commands = {};
    size_t row = 0, begin = 0, at = 0;  // of the last job; number of rows filled
    const auto fill = [&](size_t end_row, uint32_t first, uint32_t number) {
      for (; row < end_row; ++row) {
        firsts[at] = first, numbers[at] = number;
        if (++at < kRows) continue;
        jobs_.first_command.AppendValues(firsts, at), jobs_.num_commands.AppendValues(numbers, at);
        at = 0;
      }
    };
    // Called at the end of the commands of a row.
    bool any = false;
    const auto finish = [&](size_t end) {
      if (any) fill(row + 1, static_cast<uint32_t>(begin), static_cast<uint32_t>(end - begin));
    };
    const bool all = EachCommandRun(model_->commands, [&](size_t first, uint64_t key) {
      finish(first);
      size_t next = row;
      while (next < rows && keys[next] < key) ++next;
      if (next == rows || keys[next] != key) return false;
      fill(next, 0, 0);
      begin = first, any = true;
      return true;
    });
    if (!all) return false;
    finish(commands);
    fill(rows, 0, 0);
    jobs_.first_command.AppendValues(firsts, at), jobs_.num_commands.AppendValues(numbers, at);
    return true;
  }

  // For jobs that either side knows.
  uint32_t RowOf(uint64_t key) const { return static_cast<uint32_t>(*keys_->Find(key)); }

  void Resize(size_t n) {
    for (auto* column :
         {&jobs_.device, &jobs_.context, &jobs_.queue, &jobs_.job, &jobs_.pid, &jobs_.tid,
          &jobs_.commands_submitted, &jobs_.commands_retired, &jobs_.status}) {
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

  void WriteKeys() {
    uint64_t keys[kRows];
    uint32_t devices[kRows], jobs[kRows];
    for (size_t first = 0; first < keys_->size(); first += kRows) {
      const size_t rows = std::min(kRows, keys_->size() - first);
      keys_->Read(first, rows, keys);
      for (size_t i = 0; i < rows; ++i) {
        devices[i] = static_cast<uint32_t>(keys[i] >> 32), jobs[i] = static_cast<uint32_t>(keys[i]);
      }
      jobs_.device.Write(first, rows, devices), jobs_.job.Write(first, rows, jobs);
    }
  }

  void MoveDeviceSide() {
    jobs_.on_device.assign(keys_->size(), 1);
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
    // Each job that either side knows, once and in order.
    if (device_whole_) return MoveDeviceSide();
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
    // These are the largest columns, so they are moved one by one to keep few copies.
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

  // Reads a field of the host's side for the rows being filled.
  template <typename T, typename Field>
  void ReadSide(const Field& field, T* values) const {
    host_jobs_.Read(field, stretches_, values);
  }
  template <typename T, typename Field>
  void Put(const Field& field, Column<T>* column) {
    T values[kRows];
    ReadSide(field, values);
    column->Write(first_, rows_, values);
  }
  // Calls value(host's, device's, index of the row).
  template <typename T, typename Field, typename Value>
  void Merge(const Field& field, Column<T>* column, const Value& value) {
    T values[kRows], old[kRows];
    ReadSide(field, values);
    column->Read(first_, rows_, old);
    for (size_t i = 0; i < rows_; ++i) values[i] = value(values[i], old[i], i);
    column->Write(first_, rows_, values);
  }
  // Appends what the host knows about jobs whose submission was seen.
  template <typename T, typename Field>
  void PutSubmitted(const Field& field, Column<T>* column) {
    if (all_submitted_) return Put(field, column);
    Merge(field, column,
          [this](T host, T device, size_t i) { return submitted_[i] ? host : device; });
  }

  void FillHostSide() {
    std::set<HandlerRun> late_runs;
    JobCalls calls(model_->api.correlation);
    const bool whole = IsHostSideWhole();
    if (whole) host_jobs_.Take(kIrqNs, &jobs_.irq_ns);
    // Fills all columns for some jobs at a time, so that the host's side of these stays in caches.
    for (first_ = 0; first_ < keys_->size(); first_ += kRows) {
      ReadSubmitted();
      jobs_.on_host.Write(first_, rows_, submitted_);
      jobs_.on_device.Read(first_, rows_, on_device_);
      if (!whole) EachOfHost([this](const auto& field, auto* column) { Put(field, column); });
      MergeSides();
      if (!whole) Put(kIrqNs, &jobs_.irq_ns);
      FillIrqs(&late_runs);
      LinkApi(&calls);
    }
    if (whole) {
      EachOfHost([this](const auto& field, auto* column) { host_jobs_.Take(field, column); });
    }
    if (!late_runs.empty()) DropIrqsOfOthers(late_runs);
  }

  // Returns true if the host knows all jobs in order, and saw the submission of each.
  bool IsHostSideWhole() {
    if (!host_jobs_.in_order() || !sides_.empty()) return false;
    for (first_ = 0; first_ < keys_->size(); first_ += kRows) {
      ReadSubmitted();
      if (!all_submitted_) return false;
    }
    return true;
  }

  // For the rows being filled.
  void ReadSubmitted() {
    rows_ = std::min(kRows, keys_->size() - first_);
    if (sides_.empty()) {
      stretches_ = {{static_cast<uint32_t>(first_), rows_}};
    } else {
      HostJobs::FindStretches(sides_.data() + first_, rows_, &stretches_);
    }
    ReadSide(kSubmitted, submitted_);
    all_submitted_ = std::find(submitted_, submitted_ + rows_, 0) == submitted_ + rows_;
  }

  // Calls each(field, column) for the fields that only the host knows. Those of a submission are
  // only known if it was seen.
  template <typename Each>
  void EachOfHost(const Each& each) {
    each(kPid, &jobs_.pid);
    each(kSubmitNs, &jobs_.submit_ns), each(kDoorbellNs, &jobs_.doorbell_ns);
    each(kSubmitEndNs, &jobs_.submit_end_ns), each(kCompleteNs, &jobs_.complete_ns);
    if (known_only_) return;
    each(kSequence, &jobs_.sequence), each(kTid, &jobs_.tid);
    each(kCommands, &jobs_.commands_submitted), each(kCopyBytes, &jobs_.copy_bytes);
    each(kCorrelation, &jobs_.host_correlation);
    each(kWaitNs, &jobs_.wait_ns), each(kWakeNs, &jobs_.wake_ns);
  }

  // Merges the fields that the device reports as well.
  void MergeSides() {
    PutSubmitted(kQueue, &jobs_.queue);
    if (known_only_) return;
    PutSubmitted(kContext, &jobs_.context);
    if (std::find(on_device_, on_device_ + rows_, 0) != on_device_ + rows_) {
      Merge(kCorrelation, &jobs_.correlation, [this](uint64_t host, uint64_t device, size_t i) {
        return submitted_[i] && !on_device_[i] ? host : device;
      });
    }
    Merge(kStatus, &jobs_.status,
          [](uint32_t host, uint32_t device, size_t) { return device == 0 ? host : device; });
  }

  using HandlerRun = std::tuple<uint32_t, uint32_t, int64_t>;  // device, queue, time of the handler

  // A handler that was entered before the completion was written, and still found it, was not
  // started by this job's interrupt. If the device's record or its time is missing, that only shows
  // for handlers that were entered before the job was submitted.
  void FillIrqs(std::set<HandlerRun>* late_runs) {
    int64_t irq_ns[kRows], submit_ns[kRows], complete_ns[kRows], sent_ns[kRows];
    uint8_t has_irq[kRows];
    jobs_.irq_ns.Read(first_, rows_, irq_ns);
    ReadSide(kSubmitNs, submit_ns);
    ReadEarliest(jobs_.completion, complete_ns);
    ReadEarliest(jobs_.irq, sent_ns);
    jobs_.has_irq.Read(first_, rows_, has_irq);
    bool changed = false;
    for (size_t i = 0; i < rows_; ++i) {
      if (irq_ns[i] < submit_ns[i] || (on_device_[i] && irq_ns[i] < complete_ns[i])) {
        changed |= irq_ns[i] != kNoTime, irq_ns[i] = kNoTime;
      } else if (irq_ns[i] != kNoTime && has_irq[i] && irq_ns[i] < sent_ns[i] &&
                 late_runs->size() < kMostRuns) {
        late_runs->insert(RunOf(first_ + i, irq_ns[i]));
      }
    }
    if (changed) jobs_.irq_ns.Write(first_, rows_, irq_ns);
  }
  static_assert(kNoTime == std::numeric_limits<int64_t>::min());

  void ReadEarliest(const DeviceTimes& times, int64_t* earliest_ns) const {
    uint64_t before_ns[kRows];
    times.host.mid_ns().Read(first_, rows_, earliest_ns);
    times.host.before_ns().Read(first_, rows_, before_ns);
    for (size_t i = 0; i < rows_; ++i) {
      earliest_ns[i] = static_cast<int64_t>(static_cast<uint64_t>(earliest_ns[i]) - before_ns[i]);
    }
  }

  static constexpr size_t kMostRuns = 1 << 16;
  HandlerRun RunOf(size_t row, int64_t irq_ns) const {
    return {jobs_.device.At(row), jobs_.queue.At(row), irq_ns};
  }
  // Returns true if the job's own interrupt was sent later.
  bool IsLate(size_t row, int64_t irq_ns) const {
    return jobs_.has_irq.At(row) && irq_ns < jobs_.irq.host[row].lo_ns;
  }

  // The interrupt of one job may find others complete whose own interrupts come late.
  void DropIrqsOfOthers(const std::set<HandlerRun>& late_runs) {
    std::set<HandlerRun> sent;  // times of other jobs' interrupts
    const auto see = [&](size_t row, int64_t irq_ns) {
      if (irq_ns == kNoTime || IsLate(row, irq_ns)) return true;
      if (const HandlerRun run = RunOf(row, irq_ns); late_runs.count(run) != 0) sent.insert(run);
      return true;
    };
    EachRow(see, jobs_.irq_ns);
    const auto is_of_other = [&](size_t row, int64_t irq_ns) {
      return irq_ns != kNoTime && IsLate(row, irq_ns) && sent.count(RunOf(row, irq_ns)) != 0;
    };
    int64_t irq_ns[kRows];
    for (size_t first = 0; first < jobs_.size(); first += kRows) {
      const size_t rows = std::min(kRows, jobs_.size() - first);
      jobs_.irq_ns.Read(first, rows, irq_ns);
      for (size_t i = 0; i < rows; ++i) {
        if (is_of_other(first + i, irq_ns[i])) irq_ns[i] = kNoTime;
      }
      jobs_.irq_ns.Write(first, rows, irq_ns);
    }
  }

  // For the rows being filled.
  void LinkApi(JobCalls* calls) {
    const ApiCalls& api = model_->api;
    uint32_t found[kRows], waited[kRows];
    uint64_t ids[kRows], wait_ids[kRows];
    int64_t wake_ns[kRows];
    jobs_.correlation.Read(first_, rows_, ids);
    ReadSide(kWaitCorrelation, wait_ids);
    ReadSide(kWakeNs, wake_ns);
    for (size_t i = 0; i < rows_; ++i) {
      const uint32_t call = found[i] = calls->Submitted(ids[i]);
      if (call != kNoRow && !submitted_[i]) {
        jobs_.pid[first_ + i] = api.pid.At(call);
        jobs_.tid[first_ + i] = api.tid.At(call);
      }
      waited[i] = wake_ns[i] != kNoTime ? calls->Awaited(wait_ids[i]) : kNoRow;
    }
    jobs_.api_row.Write(first_, rows_, found);
    jobs_.wait_api_row.Write(first_, rows_, waited);
  }

  // For jobs that are only seen in their commands, finds the correlation there.
  void FindCorrelations() {
    const Commands& commands = model_->commands;
    const auto find = [&](size_t row, uint8_t on_device, uint64_t known, uint32_t first,
                          uint32_t number) {
      if (on_device || known != 0) return true;
      for (size_t i = first; i < size_t{first} + number; ++i) {
        const uint64_t correlation = commands.correlation.At(i);
        if (correlation == 0) continue;
        jobs_.correlation[row] = correlation;
        break;
      }
      return true;
    };
    if (device_whole_) return;
    EachRow(find, jobs_.on_device, jobs_.correlation, jobs_.first_command, jobs_.num_commands);
  }

  // Fills in the columns of commands that depend on their job: its row, and its process's name for
  // the op.
  void NameCommands(const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names) {
    Commands& commands = model_->commands;
    std::vector<uint32_t> rows(commands.size()), ops(commands.size());
    uint32_t row = 0, pid = 0, tag = 0, op = 0;  // of the previous command
    bool known = false;
    const auto name = [&](size_t i, uint32_t device, uint32_t job, uint32_t its_tag) {
      const uint64_t key = JobKey(device, job);
      const bool again = known && (*keys_)[row] == key;
      if ((*keys_)[row] != key) row = RowOf(key);
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
  HostJobs& host_jobs_;
  const JobKeys* keys_ = &host_jobs_.keys();  // JobKey of each row, sorted
  JobKeys all_keys_;                          // used instead if they are not those of host_jobs_
  std::vector<uint32_t> sides_;  // rows in HostJobs, or kNone if the host did not see it
  bool device_whole_ = false;    // the device knows all jobs, once each and in order
  size_t first_ = 0, rows_ = 0;  // rows being filled
  std::vector<HostJobs::Stretch> stretches_;     // their sides
  uint8_t submitted_[kRows], on_device_[kRows];  // of those
  bool all_submitted_ = false;
};

}  // namespace

void JoinJobs(DeviceJobs* device_jobs, HostJobs* host_jobs,
              const std::map<std::pair<uint32_t, uint32_t>, uint32_t>* op_names, bool known_only,
              Model* model) {
  Joiner(*device_jobs, *host_jobs, known_only, model).Run(op_names);
}

}  // namespace acceltrace::model
