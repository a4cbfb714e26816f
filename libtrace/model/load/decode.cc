// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/decode.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "libtrace/model/columns/decode_columns.h"
#include "libtrace/model/load/convert_many.h"
#include "libtrace/model/load/host_intake.h"
#include "libtrace/model/tables/wanted.h"

namespace acceltrace::model {

using proto::Block;
using proto::CommandBatch;

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
  // Every view shows each unit with each cause.
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
    // The device was described before (its link changed, or a live reader joined late). The first
    // description is kept, because columns were sized by it.
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

// Fitting a sample takes a hundred times its size in the file. Recordings of hours have fewer
// samples than this, and larger files may have more. Dropping samples makes bounds wider, but not
// wrong.
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
  // Snapshots bound the clock from both sides, so that each yields two constraints.
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
  // The reader always returns columns for the tables that it decodes.
  const TableRows none;
  const TableRows& table = columns != nullptr ? *columns : none;
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
      return InParts(table, [&](const TableRows& part) { AddApi(part); });
    case proto::Packet::kRanges:
      if (wanted != nullptr && !wanted->ranges) return;
      return AddRanges(packet.ranges(), rows);
    case proto::Packet::kHost:
      return InParts(table, [&](const TableRows& part) { AddHost(part); });
    case proto::Packet::kCommands:
      return InParts(table,
                     [&](const TableRows& part) { AddCommands(packet.commands().device(), part); });
    case proto::Packet::kJobs:
      return InParts(table, [&](const TableRows& part) { AddJobs(packet.jobs().device(), part); });
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
      return;  // footer, and additions of newer schemas
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
  // A host event of a device that was never described is kept as evidence.
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
  const RowNumbers records(rows, Block::COLUMN_RECORD), units(rows, Block::COLUMN_UNIT);
  const RowNumbers jobs(rows, Block::COLUMN_JOB);
  const auto most = static_cast<uint32_t>(about.units_size());
  if (!units.AreWithin(0, most) || !jobs.AreWithin(1, uint64_t{1} << 32)) {
    intake.DropIf([&](size_t i) {
      return static_cast<uint32_t>(units[i]) >= most || static_cast<uint32_t>(jobs[i]) == 0;
    });
  }
  NoteRecords(row, RecordNumbers::Table::kCommands, rows, records, commands.size(), intake.rows());
  model_->load.bad_rows += rows.rows() - intake.rows();
  near.commands.Append(intake.rows(), last_sample_ns_[row]);
  commands.device.Append(intake.rows(), row);
  intake.Put(units, &commands.unit);
  intake.Put(jobs, &commands.job);
  intake.Put(records, &commands.record);
  EachCommandColumn([&]<typename T>(const CommandColumn<T>& column) {
    using Loaded = typename CommandColumn<T>::Loaded;
    if (column.loaded == Loaded::kChecked || (checks_only && !column.of_laws)) return;
    const bool load =
        column.loaded == Loaded::kAlways || wanted == nullptr || wanted->Command(column.field);
    if (load) intake.Put(column.block, &(commands.*column.values));
  });
  RowNumbers ticks(rows, Block::COLUMN_FETCHED_TICKS);
  intake.Put(ticks, &commands.fetched.ticks);
  const bool later_wanted = wanted == nullptr ||
                            wanted->Command(CommandBatch::kHeadTicksAfterFieldNumber) ||
                            wanted->Command(CommandBatch::kStallTicksFieldNumber);
  if (!later_wanted) {
    return commands.first_stall.Append(intake.rows(), kNoRow);
  }
  RowNumbers held(rows, Block::COLUMN_START_TICKS_AFTER);
  const RowNumbers ran(rows, Block::COLUMN_END_TICKS_AFTER);
  const auto later = [&](const RowNumbers& by, DeviceTimes* times) {
    ticks.Add(by);
    intake.Put(ticks, &times->ticks);
  };
  later(RowNumbers(rows, Block::COLUMN_HEAD_TICKS_AFTER), &commands.head);
  later(held, &commands.start);
  later(ran, &commands.end);
  if (wanted != nullptr && !wanted->Command(CommandBatch::kStallTicksFieldNumber)) {
    return commands.first_stall.Append(intake.rows(), kNoRow);
  }
  held.Add(ran);
  AddStalls(static_cast<size_t>(about.stalls_size()), rows, held, &intake);
}

