// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/decode.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libtrace/model/decode_columns.h"

namespace acceltrace::model {

using stream::DecodeColumn;
using stream::DecodeDeltas;

uint32_t Decoder::DeviceRow(uint32_t number) const {
  auto found = device_rows_.find(number);
  return found == device_rows_.end() ? kNoRow : found->second;
}

void Decoder::AddDevice(const proto::Device& device) {
  // Each unit is shown with each cause, by every view.
  constexpr uint64_t kMaxCells = 32'768;
  const auto units = static_cast<uint64_t>(device.units_size());
  const auto causes = static_cast<uint64_t>(device.stalls_size() + device.limiters_size());
  if (cells_ + units * (causes + 1) > kMaxCells) {
    ++model_->load.bad_rows;
    return;
  }
  const auto [where, fresh] =
      device_rows_.emplace(device.device(), static_cast<uint32_t>(model_->devices.size()));
  if (!fresh) {
    // Described again (a link that changed, a live reader that came late): the first
    // description rules, since columns were sized by it.
    return;
  }
  cells_ += units * (causes + 1);
  Device& added = model_->devices.emplace_back();
  added.about = device;
  added.counters.num_counters = static_cast<size_t>(device.counters_size());
  for (int i = 0; i < device.counters_size(); ++i) {
    added.counter_rows.emplace(device.counters(i).name(), static_cast<size_t>(i));
  }
  for (int i = 0; i < device.opcodes_size(); ++i) {
    added.opcode_rows.emplace(device.opcodes(i).code(), i);
  }
  clocks.emplace_back(clock::ClockInfo::From(device.clock()));
  latched.emplace_back();
  near.counters.emplace_back();
  batch_samples_ns.emplace_back();
  records_.emplace_back();
  last_sample_ns_.push_back(clock::Map::kNoHint);
}

// A fit takes a hundred times what a sample does in the file. Recordings have no more than this
// for hours, and more in a larger file: fewer samples are wider bounds, not wrong ones.
void Decoder::ThinClocks(uint64_t bytes) {
  constexpr uint64_t kFreeSamples = 65'536, kLeastSampleBytes = 72;
  const uint64_t most = kFreeSamples + bytes / kLeastSampleBytes;
  const auto fewer = [](const auto& a, const auto& b) { return a.samples() < b.samples(); };
  while (true) {
    uint64_t samples = 0;
    for (const clock::MapBuilder& builder : clocks) samples += builder.samples();
    if (samples <= most) break;
    std::max_element(clocks.begin(), clocks.end(), fewer)->Thin();
  }
  // Snapshots bound the clock from both sides: two of them each.
  const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  while (true) {
    uint64_t bounds = 0;
    for (const auto& constraints : latched) bounds += constraints.size();
    if (bounds <= 2 * most) break;
    auto& longest = *std::max_element(latched.begin(), latched.end(), shorter);
    size_t kept = 0;
    for (size_t i = 0; i < longest.size(); ++i) {
      if (i % 4 < 2) longest[kept++] = longest[i];
    }
    longest.resize(kept);
  }
}

void Decoder::Add(const proto::Packet& packet, uint64_t bytes) {
  const size_t rows = stream::Rows(packet);
  rows_ += rows;
  switch (packet.body_case()) {
    case proto::Packet::kInfo:
      if (!model_->has_info) model_->info = packet.info();
      model_->has_info = true;
      break;
    case proto::Packet::kDevice:
      return AddDevice(packet.device());
    case proto::Packet::kStrings:
      return AddStrings(packet.strings());
    case proto::Packet::kProcesses:
      return AddProcesses(packet.processes(), rows);
    case proto::Packet::kOpNames:
      return AddOpNames(packet.op_names(), rows);
    case proto::Packet::kApi:
      return AddApi(packet.api(), rows);
    case proto::Packet::kRanges:
      return AddRanges(packet.ranges(), rows);
    case proto::Packet::kHost:
      return AddHost(packet.host(), rows);
    case proto::Packet::kCommands:
      return AddCommands(packet.commands(), rows);
    case proto::Packet::kJobs:
      return AddJobs(packet.jobs(), rows);
    case proto::Packet::kCounters:
      AddCounters(packet.counters(), rows);
      ThinClocks(bytes);
      break;
    case proto::Packet::kClocks:
      AddClocks(packet.clocks(), rows);
      ThinClocks(bytes);
      break;
    case proto::Packet::kDeviceEvents:
      return AddDeviceEvents(packet.device_events(), rows);
    case proto::Packet::kProcessEvents:
      return AddProcessEvents(packet.process_events(), rows);
    case proto::Packet::kOthers:
      return AddOthers(packet.others(), rows);
    case proto::Packet::kThreadRuns:
      return AddThreadRuns(packet.thread_runs(), rows);
    case proto::Packet::kInterrupts:
      return AddInterrupts(packet.interrupts(), rows);
    case proto::Packet::kSystemCounters:
      return AddSystemCounters(packet.system_counters(), rows);
    case proto::Packet::kSystemSamples:
      return AddSystemSamples(packet.system_samples(), rows);
    case proto::Packet::kProcessGroups:
      return AddProcessGroups(packet.process_groups(), rows);
    case proto::Packet::kStackFrames:
      return AddStackFrames(packet.stack_frames(), rows);
    case proto::Packet::kCallStacks:
      return AddCallStacks(packet.call_stacks(), rows);
    case proto::Packet::kLosses:
      return AddLosses(packet.losses());
    case proto::Packet::kAccounts:
      model_->accounts = packet.accounts();
      model_->has_accounts = true;
      break;
    default:
      return;  // footer, and what a newer schema adds
  }
}

void Decoder::AddStrings(const proto::Strings& strings) {
  for (int i = 0; i < strings.id_size() && i < strings.value_size(); ++i) {
    model_->strings.Set(strings.id(i), strings.value(i));
  }
}

void Decoder::AddProcesses(const proto::Processes& batch, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    model_->processes.push_back({stream::ColumnAt(batch.pid(), i), stream::ColumnAt(batch.tid(), i),
                                 stream::ColumnAt(batch.name(), i)});
  }
}

