// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/join.h"

#include <tuple>
#include <unordered_map>
#include <vector>

#include "libtrace/model/permute.h"

namespace acceltrace::model {
namespace {

using proto::HostBatch;

uint64_t JobKey(uint32_t device, uint32_t job) {
  return (static_cast<uint64_t>(device) << 32) | job;
}

class Joiner {
 public:
  Joiner(const DeviceJobs& device_jobs, Model* model)
      : device_jobs_(device_jobs), model_(model), jobs_(model->jobs) {}

  void Run(const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names) {
    CollectKeys();
    FillDeviceSide();
    FillHostSide();
    FindInterrupts();
    LinkApi();
    LinkCommands(op_names);
  }

 private:
  // Every job that either side speaks of, in order of (device, job).
  void CollectKeys() {
    std::vector<uint64_t> keys;
    const HostEvents& host = model_->host;
    for (size_t i = 0; i < host.size(); ++i) {
      if (host.job[i] != 0 && host.device[i] != kNoRow) {
        keys.push_back(JobKey(host.device[i], host.job[i]));
      }
    }
    for (size_t i = 0; i < device_jobs_.size(); ++i) {
      keys.push_back(JobKey(device_jobs_.device[i], device_jobs_.job[i]));
    }
    for (size_t i = 0; i < model_->commands.size(); ++i) {
      keys.push_back(JobKey(model_->commands.device[i], model_->commands.job[i]));
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    Resize(keys.size());
    rows_.reserve(keys.size());
    for (size_t row = 0; row < keys.size(); ++row) {
      rows_[keys[row]] = static_cast<uint32_t>(row);
      jobs_.device[row] = static_cast<uint32_t>(keys[row] >> 32);
      jobs_.job[row] = static_cast<uint32_t>(keys[row]);
    }
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
    for (auto* times : {&jobs_.doorbell, &jobs_.fetched, &jobs_.first_start, &jobs_.last_end,
                        &jobs_.completion, &jobs_.irq}) {
      times->Resize(n);
    }
    jobs_.api_row.resize(n, kNoRow);
    jobs_.wait_api_row.resize(n, kNoRow);
  }

  static void Copy(const DeviceTimes& from, size_t i, DeviceTimes* to, size_t row) {
    to->ticks[row] = from.ticks[i];
    to->host[row] = from.host[i];
  }

  void FillDeviceSide() {
    for (size_t i = 0; i < device_jobs_.size(); ++i) {
      const uint32_t row = rows_.at(JobKey(device_jobs_.device[i], device_jobs_.job[i]));
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
      Copy(device_jobs_.doorbell, i, &jobs_.doorbell, row);
      Copy(device_jobs_.fetched, i, &jobs_.fetched, row);
      Copy(device_jobs_.first_start, i, &jobs_.first_start, row);
      Copy(device_jobs_.last_end, i, &jobs_.last_end, row);
      Copy(device_jobs_.completion, i, &jobs_.completion, row);
      Copy(device_jobs_.irq, i, &jobs_.irq, row);
    }
  }

  void FillHostSide() {
    const HostEvents& host = model_->host;
    // What each thread waits for: (device, queue, sequence) and since when.
    std::unordered_map<uint32_t, std::tuple<uint32_t, uint32_t, uint64_t, int64_t>> waits;
    for (size_t i = 0; i < host.size(); ++i) {
      if (host.device[i] == kNoRow) continue;
      if (host.kind[i] == HostBatch::KIND_WAIT) {
        waits[host.tid[i]] = {host.device[i], host.queue[i], host.sequence[i], host.time_ns[i]};
        continue;
      }
      if (host.job[i] == 0) continue;
      const uint32_t row = rows_.at(JobKey(host.device[i], host.job[i]));
      const auto set_first = [&](std::vector<int64_t>* column) {
        if ((*column)[row] == kNoTime) (*column)[row] = host.time_ns[i];
      };
      switch (host.kind[i]) {
        case HostBatch::KIND_SUBMIT:
          if (jobs_.submit_ns[row] != kNoTime) {
            ++model_->load.duplicate_jobs;
            break;
          }
          jobs_.on_host[row] = 1;
          set_first(&jobs_.submit_ns);
          jobs_.context[row] = host.context[i];
          jobs_.queue[row] = host.queue[i];
          jobs_.sequence[row] = host.sequence[i];
          jobs_.pid[row] = host.pid[i];
          jobs_.tid[row] = host.tid[i];
          jobs_.commands_submitted[row] = static_cast<uint32_t>(host.arg0[i]);
          jobs_.copy_bytes[row] = host.arg1[i];
          jobs_.host_correlation[row] = host.correlation[i];
          if (!jobs_.on_device[row]) jobs_.correlation[row] = host.correlation[i];
          break;
        case HostBatch::KIND_DOORBELL:
          set_first(&jobs_.doorbell_ns);
          break;
        case HostBatch::KIND_SUBMIT_END:
          set_first(&jobs_.submit_end_ns);
          break;
        case HostBatch::KIND_COMPLETE:
          set_first(&jobs_.complete_ns);
          if (jobs_.status[row] == 0) jobs_.status[row] = static_cast<uint32_t>(host.arg0[i]);
          break;
        case HostBatch::KIND_WAKE: {
          // The thread gave up (deadline, signal): the job did not wake it.
          if (host.arg0[i] == std::numeric_limits<uint32_t>::max()) break;
          if (jobs_.wake_ns[row] != kNoTime) break;  // the first waiter counts
          set_first(&jobs_.wake_ns);
          wait_correlation_[row] = host.arg1[i];
          const auto wait = waits.find(host.tid[i]);
          if (wait != waits.end()) {
            const auto& [device, queue, sequence, since_ns] = wait->second;
            if (device == host.device[i] && queue == host.queue[i] &&
                sequence == host.sequence[i]) {
              jobs_.wait_ns[row] = since_ns;
            }
            waits.erase(wait);
          }
          break;
        }
        default:
          break;
      }
    }
  }

  // A run of the handler says how many completions it found ready in its queue,
  // not which: they are the next ones that the driver consumes there. What it
  // consumes beyond them (found by polling, or written meanwhile) had no run.
  void FindInterrupts() {
    struct Ready {
      int64_t irq_ns = kNoTime;
      uint64_t left = 0;
    };
    std::map<std::pair<uint32_t, uint32_t>, Ready> queues;
    const HostEvents& host = model_->host;
    for (size_t i = 0; i < host.size(); ++i) {
      if (host.device[i] == kNoRow) continue;
      if (host.kind[i] == HostBatch::KIND_IRQ) {
        queues[{host.device[i], host.queue[i]}] = {host.time_ns[i], host.arg1[i]};
      } else if (host.kind[i] == HostBatch::KIND_COMPLETE && host.job[i] != 0) {
        Ready& ready = queues[{host.device[i], host.queue[i]}];
        if (ready.left == 0) continue;
        --ready.left;
        int64_t& irq_ns = jobs_.irq_ns[rows_.at(JobKey(host.device[i], host.job[i]))];
        if (irq_ns == kNoTime) irq_ns = ready.irq_ns;
      }
    }
  }

  void LinkApi() {
    std::unordered_map<uint64_t, uint32_t> by_correlation;
    const ApiCalls& api = model_->api;
    by_correlation.reserve(api.size());
    for (size_t i = 0; i < api.size(); ++i) {
      if (api.correlation[i] != 0) {
        by_correlation.emplace(api.correlation[i], static_cast<uint32_t>(i));
      }
    }
    for (size_t row = 0; row < jobs_.size(); ++row) {
      const auto call = by_correlation.find(jobs_.correlation[row]);
      if (call != by_correlation.end()) {
        jobs_.api_row[row] = call->second;
        if (!jobs_.on_host[row]) {
          jobs_.pid[row] = api.pid[call->second];
          jobs_.tid[row] = api.tid[call->second];
        }
      }
      const auto wait = wait_correlation_.find(static_cast<uint32_t>(row));
      if (wait == wait_correlation_.end()) continue;
      const auto waiter = by_correlation.find(wait->second);
      if (waiter != by_correlation.end()) jobs_.wait_api_row[row] = waiter->second;
    }
  }

  void LinkCommands(const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names) {
    Commands& commands = model_->commands;
    commands.job_row.assign(commands.size(), kNoRow);
    commands.op.assign(commands.size(), 0);
    for (size_t i = 0; i < commands.size(); ++i) {
      const uint32_t row = rows_.at(JobKey(commands.device[i], commands.job[i]));
      commands.job_row[i] = row;
      if (jobs_.num_commands[row]++ == 0) jobs_.first_command[row] = static_cast<uint32_t>(i);
      if (!jobs_.on_device[row] && jobs_.correlation[row] == 0) {
        jobs_.correlation[row] = commands.correlation[i];
      }
      const auto op = op_names.find({jobs_.pid[row], commands.tag[i]});
      if (op != op_names.end()) commands.op[i] = op->second;
    }
  }

  const DeviceJobs& device_jobs_;
  Model* model_;
  Jobs& jobs_;
  std::unordered_map<uint64_t, uint32_t> rows_;  // by JobKey
  std::unordered_map<uint32_t, uint64_t> wait_correlation_;
};

}  // namespace

void JoinJobs(const DeviceJobs& device_jobs,
              const std::map<std::pair<uint32_t, uint32_t>, uint32_t>& op_names, Model* model) {
  Joiner(device_jobs, model).Run(op_names);
}

}  // namespace acceltrace::model