// causes: the number of the device's causes. held: the durations in ticks.
void Decoder::AddStalls(size_t causes, const stream::TableRows& rows, const RowNumbers& held,
                        RowIntake* intake) {
  Commands& commands = model_->commands;
  if (rows.stalls() == 0) return commands.first_stall.Append(intake->rows(), kNoRow);
  RowValues<uint32_t> first(intake->rows());
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = static_cast<uint32_t>(model_->stall_ticks.size() + i * causes);
  }
  commands.first_stall.AppendValues(first.data(), first.size());
  if (causes == rows.stalls() && AddNarrowStalls(rows, held, *intake)) return;
  long_stalls.reset();
  // If a packet has another number of causes than its device, its values are used in their order,
  // as if it had the same number.
  RowValues<uint64_t> stalls(rows.rows() * std::max(causes, rows.stalls()));
  const size_t have = rows.rows() * rows.stalls();
  std::fill(stalls.begin() + have, stalls.end(), 0);
  for (size_t s = 0; s < rows.stalls(); ++s) {
    const stream::BlockColumn& of = rows.of(Block::COLUMN_STALL_TICKS + static_cast<int>(s));
    for (size_t row = 0; row < rows.rows(); ++row) stalls[row * rows.stalls() + s] = of[row];
  }
  intake->PutGroups(causes, stalls.data(), &model_->stall_ticks);
}

// Returns false and adds nothing if not all of them are 32-bit numbers by cause.
bool Decoder::AddNarrowStalls(const stream::TableRows& rows, const RowNumbers& held,
                              const RowIntake& intake) {
  const size_t causes = rows.stalls();
  for (size_t s = 0; s < causes; ++s) {
    const RowNumbers stalls(rows, Block::COLUMN_STALL_TICKS + static_cast<int>(s));
    if (stalls.view().wide != nullptr || !stalls.AreWithin(0, uint64_t{1} << 32)) return false;
  }
  RowNumbers sums(rows, Block::COLUMN_STALL_TICKS);
  RowValues<uint32_t> by_row(rows.rows() * causes), of_cause(rows.rows());
  for (size_t s = 0; s < causes; ++s) {
    const RowNumbers stalls(rows, Block::COLUMN_STALL_TICKS + static_cast<int>(s));
    if (s > 0) sums.Add(stalls);
    stalls.view().Read(0, of_cause.size(), of_cause.data());
    uint32_t* to = by_row.data() + s;
    for (size_t row = 0; row < of_cause.size(); ++row, to += causes) *to = of_cause[row];
  }
  const bool all = intake.rows() == rows.rows();
  NoteLongStalls(all ? sums.CountAbove(held) : std::nullopt);
  intake.PutGroups(causes, by_row.data(), &model_->stall_ticks);
  return true;
}

void Decoder::NoteLongStalls(std::optional<uint64_t> more) {
  if (!more.has_value()) long_stalls.reset();
  if (long_stalls.has_value()) *long_stalls += *more;
}

void Decoder::NoteRecords(uint32_t device, RecordNumbers::Table table,
                          const stream::TableRows& rows, const RowNumbers& records, size_t before,
                          size_t kept) {
  if (!rows.has(Block::COLUMN_RECORD)) return records_.Skip(table, before, kept);
  model_->load.disordered_rows += records_.Note(device, table, records, before, kept);
}

void Decoder::CountRepeatedRecords(bool rise) {
  const std::array<RecordNumbers::Columns, RecordNumbers::kTables> tables = {
      {{&model_->commands.device, &model_->commands.record},
       {&device_jobs.device, &device_jobs.record},
       {&model_->device_events.device, &event_records}}};
  if (rise && records_.AreDistinctIfRising(tables)) return;
  model_->load.duplicate_records += records_.CountRepeated(tables);
}

void Decoder::AddJobs(uint32_t device, const stream::TableRows& rows) {
  const uint32_t row = DeviceRow(device);
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows.rows();
    return;
  }
  DeviceJobs& jobs = device_jobs;
  RowIntake intake(rows);
  const RowNumbers records(rows, Block::COLUMN_RECORD), numbers(rows, Block::COLUMN_JOB);
  if (!numbers.AreWithin(1, uint64_t{1} << 32)) {
    intake.DropIf([&](size_t i) { return static_cast<uint32_t>(numbers[i]) == 0; });
  }
  NoteRecords(row, RecordNumbers::Table::kJobs, rows, records, jobs.size(), intake.rows());
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
  const RowNumbers doorbells(rows, Block::COLUMN_DOORBELL_TICKS);
  intake.Put(doorbells, &jobs.doorbell.ticks);
  const auto after = [&](int column, DeviceTimes* times) {
    RowNumbers later(rows, column);
    later.Add(doorbells);
    intake.Put(later, &times->ticks);
  };
  if (wanted != nullptr && !wanted->device_times) {
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
