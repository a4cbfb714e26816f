// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/windows.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include "libtrace/model/columns/unpacked.h"
#include "libtrace/model/load/in_step.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::model {
namespace {

using clock::Window;
using proto::DeviceEventBatch;

// A row without a record number is at most this much older than the previous clock sample in the
// stream, or newer than the next one: the daemon sends collected data every half second.
constexpr int64_t kStreamNs = 2'000'000'000;
// The recording's begin and end are recorded close to the first and the last record.
constexpr int64_t kMarginNs = 200'000'000;

// With a clock of at least this width, doorbells of a queue hardly ever have the same ticks.
constexpr uint32_t kUniqueBits = 32;
// Up to this number of sorted runs are merged; more of them are sorted as a whole.
constexpr int kMergedRuns = 8;

}  // namespace

Windows::Windows(const Model& model, const Decoder& decoder, const HostJobs& host_jobs)
    : model_(model), decoder_(decoder), host_jobs_(host_jobs), devices_(model.devices.size()) {
  if (model.has_info && model.info.start_ns() > 0) start_ns_ = model.info.start_ns() - kMarginNs;
  if (model.has_accounts && model.accounts.stop_ns() > 0) {
    stop_ns_ = model.accounts.stop_ns() + kMarginNs;
  }
  CollectSides();
  CollectDoorbells();
  static_assert(kNoTime == Window::kMin);
  in_step_ = IsInStep(model_, decoder_, Sides(), &any_lost_);
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    devices_[d].samples_ns = decoder.batch_samples_ns[d];
    std::sort(devices_[d].samples_ns.begin(), devices_[d].samples_ns.end());
  }
}

std::vector<std::vector<Windows::Place>> Windows::PlacesByDevice() const {
  std::vector<std::vector<Place>> places(devices_.size());
  const auto each = [&](const auto& visit) {
    visit(decoder_.device_jobs.device, decoder_.device_jobs.record, Table::kJobs);
    visit(model_.commands.device, model_.commands.record, Table::kCommands);
    visit(model_.device_events.device, decoder_.event_records, Table::kEvents);
  };
  std::vector<size_t> rows(devices_.size());
  each([&](const Column<uint32_t>& devices, const Column<uint64_t>&, Table) {
    for (const uint32_t device : devices) ++rows[device];
  });
  for (size_t d = 0; d < rows.size(); ++d) places[d].reserve(rows[d]);
  each([&](const Column<uint32_t>& devices, const Column<uint64_t>& records, Table table) {
    for (uint32_t row = 0; row < devices.size(); ++row) {
      places[devices[row]].push_back({records[row], row, table});
    }
  });
  return places;
}

// Usually, each table is in the order of the device's records.
void Windows::Sort(std::vector<Place>* places) {
  const auto less = [](const Place& a, const Place& b) {
    return std::tie(a.record, a.table, a.row) < std::tie(b.record, b.table, b.row);
  };
  const auto first = places->begin(), end = places->end();
  auto sorted = std::is_sorted_until(first, end, less);
  for (int runs = 1; sorted != end && runs < kMergedRuns; ++runs) {
    const auto next = std::is_sorted_until(sorted, end, less);
    std::inplace_merge(first, sorted, next, less);
    sorted = next;
  }
  if (sorted != end) std::sort(first, end, less);
}

SidesOfJobs Windows::Sides() const {
  return {[this](size_t row, SideRows* rows) { LoadSides(row, rows); },
          [this](uint32_t job) { return KnownSideOf(JobKey(0, job)); }};
}

void Windows::CollectRecords() const {
  if (!std::exchange(collected_, true) && !CollectInOrder()) CollectSorted();
}

const Windows::Device& Windows::Of(uint32_t device) const {
  CollectRecords();
  return devices_[device];
}