void Decoder::AddOpNames(const proto::OpNames& batch, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    op_names[{stream::ColumnAt(batch.pid(), i), stream::ColumnAt(batch.tag(), i)}] =
        stream::ColumnAt(batch.name(), i);
  }
}

void Decoder::AddLosses(const proto::LossBatch& batch) {
  losses.push_back(batch);
  near.losses.emplace_back();
  for (uint32_t row = 0; row < last_sample_ns_.size(); ++row) {
    near.losses.back().push_back(last_sample_ns_[row]);
  }
}

void Decoder::AddApi(const proto::ApiBatch& batch, size_t rows) {
  ApiCalls& api = model_->api;
  AppendDeltas(&api.begin_ns, batch.begin_ns_delta(), rows);
  AppendEnds(&api.end_ns, api.begin_ns, batch.duration_ns(), rows);
  Append(&api.pid, batch.pid(), rows);
  Append(&api.tid, batch.tid(), rows);
  Append(&api.name, batch.name(), rows);
  AppendDeltas(&api.correlation, batch.correlation_delta(), rows);
  Append(&api.bytes, batch.bytes(), rows);
  Append(&api.stream, batch.stream(), rows);
  Append(&api.result, batch.result(), rows);
  Append(&api.open, batch.open(), rows);
  Append(&api.began_before, batch.began_before(), rows);
}

void Decoder::AddRanges(const proto::RangeBatch& batch, size_t rows) {
  Ranges& ranges = model_->ranges;
  AppendDeltas(&ranges.begin_ns, batch.begin_ns_delta(), rows);
  AppendEnds(&ranges.end_ns, ranges.begin_ns, batch.duration_ns(), rows);
  Append(&ranges.pid, batch.pid(), rows);
  Append(&ranges.tid, batch.tid(), rows);
  Append(&ranges.name, batch.name(), rows);
  Append(&ranges.depth, batch.depth(), rows);
  Append(&ranges.mark, batch.mark(), rows);
  Append(&ranges.open, batch.open(), rows);
  Append(&ranges.began_before, batch.began_before(), rows);
}

void Decoder::AddHost(const proto::HostBatch& batch, size_t rows) {
  HostEvents& host = model_->host;
  Append(&host.kind, batch.kind(), rows);
  AppendDeltas(&host.time_ns, batch.time_ns_delta(), rows);
  Append(&host.cpu, batch.cpu(), rows);
  Append(&host.pid, batch.pid(), rows);
  Append(&host.tid, batch.tid(), rows);
  for (size_t i = 0; i < rows; ++i) {
    // A host event of a device that was never described stays: it is evidence.
    const uint32_t row = DeviceRow(stream::ColumnAt(batch.device(), i));
    if (row == kNoRow) ++model_->load.unknown_device_rows;
    host.device.push_back(row);
  }
  Append(&host.context, batch.context(), rows);
  Append(&host.queue, batch.queue(), rows);
  Append(&host.job, batch.job(), rows);
  Append(&host.sequence, batch.sequence(), rows);
  AppendDeltas(&host.correlation, batch.correlation_delta(), rows);
  Append(&host.arg0, batch.arg0(), rows);
  Append(&host.arg1, batch.arg1(), rows);
  Append(&in_flight, batch.in_flight(), rows);
}

