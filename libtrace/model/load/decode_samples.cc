// SPDX-License-Identifier: Apache-2.0
//
// Decodes packets of samples and events of devices: counters, clocks, device events, devices
// without records.
#include <algorithm>
#include <cmath>
#include <utility>

#include "libtrace/model/columns/decode_columns.h"
#include "libtrace/model/load/decode.h"

namespace acceltrace::model {

using stream::DecodeColumn;
using stream::DecodeDeltas;

namespace {

// The daemon takes its first samples at the start.
constexpr double kFirstSampleNs = 1e9;

}  // namespace

// Returns the set of the device's counters that the rows of the batch have. Counters that the
// device does not have are counted.
uint32_t Decoder::SetOf(const proto::CounterBatch& batch, size_t rows, CounterSamples* samples) {
  std::vector<CounterSamples::Entry> entries;
  for (int c = 0; c < batch.counter_size(); ++c) {
    if (batch.counter(c) >= samples->num_counters) {
      model_->load.bad_rows += rows;
    } else {
      entries.push_back({batch.counter(c), static_cast<uint32_t>(c)});
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.counter < b.counter; });
  // For repeated counters, the last value counts.
  const auto last = std::unique(entries.rbegin(), entries.rend(), [](const auto& a, const auto& b) {
    return a.counter == b.counter;
  });
  entries.erase(entries.begin(), last.base());
  // There are few different sets, which alternate.
  constexpr size_t kRecent = 8;
  const size_t have = samples->sets.size();
  for (size_t back = 1; back <= std::min(have, kRecent); ++back) {
    if (samples->sets[have - back] == entries) return static_cast<uint32_t>(have - back);
  }
  samples->sets.push_back(std::move(entries));
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
    if (columns == 0) continue;  // only taken for the clock
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

// Rows before the first sample were sent together with it. If samples before it were lost, or
// overwritten in a flight recorder, the time of these rows is not known.
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
  DeviceEvents& events = model_->device_events;
  if (batch.record_delta().empty()) {
    records_.Skip(RecordNumbers::Table::kDeviceEvents, events.size(), rows);
  } else {
    const auto numbers = DecodeDeltas<uint64_t>(batch.record_delta(), rows);
    model_->load.disordered_rows += records_.Note(row, RecordNumbers::Table::kDeviceEvents,
                                                  RowNumbers(numbers), events.size(), rows);
  }
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
    if (batch.stall_ticks_size() == 0) continue;  // all of them are zero
    sums.reserve(stalls);
    for (size_t s = 0; s < stalls; ++s) {
      sums.push_back(stream::ColumnAt(batch.stall_ticks(), i * stalls + s));
    }
  }
}

}  // namespace acceltrace::model
