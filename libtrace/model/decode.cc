// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/decode.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libtrace/stream/columns.h"

namespace acceltrace::model {

using stream::DecodeColumn;
using stream::DecodeDeltas;

namespace {

// The daemon takes samples as it begins.
constexpr double kFirstSampleNs = 1e9;

template <typename To, typename From>
void Append(Column<To>* to, const google::protobuf::RepeatedField<From>& column, size_t rows) {
  const size_t have = std::min<size_t>(column.size(), rows);
  to->Append(column.begin(), column.begin() + have);
  to->resize(to->size() + rows - have);
}

template <typename To>
void AppendDeltas(Column<To>* to, const google::protobuf::RepeatedField<int64_t>& column,
                  size_t rows) {
  stream::DeltaDecoder decoder(column);
  for (size_t i = 0; i < rows; ++i) to->push_back(static_cast<To>(decoder.NextUnsigned()));
}

// Ends from begins and durations; a duration that leaves the range of time ends there.
void AppendEnds(Column<int64_t>* ends, const Column<int64_t>& begins,
                const google::protobuf::RepeatedField<uint64_t>& durations, size_t rows) {
  const size_t first = begins.size() - rows;
  for (size_t i = 0; i < rows; ++i) {
    int64_t end = 0;
    if (__builtin_add_overflow(begins[first + i], stream::ColumnAt(durations, i), &end)) {
      end = std::numeric_limits<int64_t>::max();
    }
    ends->push_back(end);
  }
}

}  // namespace

uint32_t Decoder::DeviceRow(uint32_t number) const {
  auto found = device_rows_.find(number);
  return found == device_rows_.end() ? kNoRow : found->second;
}

void Decoder::AddDevice(const proto::Device& device) {
  // Each unit is told with each cause, by every view.
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
    // Told again (a link that changed, a live reader that came late): the first
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
      AddDevice(packet.device());
      break;
    case proto::Packet::kStrings:
      for (int i = 0; i < packet.strings().id_size() && i < packet.strings().value_size(); ++i) {
        model_->strings.Set(packet.strings().id(i), packet.strings().value(i));
      }
      break;
    case proto::Packet::kProcesses:
      for (size_t i = 0; i < rows; ++i) {
        const auto& batch = packet.processes();
        model_->processes.push_back({stream::ColumnAt(batch.pid(), i),
                                     stream::ColumnAt(batch.tid(), i),
                                     stream::ColumnAt(batch.name(), i)});
      }
      break;
    case proto::Packet::kOpNames:
      for (size_t i = 0; i < rows; ++i) {
        const auto& batch = packet.op_names();
        op_names[{stream::ColumnAt(batch.pid(), i), stream::ColumnAt(batch.tag(), i)}] =
            stream::ColumnAt(batch.name(), i);
      }
      break;
    case proto::Packet::kApi:
      AddApi(packet.api(), rows);
      break;
    case proto::Packet::kRanges:
      AddRanges(packet.ranges(), rows);
      break;
    case proto::Packet::kHost:
      AddHost(packet.host(), rows);
      break;
    case proto::Packet::kCommands:
      AddCommands(packet.commands(), rows);
      break;
    case proto::Packet::kJobs:
      AddJobs(packet.jobs(), rows);
      break;
    case proto::Packet::kCounters:
      AddCounters(packet.counters(), rows);
      ThinClocks(bytes);
      break;
    case proto::Packet::kClocks:
      AddClocks(packet.clocks(), rows);
      ThinClocks(bytes);
      break;
    case proto::Packet::kDeviceEvents:
      AddDeviceEvents(packet.device_events(), rows);
      break;
    case proto::Packet::kProcessEvents:
      AddProcessEvents(packet.process_events(), rows);
      break;
    case proto::Packet::kOthers:
      AddOthers(packet.others(), rows);
      break;
    case proto::Packet::kLosses:
      losses.push_back(packet.losses());
      near.losses.emplace_back();
      for (uint32_t row = 0; row < last_sample_ns_.size(); ++row) {
        near.losses.back().push_back(last_sample_ns_[row]);
      }
      break;
    case proto::Packet::kAccounts:
      model_->accounts = packet.accounts();
      model_->has_accounts = true;
      break;
    default:
      break;  // footer, and what a newer schema adds
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

// What the rows of the batch tell, as a set of the device's; counters that it does not have
// are counted.
uint32_t Decoder::SetOf(const proto::CounterBatch& batch, size_t rows, CounterSamples* samples) {
  std::vector<CounterSamples::Told> told;
  for (int c = 0; c < batch.counter_size(); ++c) {
    if (batch.counter(c) >= samples->num_counters) {
      model_->load.bad_rows += rows;
    } else {
      told.push_back({batch.counter(c), static_cast<uint32_t>(c)});
    }
  }
  std::stable_sort(told.begin(), told.end(),
                   [](const auto& a, const auto& b) { return a.counter < b.counter; });
  // Told twice: the last value counts.
  const auto last = std::unique(told.rbegin(), told.rend(), [](const auto& a, const auto& b) {
    return a.counter == b.counter;
  });
  told.erase(told.begin(), last.base());
  // The same few sets come again and again.
  constexpr size_t kRecent = 8;
  const size_t have = samples->sets.size();
  for (size_t back = 1; back <= std::min(have, kRecent); ++back) {
    if (samples->sets[have - back] == told) return static_cast<uint32_t>(have - back);
  }
  samples->sets.push_back(std::move(told));
  return static_cast<uint32_t>(have);
}

void Decoder::AddCounters(const proto::CounterBatch& batch, size_t rows) {
  const uint32_t row = DeviceRow(batch.device());
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows;
    return;
  }
  CounterSamples& samples = model_->devices[row].counters;
  const size_t columns = static_cast<size_t>(batch.counter_size());
  const uint32_t set = SetOf(batch, rows, &samples);
  const bool zeros = batch.value_delta_size() == 0;
  std::vector<uint64_t> last(columns, 0);
  stream::DeltaDecoder times(batch.time_ticks_delta());
  stream::DeltaDecoder befores(batch.host_before_ns_delta());
  stream::DeltaDecoder afters(batch.host_after_ns_delta());
  const bool bracketed = batch.host_before_ns_delta_size() > 0;
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t ticks = times.NextUnsigned();
    const int64_t before_ns = bracketed ? befores.Next() : kNoTime;
    const int64_t after_ns = bracketed ? afters.Next() : kNoTime;
    if (bracketed) {
      clock::Window when;
      when.lo_ns = before_ns, when.hi_ns = after_ns;
      latched[row].push_back({ticks, before_ns, clock::Constraint::Order::kHostFirst, when});
      latched[row].push_back({ticks, after_ns, clock::Constraint::Order::kDeviceFirst, when});
    }
    if (columns == 0) continue;  // taken for the clock alone
    samples.time.AddRaw(ticks);
    samples.host_before_ns.push_back(before_ns);
    samples.host_after_ns.push_back(after_ns);
    near.counters[row].push_back(bracketed ? before_ns : last_sample_ns_[row]);
    samples.set.push_back(set);
    samples.first_value.push_back(zeros ? CounterSamples::kZeros : samples.value.size());
    for (size_t c = 0; !zeros && c < columns; ++c) {
      last[c] += static_cast<uint64_t>(stream::ColumnAt(batch.value_delta(), i * columns + c));
      samples.value.push_back(last[c]);
    }
  }
}

