// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/join.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/model/permute.h"

namespace acceltrace::model {
namespace {

class Joiner {
 public:
  Joiner(DeviceJobs& device_jobs, const HostJobs& host_jobs, Model* model)
      : device_jobs_(device_jobs), model_(model), jobs_(model->jobs), host_jobs_(host_jobs) {}

  void Run(const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names) {
    CollectKeys();
    FillDeviceSide();
    FillHostSide();
    LinkApi();
    LinkCommands(op_names);
  }

 private:
  // Every job that either side speaks of, in order of (device, job).
  void CollectKeys() {
    std::vector<uint64_t> keys;
    for (const auto& [key, side] : host_jobs_) keys.push_back(key);
    for (size_t i = 0; i < device_jobs_.size(); ++i) {
      keys.push_back(JobKey(device_jobs_.device[i], device_jobs_.job[i]));
    }
    // These are in order: each once.
    uint64_t last = 0;
    for (size_t i = 0; i < model_->commands.size(); ++i) {
      const uint64_t key = JobKey(model_->commands.device[i], model_->commands.job[i]);
      if (i == 0 || key != last) keys.push_back(key);
      last = key;
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    Resize(keys.size());
    for (size_t row = 0; row < keys.size(); ++row) {
      jobs_.device[row] = static_cast<uint32_t>(keys[row] >> 32);
      jobs_.job[row] = static_cast<uint32_t>(keys[row]);
    }
    keys_ = std::move(keys);
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

  void FillDeviceSide() {
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

  // value(side, old): what a row has that the host spoke of.
  template <typename T, typename Value>
  void Fill(Column<T>* column, const Value& value) {
    constexpr size_t kRows = Column<T>::kRows;
    T values[kRows];
    for (size_t first = 0; first < sides_.size(); first += kRows) {
      const size_t count = std::min(kRows, sides_.size() - first);
      column->Read(first, count, values);
      for (size_t i = 0; i < count; ++i) {
        const HostJob* side = sides_[first + i];
        if (side != nullptr) values[i] = value(*side, first + i, values[i]);
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
    sides_.assign(jobs_.size(), nullptr);
    for (size_t row = 0; row < keys_.size(); ++row) {
      const auto side = host_jobs_.find(keys_[row]);
      if (side != host_jobs_.end()) sides_[row] = &side->second;
    }
    FillSubmitted(&jobs_.on_host, [](const HostJob&) { return 1; });
    FillSubmitted(&jobs_.context, [](const HostJob& side) { return side.context; });
    FillSubmitted(&jobs_.queue, [](const HostJob& side) { return side.queue; });
    FillSubmitted(&jobs_.sequence, [](const HostJob& side) { return side.sequence; });
    FillSubmitted(&jobs_.pid, [](const HostJob& side) { return side.pid; });
    FillSubmitted(&jobs_.tid, [](const HostJob& side) { return side.tid; });
    FillSubmitted(&jobs_.commands_submitted, [](const HostJob& side) { return side.commands; });
    FillSubmitted(&jobs_.copy_bytes, [](const HostJob& side) { return side.copy_bytes; });
    FillSubmitted(&jobs_.host_correlation, [](const HostJob& side) { return side.correlation; });
    Fill(&jobs_.correlation, [&](const HostJob& side, size_t row, uint64_t old) {
      return side.submitted && !jobs_.on_device.At(row) ? side.correlation : old;
    });
    Fill(&jobs_.status,
         [](const HostJob& side, size_t, uint32_t old) { return old == 0 ? side.status : old; });
    const auto time = [&](Column<int64_t>* column, int64_t HostJob::*member) {
      Fill(column, [member](const HostJob& side, size_t, int64_t) { return side.*member; });
    };
    time(&jobs_.submit_ns, &HostJob::submit_ns);
    time(&jobs_.doorbell_ns, &HostJob::doorbell_ns);
    time(&jobs_.submit_end_ns, &HostJob::submit_end_ns);
    time(&jobs_.complete_ns, &HostJob::complete_ns);
    time(&jobs_.wait_ns, &HostJob::wait_ns);
    time(&jobs_.wake_ns, &HostJob::wake_ns);
    Fill(&jobs_.irq_ns, [&](const HostJob& side, size_t row, int64_t) {
      // A handler that was entered before the completion was written, and still
      // found it, is not the interrupt that this job sent. Where the device's
      // record or its time is missing that is known of a handler entered before
      // the job was submitted.
      const bool earlier_run =
          side.irq_ns != kNoTime &&
          ((side.submit_ns != kNoTime && side.irq_ns < side.submit_ns) ||
           (jobs_.on_device.At(row) && side.irq_ns < jobs_.completion.host[row].lo_ns));
      return earlier_run ? kNoTime : side.irq_ns;
    });
  }

  void LinkApi() {
    // Calls by correlation; of those that share one the first counts.
    const ApiCalls& api = model_->api;
    std::vector<std::pair<uint64_t, uint32_t>> calls;
    calls.reserve(api.size());
    for (uint32_t i = 0; i < api.size(); ++i) {
      if (api.correlation[i] != 0) calls.emplace_back(api.correlation[i], i);
    }
    if (!std::is_sorted(calls.begin(), calls.end())) std::sort(calls.begin(), calls.end());
    const auto find = [&](uint64_t correlation) {
      const auto call = std::lower_bound(calls.begin(), calls.end(), std::pair(correlation, 0u));
      return call == calls.end() || call->first != correlation ? kNoRow : call->second;
    };
    for (size_t row = 0; row < jobs_.size(); ++row) {
      const uint32_t call = find(jobs_.correlation[row]);
      if (call != kNoRow) {
        jobs_.api_row[row] = call;
        if (!jobs_.on_host[row]) {
          jobs_.pid[row] = api.pid[call];
          jobs_.tid[row] = api.tid[call];
        }
      }
      const HostJob* side = sides_[row];
      if (side == nullptr || side->wake_ns == kNoTime) continue;
      jobs_.wait_api_row[row] = find(side->wait_correlation);
    }
  }

  void LinkCommands(const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names) {
    Commands& commands = model_->commands;
    commands.job_row.assign(commands.size(), kNoRow);
    commands.op.assign(commands.size(), 0);
    uint32_t row = 0;  // in the order of the jobs
    for (size_t i = 0; i < commands.size(); ++i) {
      const uint64_t key = JobKey(commands.device[i], commands.job[i]);
      if (keys_[row] != key) row = RowOf(key);
      commands.job_row[i] = row;
      if (jobs_.num_commands[row]++ == 0) jobs_.first_command[row] = static_cast<uint32_t>(i);
      if (!jobs_.on_device[row] && jobs_.correlation[row] == 0) {
        jobs_.correlation[row] = commands.correlation[i];
      }
      const auto op = op_names.find({jobs_.pid[row], commands.tag[i]});
      if (op != op_names.end()) commands.op[i] = op->second;
    }
  }

  DeviceJobs& device_jobs_;
  Model* model_;
  Jobs& jobs_;
  std::vector<uint64_t> keys_;  // JobKey of each row, sorted
  const HostJobs& host_jobs_;
  std::vector<const HostJob*> sides_;  // of each row, nullptr: the host did not speak of it
};

}  // namespace

void JoinJobs(DeviceJobs* device_jobs, const HostJobs& host_jobs,
              const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names, Model* model) {
  Joiner(*device_jobs, host_jobs, model).Run(op_names);
}

}  // namespace acceltrace::model
