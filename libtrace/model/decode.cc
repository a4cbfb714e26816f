// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/decode.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "libtrace/model/decode_columns.h"
#include "libtrace/model/host_intake.h"
#include "libtrace/model/wanted.h"

namespace acceltrace::model {

using proto::Block;
using proto::CommandBatch;
using stream::DecodeColumn;

namespace {

template <typename Add>
void InParts(stream::TableRows rows, const Add& add) {
  while (rows.rows() > 0) add(rows.Take(kRowsAtOnce));
}

}  // namespace

uint32_t Decoder::DeviceRow(uint32_t number) const {
  auto found = device_rows_.find(number);
  return found == device_rows_.end() ? kNoRow : found->second;
}

bool Decoder::HasDeviceLosses() const {
  return std::any_of(losses.begin(), losses.end(), [](const proto::LossBatch& batch) {
    return std::any_of(batch.in_ticks().begin(), batch.in_ticks().end(),
                       [](uint32_t in_ticks) { return in_ticks != 0; });
  });
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

void Decoder::Add(const proto::Packet& packet, uint64_t bytes, const stream::TableRows* columns) {
  using stream::TableRows;
  const size_t rows = columns != nullptr ? columns->rows() : stream::Rows(packet);
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
      if (wanted != nullptr && !wanted->api) return;
      return InParts(columns != nullptr ? *columns : TableRows(packet.api()),
                     [&](const TableRows& part) { AddApi(part); });
    case proto::Packet::kRanges:
      if (wanted != nullptr && !wanted->ranges) return;
      return AddRanges(packet.ranges(), rows);
    case proto::Packet::kHost:
      return InParts(columns != nullptr ? *columns : TableRows(packet.host()),
                     [&](const TableRows& part) { AddHost(part); });
    case proto::Packet::kCommands:
      return InParts(columns != nullptr ? *columns : TableRows(packet.commands()),
                     [&](const TableRows& part) { AddCommands(packet.commands().device(), part); });
    case proto::Packet::kJobs:
      return InParts(columns != nullptr ? *columns : TableRows(packet.jobs()),
                     [&](const TableRows& part) { AddJobs(packet.jobs().device(), part); });
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

void Decoder::AddApi(const stream::TableRows& rows) {
  RowIntake intake(rows);
  ApiCalls& api = model_->api;
  const auto begins = intake.All<int64_t>(Block::COLUMN_BEGIN_NS);
  auto ends = intake.All<int64_t>(Block::COLUMN_DURATION_NS);
  for (size_t i = 0; i < ends.size(); ++i) {
    ends[i] = EndOf(begins[i], static_cast<uint64_t>(ends[i]));
  }
  intake.Put(begins, &api.begin_ns);
  intake.Put(ends, &api.end_ns);
  intake.Put(Block::COLUMN_PID, &api.pid);
  intake.Put(Block::COLUMN_TID, &api.tid);
  intake.Put(Block::COLUMN_NAME, &api.name);
  intake.Put(Block::COLUMN_CORRELATION, &api.correlation);
  if (!checks_only) {
    intake.Put(Block::COLUMN_BYTES, &api.bytes);
    intake.Put(Block::COLUMN_STREAM, &api.stream);
  }
  intake.Put(Block::COLUMN_RESULT, &api.result);
  intake.Put(Block::COLUMN_OPEN, &api.open);
  intake.Put(Block::COLUMN_BEGAN_BEFORE, &api.began_before);
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

void Decoder::AddHost(const stream::TableRows& rows) {
  if (host_intake != nullptr) {
    return host_intake->Add(rows, [this](uint32_t number) { return DeviceRow(number); });
  }
  using Batch = proto::HostBatch;
  RowIntake intake(rows);
  HostEvents& host = model_->host;
  intake.Put(Batch::kKindFieldNumber, &host.kind);
  intake.Put(Batch::kTimeNsDeltaFieldNumber, &host.time_ns);
  intake.Put(Batch::kCpuFieldNumber, &host.cpu);
  intake.Put(Batch::kPidFieldNumber, &host.pid);
  intake.Put(Batch::kTidFieldNumber, &host.tid);
  // A host event of a device that was never described stays: it is evidence.
  uint32_t number = 0, row = DeviceRow(number);
  if (rows.has(Batch::kDeviceFieldNumber)) {
    auto devices = intake.All<uint32_t>(Batch::kDeviceFieldNumber);
    for (uint32_t& device : devices) {
      if (device != number) row = DeviceRow(number = device);
      if (row == kNoRow) ++model_->load.unknown_device_rows;
      device = row;
    }
    intake.Put(devices, &host.device);
  } else {
    if (row == kNoRow) model_->load.unknown_device_rows += rows.rows();
    host.device.Append(rows.rows(), row);
  }
  intake.Put(Batch::kContextFieldNumber, &host.context);
  intake.Put(Batch::kQueueFieldNumber, &host.queue);
  intake.Put(Batch::kJobFieldNumber, &host.job);
  intake.Put(Batch::kSequenceFieldNumber, &host.sequence);
  intake.Put(Batch::kCorrelationDeltaFieldNumber, &host.correlation);
  intake.Put(Batch::kArg0FieldNumber, &host.arg0);
  intake.Put(Batch::kArg1FieldNumber, &host.arg1);
  intake.Put(Batch::kInFlightFieldNumber, &in_flight);
}

void Decoder::AddCommands(uint32_t device, const stream::TableRows& rows) {
  const uint32_t row = DeviceRow(device);
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows.rows();
    return;
  }
  Commands& commands = model_->commands;
  const proto::Device& about = model_->devices[row].about;
  RowIntake intake(rows);
  std::optional<RowValues<uint64_t>> room;
  const uint64_t* const records = intake.AllWide(Block::COLUMN_RECORD, &room);
  if (rows.has(Block::COLUMN_RECORD)) {
    NoteRecords(row, proto::Packet::kCommands, {records, rows.rows()});
  }
  const auto units = intake.All<uint32_t>(Block::COLUMN_UNIT);
  const auto jobs = intake.All<uint32_t>(Block::COLUMN_JOB);
  const auto most = static_cast<uint32_t>(about.units_size());
  intake.DropIf([&](size_t i) { return units[i] >= most || jobs[i] == 0; });
  model_->load.bad_rows += rows.rows() - intake.rows();
  near.commands.Append(intake.rows(), last_sample_ns_[row]);
  commands.device.Append(intake.rows(), row);
  intake.Put(units, &commands.unit);
  intake.Put(jobs, &commands.job);
  intake.Put(records, &commands.record);
  const auto put = [&](uint32_t field, int column, auto* to) {
    if (wanted == nullptr || wanted->Command(field)) intake.Put(column, to);
  };
  put(CommandBatch::kContextFieldNumber, Block::COLUMN_CONTEXT, &commands.context);
  put(CommandBatch::kQueueFieldNumber, Block::COLUMN_QUEUE, &commands.queue);
  intake.Put(Block::COLUMN_INDEX, &commands.index);
  put(CommandBatch::kStatusFieldNumber, Block::COLUMN_STATUS, &commands.status);
  intake.Put(Block::COLUMN_CORRELATION, &commands.correlation);
  put(CommandBatch::kBytesFieldNumber, Block::COLUMN_BYTES, &commands.bytes);
  if (!checks_only) {
    put(CommandBatch::kOpcodeFieldNumber, Block::COLUMN_OPCODE, &commands.opcode);
    put(CommandBatch::kLimiterFieldNumber, Block::COLUMN_LIMITER, &commands.limiter);
    intake.Put(Block::COLUMN_TAG, &commands.tag);
    put(CommandBatch::kWorkFieldNumber, Block::COLUMN_WORK, &commands.work);
    put(CommandBatch::kMemoryBytesFieldNumber, Block::COLUMN_MEMORY_BYTES, &commands.memory_bytes);
    put(CommandBatch::kRowHitsFieldNumber, Block::COLUMN_ROW_HITS, &commands.row_hits);
    put(CommandBatch::kRowMissesFieldNumber, Block::COLUMN_ROW_MISSES, &commands.row_misses);
  }
  auto ticks = intake.All<uint64_t>(Block::COLUMN_FETCHED_TICKS);
  intake.Put(ticks, &commands.fetched.ticks);
  const bool later_wanted = wanted == nullptr ||
                            wanted->Command(CommandBatch::kHeadTicksAfterFieldNumber) ||
                            wanted->Command(CommandBatch::kStallTicksFieldNumber);
  if ((narrow && !command_ticks) || !later_wanted) {
    return commands.first_stall.Append(intake.rows(), kNoRow);
  }
  const auto later = [&](int column, DeviceTimes* times) {
    stream::AddValues(intake.AllWide(column, &room), ticks.size(), ticks.data());
    intake.Put(ticks, &times->ticks);
  };
  later(Block::COLUMN_HEAD_TICKS_AFTER, &commands.head);
  later(Block::COLUMN_START_TICKS_AFTER, &commands.start);
  later(Block::COLUMN_END_TICKS_AFTER, &commands.end);
  if (wanted != nullptr && !wanted->Command(CommandBatch::kStallTicksFieldNumber)) {
    return commands.first_stall.Append(intake.rows(), kNoRow);
  }
  AddStalls(static_cast<size_t>(about.stalls_size()), rows, &intake);
}

// causes: as many as the device has.
void Decoder::AddStalls(size_t causes, const stream::TableRows& rows, RowIntake* intake) {
  Commands& commands = model_->commands;
  if (rows.stalls() == 0) return commands.first_stall.Append(intake->rows(), kNoRow);
  // Row by row, as batches have them: one that has another number of causes is read so all the
  // same.
  std::optional<RowValues<uint64_t>> room;
  const uint64_t* stalls = causes <= rows.stalls() ? rows.StallsByRow() : nullptr;
  if (stalls == nullptr) {
    room.emplace(rows.rows() * std::max(causes, rows.stalls()));
    std::fill(room->begin() + rows.rows() * rows.stalls(), room->end(), 0);
    rows.ReadStalls(room->data());
    stalls = room->data();
  }
  RowValues<uint32_t> first(intake->rows());
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<uint32_t>(model_->stall_ticks.size() + i * causes);
  }
  commands.first_stall.AppendValues(first.data(), first.size());
  intake->PutGroups(causes, stalls, &model_->stall_ticks);
}

void Decoder::AddJobs(uint32_t device, const stream::TableRows& rows) {
  const uint32_t row = DeviceRow(device);
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows.rows();
    return;
  }
  DeviceJobs& jobs = device_jobs;
  RowIntake intake(rows);
  std::optional<RowValues<uint64_t>> room;
  const uint64_t* const records = intake.AllWide(Block::COLUMN_RECORD, &room);
  if (rows.has(Block::COLUMN_RECORD)) {
    NoteRecords(row, proto::Packet::kJobs, {records, rows.rows()});
  }
  const auto numbers = intake.All<uint32_t>(Block::COLUMN_JOB);
  intake.DropIf([&](size_t i) { return numbers[i] == 0; });
  model_->load.bad_rows += rows.rows() - intake.rows();
  jobs.near_ns.Append(intake.rows(), last_sample_ns_[row]);
  jobs.device.Append(intake.rows(), row);
  intake.Put(records, &jobs.record);
  intake.Put(numbers, &jobs.job);
  intake.Put(Block::COLUMN_CONTEXT, &jobs.context);
  intake.Put(Block::COLUMN_QUEUE, &jobs.queue);
  intake.Put(Block::COLUMN_COMMANDS, &jobs.commands);
  intake.Put(Block::COLUMN_STATUS, &jobs.status);
  intake.Put(Block::COLUMN_CORRELATION, &jobs.correlation);
  const auto doorbells = intake.All<uint64_t>(Block::COLUMN_DOORBELL_TICKS);
  intake.Put(doorbells, &jobs.doorbell.ticks);
  const auto after = [&](int column, DeviceTimes* times) {
    auto later = intake.All<uint64_t>(column);
    stream::AddValues(doorbells.data(), later.size(), later.data());
    intake.Put(later, &times->ticks);
  };
  if (narrow || (wanted != nullptr && !wanted->device_times)) {
    return after(Block::COLUMN_COMPLETION_TICKS_AFTER, &jobs.completion);
  }
  after(Block::COLUMN_FETCHED_TICKS_AFTER, &jobs.fetched);
  after(Block::COLUMN_FIRST_START_TICKS_AFTER, &jobs.first_start);
  after(Block::COLUMN_LAST_END_TICKS_AFTER, &jobs.last_end);
  after(Block::COLUMN_COMPLETION_TICKS_AFTER, &jobs.completion);
  after(Block::COLUMN_IRQ_TICKS_AFTER, &jobs.irq);
  const auto sent = intake.All<uint32_t>(Block::COLUMN_HAS_IRQ);
  RowValues<uint8_t> has_irq(sent.size());
  for (size_t i = 0; i < sent.size(); ++i) has_irq[i] = sent[i] != 0;
  intake.Put(has_irq, &jobs.has_irq);
}

}  // namespace acceltrace::model