bool Windows::CollectInOrder() const {
  if (devices_.size() != 1) return false;
  const Column<uint64_t>* tables[] = {&decoder_.device_jobs.record, &model_.commands.record,
                                      &decoder_.event_records};
  size_t rows[] = {decoder_.device_jobs.size(), model_.commands.size(),
                   model_.device_events.size()};
  constexpr size_t kTables = std::size(tables);
  for (size_t t = 0; t < kTables; ++t) {
    uint64_t last = 0;
    const auto rises = [&](size_t, uint64_t record) {
      const bool in_order = record >= last;
      last = record;
      return in_order;
    };
    if (tables[t]->size() != rows[t] || !EachRow(rises, *tables[t])) return false;
  }
  // Finds the least next record of the tables, or the greatest backwards; equal ones by table.
  const auto merge = [&](bool forward, const auto& visit) {
    size_t done[kTables] = {};
    uint64_t heads[kTables] = {};
    Unpacked<uint64_t> records[kTables] = {Unpacked(*tables[0]), Unpacked(*tables[1]),
                                           Unpacked(*tables[2])};
    const auto load = [&](size_t t) {
      if (done[t] < rows[t]) heads[t] = records[t][forward ? done[t] : rows[t] - 1 - done[t]];
    };
    for (size_t t = 0; t < kTables; ++t) load(t);
    while (true) {
      size_t next = kTables;
      for (size_t t = 0; t < kTables; ++t) {
        if (done[t] == rows[t]) continue;
        if (next == kTables || (forward ? heads[t] < heads[next] : heads[t] >= heads[next])) {
          next = t;
        }
      }
      if (next == kTables) return;
      // Visits this table as long as it is next for certain, then searches again.
      uint64_t before = forward ? UINT64_MAX : 0, after = before;
      for (size_t t = 0; t < kTables; ++t) {
        if (t == next || done[t] == rows[t]) continue;
        uint64_t& bound = t < next ? before : after;
        bound = forward ? std::min(bound, heads[t]) : std::max(bound, heads[t]);
      }
      uint64_t head = heads[next];
      do {
        const size_t row = forward ? done[next] : rows[next] - 1 - done[next];
        visit(Place{head, static_cast<uint32_t>(row), static_cast<Table>(next)});
        ++done[next];
        load(next);
        head = heads[next];
      } while (done[next] < rows[next] &&
               (forward ? head < before && head <= after : head >= before && head > after));
    }
  };
  Collect(
      rows[0] + rows[1] + rows[2], [&](const auto& visit) { merge(true, visit); },
      [&](const auto& visit) { merge(false, visit); }, &devices_[0]);
  return true;
}

void Windows::CollectSorted() const {
  std::vector<std::vector<Place>> all = PlacesByDevice();
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    std::vector<Place> places = std::move(all[d]);
    Sort(&places);
    Collect(
        places.size(),
        [&](const auto& visit) { std::for_each(places.begin(), places.end(), visit); },
        [&](const auto& visit) { std::for_each(places.rbegin(), places.rend(), visit); },
        &devices_[d]);
  }
}

template <typename Forward, typename Backward>
void Windows::Collect(size_t count, const Forward& forward, const Backward& backward,
                      Device* of) const {
  Device& device = *of;
  const DeviceEvents& events = model_.device_events;
  Unpacked<uint32_t> devices(model_.commands.device), jobs(model_.commands.job);
  uint64_t last_key = 0;  // not a job's
  Side last_side;
  const auto side_of = [&](const Place& place) {
    if (place.table == Table::kJobs) return SideOfJob(place.row);
    const uint64_t key = JobKey(devices[place.row], jobs[place.row]);
    if (key != last_key) last_side = KnownSideOf(key), last_key = key;
    return last_side;
  };
  // If all are zero, or many are equal, this device does not number its records.
  size_t same = 0;
  uint32_t jumps = 0;
  int64_t lo_ns = Window::kMin, hi_ns = Window::kMax;
  uint64_t last = 0;
  constexpr size_t kRows = Column<uint64_t>::kRows;
  std::vector<uint64_t> records;
  records.reserve(kRows);
  const auto put = [&] {
    device.records.AppendValues(records.data(), records.size());
    records.clear();
  };
  bool any = false;
  forward([&](const Place& place) {
    same += any && place.record == last;
    last = place.record, any = true;
    records.push_back(last);
    if (records.size() == kRows) put();
    if (place.table == Table::kEvents) {
      jumps +=
          events.kind[place.row] == DeviceEventBatch::KIND_CLOCK && events.arg1[place.row] != 0;
    } else {
      const Side side = side_of(place);
      // A job's record is written with its interrupt and may come after the host knew of its end.
      const int64_t begin_ns = place.table == Table::kJobs ? side.doorbell_ns : side.submit_ns;
      if (begin_ns != kNoTime) lo_ns = std::max(lo_ns, begin_ns);
    }
    device.lo_ns.push_back(lo_ns);
    device.jumps.push_back(jumps);
  });
  put();
  device.ordered = count > 1 && same * 10 < count;
  // The first of each run, starting with the last one.
  std::vector<std::pair<size_t, int64_t>> runs;
  size_t i = count;
  backward([&](const Place& place) {
    --i;
    if (place.table == Table::kCommands) {
      const int64_t complete_ns = side_of(place).complete_ns;
      if (complete_ns != kNoTime) hi_ns = std::min(hi_ns, complete_ns);
    }
    if (runs.empty() || runs.back().second != hi_ns) runs.emplace_back(i, hi_ns);
    runs.back().first = i;
  });
  for (size_t r = runs.size(); r-- > 0;) {
    const size_t end = r > 0 ? runs[r - 1].first : count;
    device.hi_ns.Append(end - runs[r].first, runs[r].second);
  }
}