void Decoder::AddClocks(const proto::ClockBatch& batch, size_t rows) {
  const uint32_t row = DeviceRow(batch.device());
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows;
    return;
  }
  clocks[row].Add(batch);
  model_->devices[row].clock_samples += rows;
  stream::DeltaDecoder befores(batch.host_before_ns_delta());
  for (size_t i = 0; i < rows; ++i) {
    const int64_t at_ns = befores.Next();
    if (last_sample_ns_[row] == clock::Map::kNoHint) HintBefore(row, at_ns);
    last_sample_ns_[row] = at_ns;
    if (i == 0) batch_samples_ns[row].push_back(at_ns);
  }
}

// What the daemon sends with the first samples comes before them. Where those were lost, or
// overwritten in a flight recorder, nothing is known of when it was.
void Decoder::HintBefore(uint32_t row, int64_t first_sample_ns) {
  const int64_t start_ns = model_->has_info ? model_->info.start_ns() : 0;
  const double after_ns = static_cast<double>(first_sample_ns) - static_cast<double>(start_ns);
  if (start_ns <= 0 || std::abs(after_ns) > kFirstSampleNs) return;
  constexpr int64_t kNone = clock::Map::kNoHint;
  const auto fill = [&](const Column<uint32_t>& devices, RunColumn<int64_t>* hints) {
    hints->Replace(kNone, [&](size_t i) { return devices[i] == row ? first_sample_ns : kNone; });
  };
  fill(model_->commands.device, &near.commands);
  fill(model_->device_events.device, &near.device_events);
  fill(model_->others.device, &near.others);
  fill(device_jobs.device, &device_jobs.near_ns);
  near.counters[row].Replace(kNone, [&](size_t) { return first_sample_ns; });
  for (std::vector<int64_t>& hints : near.losses) {
    if (row < hints.size() && hints[row] == clock::Map::kNoHint) hints[row] = first_sample_ns;
  }
}

