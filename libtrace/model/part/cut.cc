// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/part/cut.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "libtrace/model/tables/permute.h"
#include "libtrace/model/tables/wanted.h"

namespace acceltrace::model {
namespace {

using Mask = Kept::Mask;

std::vector<uint32_t> RowsOf(const Mask& mask) {
  std::vector<uint32_t> rows;
  for (size_t row = 0; row < mask.size(); ++row) {
    if (mask[row]) rows.push_back(static_cast<uint32_t>(row));
  }
  return rows;
}

// Returns the new number of each row, or kNoRow if it was removed.
std::vector<uint32_t> Moved(const Mask& mask) {
  std::vector<uint32_t> moved(mask.size(), kNoRow);
  uint32_t next = 0;
  for (size_t row = 0; row < mask.size(); ++row) {
    if (mask[row]) moved[row] = next++;
  }
  return moved;
}

void Follow(const std::vector<uint32_t>& moved, Column<uint32_t>* rows) {
  for (size_t i = 0; i < rows->size(); ++i) {
    const uint32_t row = rows->At(i);
    rows->Set(i, row < moved.size() ? moved[row] : kNoRow);
  }
}

void CutJobs(const std::vector<uint32_t>& rows, Jobs* jobs) {
  PermuteAll(rows, &jobs->device, &jobs->context, &jobs->queue, &jobs->job, &jobs->sequence,
             &jobs->correlation, &jobs->host_correlation, &jobs->on_host, &jobs->on_device,
             &jobs->pid, &jobs->tid, &jobs->commands_submitted, &jobs->commands_retired,
             &jobs->copy_bytes, &jobs->status, &jobs->submit_ns, &jobs->doorbell_ns,
             &jobs->submit_end_ns, &jobs->irq_ns, &jobs->complete_ns, &jobs->wait_ns,
             &jobs->wake_ns, &jobs->doorbell, &jobs->fetched, &jobs->first_start, &jobs->last_end,
             &jobs->completion, &jobs->irq, &jobs->has_irq, &jobs->api_row, &jobs->wait_api_row,
             &jobs->first_command, &jobs->num_commands);
}

void CutCommands(const std::vector<uint32_t>& rows, Commands* commands) {
  PermuteAll(rows, &commands->device, &commands->unit, &commands->context, &commands->queue,
             &commands->job, &commands->index, &commands->opcode, &commands->status,
             &commands->limiter, &commands->tag, &commands->correlation, &commands->record,
             &commands->work, &commands->bytes, &commands->memory_bytes, &commands->row_hits,
             &commands->row_misses, &commands->fetched, &commands->head, &commands->start,
             &commands->end, &commands->first_stall, &commands->job_row, &commands->op);
}

void CutHost(const std::vector<uint32_t>& rows, HostEvents* host) {
  PermuteAll(rows, &host->kind, &host->time_ns, &host->cpu, &host->pid, &host->tid, &host->device,
             &host->context, &host->queue, &host->job, &host->sequence, &host->correlation,
             &host->arg0, &host->arg1);
}

// An order is kept if both of its jobs are. Must be called before jobs are removed.
void CutOrders(const Mask& kept_jobs, const Jobs& jobs, DeviceOrders* orders) {
  std::set<std::pair<uint32_t, uint32_t>> kept;
  for (size_t j = 0; orders->size() > 0 && j < jobs.size(); ++j) {
    if (kept_jobs[j]) kept.emplace(jobs.device[j], jobs.job[j]);
  }
  Mask mask(orders->size(), 0);
  for (size_t i = 0; i < orders->size(); ++i) {
    mask[i] = kept.count({orders->from_device[i], orders->from_job[i]}) != 0 &&
              kept.count({orders->to_device[i], orders->to_job[i]}) != 0;
  }
  PermuteAll(RowsOf(mask), &orders->from_device, &orders->from_job, &orders->to_device,
             &orders->to_job, &orders->slack);
}

void CutDevices(const Kept& kept, Model* model) {
  for (size_t d = 0; d < model->devices.size(); ++d) {
    CounterSamples& samples = model->devices[d].counters;
    PermuteAll(RowsOf(kept.counters[d]), &samples.time, &samples.host_before_ns,
               &samples.host_after_ns, &samples.set, &samples.first_value);
  }
  const std::vector<uint32_t> moved = Moved(kept.devices);
  for (auto* column : {&model->host.device, &model->jobs.device, &model->commands.device,
                       &model->device_events.device, &model->others.device,
                       &model->orders.from_device, &model->orders.to_device}) {
    Follow(moved, column);
  }
  std::vector<Loss> losses;
  for (Loss& loss : model->losses) {
    if (loss.from_device) {
      if (loss.device >= moved.size() || moved[loss.device] == kNoRow) continue;
      loss.device = moved[loss.device];
    }
    losses.push_back(loss);
  }
  model->losses = std::move(losses);
  std::vector<Device> devices;
  for (size_t d = 0; d < model->devices.size(); ++d) {
    if (kept.devices[d]) devices.push_back(std::move(model->devices[d]));
  }
  model->devices = std::move(devices);
}

// Interrupts and counters are the machine's and are kept.
void CutSystem(const Kept& kept, SystemTables* system) {
  ThreadRuns& runs = system->runs;
  PermuteAll(RowsOf(kept.runs), &runs.begin_ns, &runs.end_ns, &runs.pid, &runs.tid, &runs.cpu,
             &runs.away, &runs.left, &runs.away_ns, &runs.ready_ns, &runs.waker_pid,
             &runs.waker_tid, &runs.wait, &runs.waker_irq, &runs.began_before, &runs.charged_ns,
             &runs.minor_faults, &runs.major_faults, &runs.migrations, &runs.voluntary,
             &runs.involuntary);
  PermuteAll(RowsOf(kept.groups), &system->groups);
  // References to removed devices become kNoRow.
  const std::vector<uint32_t> moved = Moved(kept.devices);
  const auto follow = [&](uint32_t device) { return device == kNoRow ? kNoRow : moved[device]; };
  for (SystemCounter& counter : system->counters) counter.device = follow(counter.device);
  Column<uint32_t>& devices = system->interrupts.device;
  for (size_t i = 0; i < devices.size(); ++i) devices.Set(i, follow(devices[i]));
}

}  // namespace

uint64_t CountRows(const Model& model) {
  uint64_t rows = model.api.size() + model.ranges.size() + model.host.size() + model.jobs.size() +
                  model.commands.size() + model.device_events.size() + model.others.size() +
                  model.system.runs.size();
  for (const Device& device : model.devices) rows += device.counters.size();
  return rows;
}

void Forget(const Wanted& wanted, Model* model) {
  Commands& commands = model->commands;
  const auto forget = [&](uint32_t field, auto* column) {
    if (!wanted.Command(field)) *column = {};
  };
  using Batch = proto::CommandBatch;
  commands.record = {};
  forget(Batch::kUnitFieldNumber, &commands.unit);
  forget(Batch::kIndexFieldNumber, &commands.index);
  forget(Batch::kTagFieldNumber, &commands.tag);
  forget(Batch::kTagFieldNumber, &commands.op);
  forget(Batch::kCorrelationDeltaFieldNumber, &commands.correlation);
  forget(Batch::kStallTicksFieldNumber, &commands.first_stall);
  Jobs& jobs = model->jobs;
  if (!wanted.jobs || !wanted.device_times) {
    for (DeviceTimes* times : {&jobs.doorbell, &jobs.fetched, &jobs.first_start, &jobs.last_end,
                               &jobs.completion, &jobs.irq}) {
      *times = {};
    }
  }
  if (wanted.jobs) return;
  // The remaining columns tell which jobs exist, and if they were seen completely.
  for (auto* column : {&jobs.context, &jobs.queue, &jobs.pid, &jobs.tid, &jobs.commands_submitted,
                       &jobs.commands_retired, &jobs.status, &jobs.api_row, &jobs.wait_api_row,
                       &jobs.first_command, &jobs.num_commands}) {
    *column = {};
  }
  for (auto* column :
       {&jobs.sequence, &jobs.correlation, &jobs.host_correlation, &jobs.copy_bytes}) {
    *column = {};
  }
  for (auto* column :
       {&jobs.doorbell_ns, &jobs.submit_end_ns, &jobs.irq_ns, &jobs.wait_ns, &jobs.wake_ns}) {
    *column = {};
  }
}

void Remove(const Kept& kept, Model* model) {
  CutOrders(kept.jobs, model->jobs, &model->orders);
  ApiCalls& api = model->api;
  PermuteAll(RowsOf(kept.api), &api.begin_ns, &api.end_ns, &api.pid, &api.tid, &api.name,
             &api.stream, &api.correlation, &api.bytes, &api.result, &api.open, &api.began_before);
  if (!model->stacks.of_call.empty()) PermuteAll(RowsOf(kept.api), &model->stacks.of_call);
  Ranges& ranges = model->ranges;
  PermuteAll(RowsOf(kept.ranges), &ranges.begin_ns, &ranges.end_ns, &ranges.pid, &ranges.tid,
             &ranges.name, &ranges.depth, &ranges.mark, &ranges.open, &ranges.began_before);
  CutHost(RowsOf(kept.host), &model->host);
  const std::vector<uint32_t> moved_api = Moved(kept.api), moved_jobs = Moved(kept.jobs);
  Jobs& jobs = model->jobs;
  CutJobs(RowsOf(kept.jobs), &jobs);
  Follow(moved_api, &jobs.api_row);
  Follow(moved_api, &jobs.wait_api_row);
  CutCommands(RowsOf(kept.commands), &model->commands);
  Follow(moved_jobs, &model->commands.job_row);
  const std::vector<uint32_t> moved_commands = Moved(kept.commands);
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.num_commands[j] > 0) jobs.first_command[j] = moved_commands[jobs.first_command[j]];
  }
  DeviceEvents& events = model->device_events;
  PermuteAll(RowsOf(kept.device_events), &events.device, &events.kind, &events.time, &events.arg0,
             &events.arg1, &events.arg2);
  OthersUse& others = model->others;
  PermuteAll(RowsOf(kept.others), &others.device, &others.unit, &others.commands, &others.failed,
             &others.first_head, &others.last_end, &others.held_ticks, &others.bytes,
             &others.stall_ticks);
  ProcessEvents& process_events = model->process_events;
  PermuteAll(RowsOf(kept.process_events), &process_events.kind, &process_events.time_ns,
             &process_events.pid, &process_events.tid, &process_events.parent);
  CutSystem(kept, &model->system);
  CutDevices(kept, model);
}

}  // namespace acceltrace::model