Windows::Doorbell Windows::DoorbellOf(uint32_t job) const {
  const DeviceJobs& jobs = decoder_.device_jobs;
  const uint32_t device = jobs.device[job];
  return {device, jobs.queue[job], jobs.doorbell.RawTicks(job) & MaskOf(device)};
}

uint64_t Windows::MaskOf(uint32_t device) const {
  return TickMask(model_.devices[device].about.clock().bits());
}

void Windows::CollectDoorbells() {
  const DeviceJobs& jobs = decoder_.device_jobs;
  // They are only looked up for the device's own doorbell events.
  const auto is_other = [](size_t, uint32_t kind) {
    return kind != DeviceEventBatch::KIND_DOORBELL;
  };
  if (EachRow(is_other, model_.device_events.kind)) return;
  std::vector<std::pair<Doorbell, uint32_t>> sorted;
  sorted.reserve(jobs.size());
  for (uint32_t i = 0; i < jobs.size(); ++i) {
    // A narrow clock soon repeats the same ticks.
    if (model_.devices[jobs.device[i]].about.clock().bits() < kUniqueBits) continue;
    sorted.emplace_back(DoorbellOf(i), i);
  }
  std::sort(sorted.begin(), sorted.end());
  doorbells_.reserve(sorted.size());
  for (const auto& doorbell : sorted) doorbells_.push_back(doorbell.second);
}

uint32_t Windows::JobOf(const Doorbell& doorbell) const {
  const auto found = std::partition_point(doorbells_.begin(), doorbells_.end(),
                                          [&](uint32_t i) { return DoorbellOf(i) < doorbell; });
  if (found == doorbells_.end() || DoorbellOf(*found) != doorbell) return kNoRow;
  const auto next = std::next(found);
  return next != doorbells_.end() && DoorbellOf(*next) == doorbell ? kNoRow : *found;
}

size_t Windows::Device::NotBefore(uint64_t record) const {
  const auto is_it = [&](size_t at) {
    return (at == 0 || records[at - 1] < record) && (at == records.size() || records[at] >= record);
  };
  if (is_it(last_found)) return last_found;
  if (last_found < records.size() && is_it(last_found + 1)) return ++last_found;
  const auto found = std::lower_bound(records.begin(), records.end(), record);
  return last_found = static_cast<size_t>(found - records.begin());
}

Windows::Side Windows::SideOfCommand(size_t row) const {
  return KnownSideOf(JobKey(model_.commands.device[row], model_.commands.job[row]));
}

Windows::Side Windows::KnownSideOf(uint64_t key) const {
  KnownSide& known = known_sides_[key % known_sides_.size()];
  // 0 is not a job's key because jobs are numbered from 1 on.
  if (key != known.job) known = {key, SideAt(host_jobs_.Find(key))};
  return known.side;
}

void Windows::CollectSides() {
  job_sides_.reserve(decoder_.device_jobs.size());
  EachRow(
      [&](size_t, uint32_t device, uint32_t job) {
        job_sides_.push_back(host_jobs_.Find(JobKey(device, job)));
        return true;
      },
      decoder_.device_jobs.device, decoder_.device_jobs.job);
}

