// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/part/cut.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "libtrace/model/tables/command_rows.h"
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
  PermuteRows(RowsOf(mask), orders);
}

void CutDevices(const Kept& kept, Model* model) {
  for (size_t d = 0; d < model->devices.size(); ++d) {
    PermuteRows(RowsOf(kept.counters[d]), &model->devices[d].counters);
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
  PermuteRows(RowsOf(kept.runs), &system->runs);
  PermuteValues(RowsOf(kept.groups), &system->groups);
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
  EachCommandColumn([&](const auto& column) {
    // Jobs are found by their numbers.
    if (column.field != Batch::kJobFieldNumber) forget(column.field, &(commands.*column.values));
  });
  forget(Batch::kTagFieldNumber, &commands.op);
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
  PermuteRows(RowsOf(kept.api), &model->api);
  if (!model->stacks.of_call.empty()) model->stacks.of_call.Permute(RowsOf(kept.api));
  PermuteRows(RowsOf(kept.ranges), &model->ranges);
  PermuteRows(RowsOf(kept.host), &model->host);
  const std::vector<uint32_t> moved_api = Moved(kept.api), moved_jobs = Moved(kept.jobs);
  Jobs& jobs = model->jobs;
  PermuteRows(RowsOf(kept.jobs), &jobs);
  Follow(moved_api, &jobs.api_row);
  Follow(moved_api, &jobs.wait_api_row);
  PermuteRows(RowsOf(kept.commands), &model->commands);
  Follow(moved_jobs, &model->commands.job_row);
  const std::vector<uint32_t> moved_commands = Moved(kept.commands);
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (jobs.num_commands[j] > 0) jobs.first_command[j] = moved_commands[jobs.first_command[j]];
  }
  PermuteRows(RowsOf(kept.device_events), &model->device_events);
  PermuteRows(RowsOf(kept.others), &model->others);
  PermuteRows(RowsOf(kept.process_events), &model->process_events);
  CutSystem(kept, &model->system);
  CutDevices(kept, model);
}

}  // namespace acceltrace::model