void Decoder::AddCommands(const proto::CommandBatch& batch, size_t rows) {
  const uint32_t row = DeviceRow(batch.device());
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows;
    return;
  }
  NoteRecords(row, proto::Packet::kCommands, batch.record_delta(), rows);
  Commands& commands = model_->commands;
  const proto::Device& about = model_->devices[row].about;
  const size_t stalls = static_cast<size_t>(about.stalls_size());
  const auto fetched = DecodeDeltas<uint64_t>(batch.fetched_ticks_delta(), rows);
  const auto record = DecodeDeltas<uint64_t>(batch.record_delta(), rows);
  const auto correlation = DecodeDeltas<uint64_t>(batch.correlation_delta(), rows);
  for (size_t i = 0; i < rows; ++i) {
    const uint32_t unit = stream::ColumnAt(batch.unit(), i);
    const uint32_t job = stream::ColumnAt(batch.job(), i);
    if (unit >= static_cast<uint32_t>(about.units_size()) || job == 0) {
      ++model_->load.bad_rows;
      continue;
    }
    const uint64_t head = fetched[i] + stream::ColumnAt(batch.head_ticks_after(), i);
    const uint64_t start = head + stream::ColumnAt(batch.start_ticks_after(), i);
    near.commands.push_back(last_sample_ns_[row]);
    commands.device.push_back(row);
    commands.unit.push_back(unit);
    commands.context.push_back(stream::ColumnAt(batch.context(), i));
    commands.queue.push_back(stream::ColumnAt(batch.queue(), i));
    commands.job.push_back(job);
    commands.index.push_back(stream::ColumnAt(batch.index(), i));
    commands.opcode.push_back(stream::ColumnAt(batch.opcode(), i));
    commands.status.push_back(stream::ColumnAt(batch.status(), i));
    commands.limiter.push_back(stream::ColumnAt(batch.limiter(), i));
    commands.tag.push_back(stream::ColumnAt(batch.tag(), i));
    commands.correlation.push_back(correlation[i]);
    commands.record.push_back(record[i]);
    commands.work.push_back(stream::ColumnAt(batch.work(), i));
    commands.bytes.push_back(stream::ColumnAt(batch.bytes(), i));
    commands.memory_bytes.push_back(stream::ColumnAt(batch.memory_bytes(), i));
    commands.row_hits.push_back(stream::ColumnAt(batch.row_hits(), i));
    commands.row_misses.push_back(stream::ColumnAt(batch.row_misses(), i));
    commands.fetched.AddRaw(fetched[i]);
    commands.head.AddRaw(head);
    commands.start.AddRaw(start);
    commands.end.AddRaw(start + stream::ColumnAt(batch.end_ticks_after(), i));
    const bool stalled = batch.stall_ticks_size() > 0;
    commands.first_stall.push_back(stalled ? static_cast<uint32_t>(model_->stall_ticks.size())
                                           : kNoRow);
    for (size_t s = 0; stalled && s < stalls; ++s) {
      model_->stall_ticks.push_back(stream::ColumnAt(batch.stall_ticks(), i * stalls + s));
    }
  }
}

void Decoder::AddJobs(const proto::JobBatch& batch, size_t rows) {
  const uint32_t row = DeviceRow(batch.device());
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows;
    return;
  }
  NoteRecords(row, proto::Packet::kJobs, batch.record_delta(), rows);
  DeviceJobs& jobs = device_jobs;
  stream::DeltaDecoder doorbells(batch.doorbell_ticks_delta());
  stream::DeltaDecoder correlations(batch.correlation_delta());
  const auto record = DecodeDeltas<uint64_t>(batch.record_delta(), rows);
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t doorbell = doorbells.NextUnsigned();
    const uint64_t correlation = correlations.NextUnsigned();
    const auto after = [&](const google::protobuf::RepeatedField<int64_t>& column) {
      return doorbell + static_cast<uint64_t>(stream::ColumnAt(column, i));
    };
    if (stream::ColumnAt(batch.job(), i) == 0) {
      ++model_->load.bad_rows;
      continue;
    }
    jobs.record.push_back(record[i]);
    jobs.near_ns.push_back(last_sample_ns_[row]);
    jobs.device.push_back(row);
    jobs.context.push_back(stream::ColumnAt(batch.context(), i));
    jobs.queue.push_back(stream::ColumnAt(batch.queue(), i));
    jobs.job.push_back(stream::ColumnAt(batch.job(), i));
    jobs.commands.push_back(stream::ColumnAt(batch.commands(), i));
    jobs.status.push_back(stream::ColumnAt(batch.status(), i));
    jobs.correlation.push_back(correlation);
    jobs.doorbell.AddRaw(doorbell);
    jobs.fetched.AddRaw(after(batch.fetched_ticks_after()));
    jobs.first_start.AddRaw(after(batch.first_start_ticks_after()));
    jobs.last_end.AddRaw(after(batch.last_end_ticks_after()));
    jobs.completion.AddRaw(after(batch.completion_ticks_after()));
    jobs.irq.AddRaw(after(batch.irq_ticks_after()));
    jobs.has_irq.push_back(stream::ColumnAt(batch.has_irq(), i) != 0);
  }
}

void Decoder::CountRepeatedRecords() {
  for (std::vector<uint32_t>& records : records_) {
    std::sort(records.begin(), records.end());
    const auto last = std::unique(records.begin(), records.end());
    model_->load.duplicate_records += static_cast<uint64_t>(records.end() - last);
    records = std::vector<uint32_t>();
  }
}

}  // namespace acceltrace::model