void Windows::Bound(Window* window) const {
  window->lo_ns = std::max(window->lo_ns, start_ns_);
  window->hi_ns = std::min(window->hi_ns, stop_ns_);
}

Window Windows::OfRecord(uint32_t row, uint64_t record, int64_t near_ns) const {
  for (const LostRecords::Edge* edge : {&lost_.first_before, &lost_.last_after}) {
    if (lost_.when.empty() || edge->record != record) continue;
    Window known;
    known.near_ns = near_ns;
    known.lo_ns = edge->lo_ns, known.hi_ns = edge->hi_ns;
    known.max_jumps = 0;
    Bound(&known);
    return known;
  }
  Window window = UpToRecord(row, record, near_ns);
  const Device& device = Of(row);
  if (!device.ordered) return window;
  const size_t at = device.NotBefore(record);
  // Only the records before it; its own bounds are added by the caller.
  if (at > 0) window.lo_ns = device.lo_ns[at - 1];
  Bound(&window);
  return window;
}

Window Windows::UpToRecord(uint32_t row, uint64_t record, int64_t near_ns) const {
  Window window;
  window.near_ns = near_ns;
  window.hi_ns = stop_ns_;
  const Device& device = Of(row);
  if (!device.ordered) return window;
  const size_t at = device.NotBefore(record);
  window.max_jumps = at == 0 ? 0 : device.jumps[at - 1];
  const size_t next = at < device.records.size() && device.records[at] == record ? at + 1 : at;
  if (next < device.records.size()) {
    window.hi_ns = std::min(window.hi_ns, device.hi_ns[next]);
  }
  return window;
}

void Windows::LoadSides(size_t row, SideRows* rows) const {
  rows->first = row / SideRows::kRows * SideRows::kRows;
  const size_t count = std::min(SideRows::kRows, job_sides_.size() - rows->first);
  std::vector<HostJobs::Stretch> stretches;
  HostJobs::FindStretches(job_sides_.data() + rows->first, count, &stretches);
  const auto read = [&](const auto& field, int64_t* out) {
    host_jobs_.Read(field, stretches, out);
  };
  read(
      [](const auto& of) -> auto& { return of.submit_ns; }, rows->submit_ns);
  read(
      [](const auto& of) -> auto& { return of.doorbell_ns; }, rows->doorbell_ns);
  read(
      [](const auto& of) -> auto& { return of.complete_ns; }, rows->complete_ns);
}

Window Windows::OfJobRecord(size_t row, bool made, const Side& side) const {
  const DeviceJobs& jobs = decoder_.device_jobs;
  const auto of = made ? &Windows::OfRecord : &Windows::UpToRecord;
  Window window = (this->*of)(jobs.device[row], jobs.record[row], jobs.near_ns[row]);
  if (side.submit_ns != kNoTime) window.lo_ns = std::max(window.lo_ns, side.submit_ns);
  if (!made && side.complete_ns != kNoTime) {
    window.hi_ns = std::min(window.hi_ns, side.complete_ns);
  }
  return window;
}

Window Windows::OfDoorbell(size_t row) const {
  Window window = OfJob(row, false);
  const Side side = SideOfJob(row);
  if (side.doorbell_ns != kNoTime) {
    window.lo_ns = std::max(window.lo_ns, side.doorbell_ns);
  }
  return window;
}

void Windows::Narrow(const Side& side, Window* window) {
  if (side.submit_ns != kNoTime) window->lo_ns = std::max(window->lo_ns, side.submit_ns);
  if (side.complete_ns != kNoTime) window->hi_ns = std::min(window->hi_ns, side.complete_ns);
}

Window Windows::OfCommandMade(size_t row) const {
  const Commands& commands = model_.commands;
  Window made = OfRecord(commands.device[row], commands.record[row], decoder_.near.commands[row]);
  Narrow(SideOfCommand(row), &made);
  return made;
}