void Decoder::AddDeviceEvents(const proto::DeviceEventBatch& batch, size_t rows) {
  const uint32_t row = DeviceRow(batch.device());
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows;
    return;
  }
  NoteRecords(row, proto::Packet::kDeviceEvents, batch.record_delta(), rows);
  DeviceEvents& events = model_->device_events;
  near.device_events.Append(rows, last_sample_ns_[row]);
  events.device.Append(rows, row);
  Append(&events.kind, batch.kind(), rows);
  AppendDeltas(&events.time.ticks, batch.time_ticks_delta(), rows);
  AppendDeltas(&event_records, batch.record_delta(), rows);
  Append(&events.arg0, batch.arg0(), rows);
  Append(&events.arg1, batch.arg1(), rows);
  Append(&events.arg2, batch.arg2(), rows);
}

void Decoder::AddProcessEvents(const proto::ProcessEvents& batch, size_t rows) {
  ProcessEvents& events = model_->process_events;
  Append(&events.kind, batch.kind(), rows);
  AppendDeltas(&events.time_ns, batch.time_ns_delta(), rows);
  Append(&events.pid, batch.pid(), rows);
  Append(&events.tid, batch.tid(), rows);
  Append(&events.parent, batch.parent(), rows);
}

void Decoder::AddOthers(const proto::OthersBatch& batch, size_t rows) {
  const uint32_t row = DeviceRow(batch.device());
  if (row == kNoRow) {
    model_->load.unknown_device_rows += rows;
    return;
  }
  OthersUse& others = model_->others;
  const proto::Device& about = model_->devices[row].about;
  const size_t stalls = static_cast<size_t>(about.stalls_size());
  stream::DeltaDecoder heads(batch.first_head_ticks_delta());
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t head = heads.NextUnsigned();
    if (stream::ColumnAt(batch.unit(), i) >= static_cast<uint32_t>(about.units_size())) {
      ++model_->load.bad_rows;
      continue;
    }
    near.others.push_back(last_sample_ns_[row]);
    others.device.push_back(row);
    others.unit.push_back(stream::ColumnAt(batch.unit(), i));
    others.commands.push_back(stream::ColumnAt(batch.commands(), i));
    others.failed.push_back(stream::ColumnAt(batch.failed(), i));
    others.first_head.AddRaw(head);
    others.last_end.AddRaw(head + stream::ColumnAt(batch.last_end_ticks_after(), i));
    others.held_ticks.push_back(stream::ColumnAt(batch.held_ticks(), i));
    others.bytes.push_back(stream::ColumnAt(batch.bytes(), i));
    std::vector<uint64_t>& sums = others.stall_ticks.emplace_back();
    if (batch.stall_ticks_size() == 0) continue;  // all of them zero
    sums.reserve(stalls);
    for (size_t s = 0; s < stalls; ++s) {
      sums.push_back(stream::ColumnAt(batch.stall_ticks(), i * stalls + s));
    }
  }
}

void Decoder::NoteRecords(uint32_t device, proto::Packet::BodyCase table,
                          const google::protobuf::RepeatedField<int64_t>& deltas, size_t rows) {
  if (deltas.empty()) return;  // a device that does not count its records, or the very first
  const auto [last, first] = last_record_.try_emplace({device, table}, 0);
  bool any = !first;
  stream::DeltaDecoder records(deltas);
  for (size_t i = 0; i < rows; ++i) {
    const auto record = static_cast<uint32_t>(records.NextUnsigned());
    // The device counts modulo 2^32.
    if (any && static_cast<int32_t>(record - last->second) <= 0) ++model_->load.disordered_rows;
    last->second = record;
    any = true;
    records_[device].push_back(record);
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
