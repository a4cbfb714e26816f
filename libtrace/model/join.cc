// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/join.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
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
    for (size_t i = 0; i < model_->commands.size(); ++i) {
      keys.push_back(JobKey(model_->commands.device[i], model_->commands.job[i]));
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
      for (size_t row = 0; row < from.size(); ++row) {
        if (from[row] != kNoRow) to->Set(row, source->At(from[row]));
      }
      to->Compact();
      *source = {};
    };
    move(&device_jobs_.doorbell, &jobs_.doorbell);
    move(&device_jobs_.fetched, &jobs_.fetched);
    move(&device_jobs_.first_start, &jobs_.first_start);
    move(&device_jobs_.last_end, &jobs_.last_end);
    move(&device_jobs_.completion, &jobs_.completion);
    move(&device_jobs_.irq, &jobs_.irq);
  }

  void FillHostSide() {
    for (const auto& [key, side] : host_jobs_) {
      const uint32_t row = RowOf(key);
      if (side.submitted) {
        jobs_.on_host[row] = 1;
        jobs_.context[row] = side.context;
        jobs_.queue[row] = side.queue;
        jobs_.sequence[row] = side.sequence;
        jobs_.pid[row] = side.pid;
        jobs_.tid[row] = side.tid;
        jobs_.commands_submitted[row] = side.commands;
        jobs_.copy_bytes[row] = side.copy_bytes;
        jobs_.host_correlation[row] = side.correlation;
        if (!jobs_.on_device[row]) jobs_.correlation[row] = side.correlation;
      }
      if (jobs_.status[row] == 0) jobs_.status[row] = side.status;
      jobs_.submit_ns[row] = side.submit_ns;
      jobs_.doorbell_ns[row] = side.doorbell_ns;
      jobs_.submit_end_ns[row] = side.submit_end_ns;
      // A handler that was entered before the completion was written, and still
      // found it, is not the interrupt that this job sent.
      const bool earlier_run = jobs_.on_device[row] && side.irq_ns != kNoTime &&
                               side.irq_ns < jobs_.completion.host[row].lo_ns;
      jobs_.irq_ns[row] = earlier_run ? kNoTime : side.irq_ns;
      jobs_.complete_ns[row] = side.complete_ns;
      jobs_.wait_ns[row] = side.wait_ns;
      jobs_.wake_ns[row] = side.wake_ns;
    }
  }

  void LinkApi() {
    // Calls by correlation; of those that share one the first counts.
    const ApiCalls& api = model_->api;
    std::vector<uint32_t> calls;
    calls.reserve(api.size());
    for (uint32_t i = 0; i < api.size(); ++i) {
      if (api.correlation[i] != 0) calls.push_back(i);
    }
    std::sort(calls.begin(), calls.end(), [&](uint32_t a, uint32_t b) {
      return std::make_tuple(api.correlation[a], a) < std::make_tuple(api.correlation[b], b);
    });
    const auto find = [&](uint64_t correlation) {
      const auto call = std::lower_bound(
          calls.begin(), calls.end(), correlation,
          [&](uint32_t row, uint64_t wanted) { return api.correlation[row] < wanted; });
      return call == calls.end() || api.correlation[*call] != correlation ? kNoRow : *call;
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
      const auto side = host_jobs_.find(JobKey(jobs_.device[row], jobs_.job[row]));
      if (side == host_jobs_.end() || side->second.wake_ns == kNoTime) continue;
      jobs_.wait_api_row[row] = find(side->second.wait_correlation);
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
};

}  // namespace

void JoinJobs(DeviceJobs* device_jobs, const HostJobs& host_jobs,
              const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names, Model* model) {
  Joiner(*device_jobs, host_jobs, model).Run(op_names);
}

}  // namespace acceltrace::model