void Windows::OfCommand(size_t row, Window* before, Window* made) const {
  const Commands& commands = model_.commands;
  const uint32_t device = commands.device[row];
  const uint64_t record = commands.record[row];
  const int64_t near_ns = decoder_.near.commands[row];
  *before = UpToRecord(device, record, near_ns);
  *made = OfRecord(device, record, near_ns);
  Narrow(SideOfCommand(row), before);
  Narrow(SideOfCommand(row), made);
}

Window Windows::OfEvent(size_t row) const {
  const DeviceEvents& events = model_.device_events;
  const uint32_t device = events.device[row];
  Window window = OfRecord(device, decoder_.event_records[row], decoder_.near.device_events[row]);
  if (!Of(device).ordered) {
    window = OfStream(device, decoder_.near.device_events[row]);
  } else {
    // Read when its record was written: includes all jumps before it and none after it.
    const bool jump = events.kind[row] == DeviceEventBatch::KIND_CLOCK && events.arg1[row] != 0;
    window.max_jumps += jump;
    window.min_jumps = window.max_jumps;
  }
  if (events.kind[row] != DeviceEventBatch::KIND_DOORBELL) return window;
  const uint32_t job =
      JobOf({device, events.arg2[row], events.time.RawTicks(row) & MaskOf(device)});
  if (job == kNoRow) return window;
  const Window known = OfDoorbell(job);
  window.lo_ns = std::max(window.lo_ns, known.lo_ns);
  window.hi_ns = std::min(window.hi_ns, known.hi_ns);
  return window;
}

Window Windows::OfStream(uint32_t device, int64_t near_ns) const {
  Window window;
  window.near_ns = near_ns;
  if (near_ns != clock::Map::kNoHint) window.lo_ns = near_ns - kStreamNs;
  // Samples may be missing, so the next one may be much later.
  const auto& samples_ns = devices_[device].samples_ns;
  const auto next = std::upper_bound(samples_ns.begin(), samples_ns.end(), near_ns);
  if (next != samples_ns.end()) window.hi_ns = *next + kStreamNs;
  Bound(&window);
  return window;
}

bool Windows::Losses(uint32_t device, uint64_t* last_after, uint64_t* first_before) const {
  if (in_step_) {
    if (any_lost_ && lost_.when.empty()) lost_ = FindLost(model_, decoder_, Sides());
    *last_after = lost_.last_after.record, *first_before = lost_.first_before.record;
    return any_lost_;
  }
  if (!Of(device).ordered) return false;
  bool any = false;
  uint64_t last = 0;
  EachRow(
      [&](size_t row, uint64_t record) {
        if (row > 0 && record - last > 1) {
          if (!any) *first_before = last;
          any = true;
          *last_after = record;
        }
        last = record;
        return true;
      },
      devices_[device].records);
  return any;
}

std::vector<Window> Windows::WhenLost(uint32_t device) const {
  constexpr int64_t kMost = 65'536;
  std::vector<Window> windows;
  const auto add = [&](int64_t lo_ns, int64_t hi_ns) {
    // If there are many, adjacent ones are merged.
    if (!windows.empty() &&
        (lo_ns <= windows.back().hi_ns || static_cast<int64_t>(windows.size()) >= kMost)) {
      windows.back().hi_ns = hi_ns;
      return;
    }
    Window when;
    when.lo_ns = lo_ns, when.hi_ns = hi_ns;
    windows.push_back(when);
  };
  if (in_step_) {
    for (const Window& when : lost_.when) add(when.lo_ns, when.hi_ns);
    return windows;
  }
  const Device& of = Of(device);
  for (size_t i = 1; of.ordered && i < of.records.size(); ++i) {
    if (of.records[i] - of.records[i - 1] > 1) add(of.lo_ns[i - 1], of.hi_ns[i]);
  }
  return windows;
}

Window Windows::OfCounters(uint32_t device, size_t row) const {
  const CounterSamples& samples = model_.devices[device].counters;
  const int64_t near_ns = decoder_.near.counters[device][row];
  if (samples.host_before_ns[row] != kNoTime) {
    Window window;
    window.near_ns = samples.host_before_ns[row];
    window.lo_ns = samples.host_before_ns[row];
    window.hi_ns = samples.host_after_ns[row];
    return window;
  }
  return OfStream(device, near_ns);
}

}  // namespace acceltrace::model
