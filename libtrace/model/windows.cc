// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/windows.h"

#include <algorithm>

namespace acceltrace::model {
namespace {

using clock::Window;
using proto::DeviceEventBatch;

// A row without a record number is this much older than the clock sample before it in the
// stream, or newer than the one behind it, at most: the daemon sends what it has each half second.
constexpr int64_t kStreamNs = 2'000'000'000;
// The recording's own begin and end are noted close to the first and the last record.
constexpr int64_t kMarginNs = 200'000'000;

// Of a clock this wide two doorbells of a queue hardly ever show the same ticks.
constexpr uint32_t kUniqueBits = 32;
constexpr size_t kAmbiguous = ~size_t{0};

}  // namespace

Windows::Windows(const Model& model, const Decoder& decoder, const HostJobs& host_jobs)
    : model_(model), decoder_(decoder), host_jobs_(host_jobs), devices_(model.devices.size()) {
  if (model.has_info && model.info.start_ns() > 0) start_ns_ = model.info.start_ns() - kMarginNs;
  if (model.has_accounts && model.accounts.stop_ns() > 0) {
    stop_ns_ = model.accounts.stop_ns() + kMarginNs;
  }
  const auto add = [&](uint32_t device, uint64_t record, int64_t lo_ns, int64_t hi_ns, bool jump) {
    const auto or_none = [](int64_t ns, int64_t none) { return ns == kNoTime ? none : ns; };
    devices_[device].records.push_back(
        {record, or_none(lo_ns, Window::kMin), or_none(hi_ns, Window::kMax), jump});
  };
  const DeviceJobs& jobs = decoder.device_jobs;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const HostJob* side = SideOf(jobs.device[i], jobs.job[i]);
    // Made with a late interrupt, a job's record may come after the host knew of its end.
    add(jobs.device[i], jobs.record[i], side ? side->doorbell_ns : kNoTime, kNoTime, false);
    // A narrow clock shows the same ticks again soon.
    if (model.devices[jobs.device[i]].about.clock().bits() < kUniqueBits) continue;
    const auto [same, fresh] = doorbells_.emplace(
        std::pair(uint64_t{jobs.device[i]} << 32 | jobs.queue[i], jobs.doorbell.raw_ticks[i]), i);
    if (!fresh) same->second = kAmbiguous;
  }
  const Commands& commands = model.commands;
  for (size_t i = 0; i < commands.size(); ++i) {
    const HostJob* side = SideOf(commands.device[i], commands.job[i]);
    add(commands.device[i], commands.record[i], side ? side->submit_ns : kNoTime,
        side ? side->complete_ns : kNoTime, false);
  }
  const DeviceEvents& events = model.device_events;
  for (size_t i = 0; i < events.size(); ++i) {
    const bool jump = events.kind[i] == DeviceEventBatch::KIND_CLOCK && events.arg1[i] != 0;
    add(events.device[i], decoder.event_records[i], kNoTime, kNoTime, jump);
  }
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    devices_[d].samples_ns = decoder.batch_samples_ns[d];
    std::sort(devices_[d].samples_ns.begin(), devices_[d].samples_ns.end());
  }
  for (Device& device : devices_) {
    auto& records = device.records;
    std::stable_sort(records.begin(), records.end(),
                     [](const Record& a, const Record& b) { return a.record < b.record; });
    // All zero, or many the same: this device does not number them.
    size_t same = 0;
    for (size_t i = 1; i < records.size(); ++i) same += records[i].record == records[i - 1].record;
    device.ordered = records.size() > 1 && same * 10 < records.size();
    uint32_t jumps = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      if (i > 0) records[i].lo_ns = std::max(records[i].lo_ns, records[i - 1].lo_ns);
      device.jumps.push_back(jumps += records[i].jump);
    }
    for (size_t i = records.size(); i-- > 1;) {
      records[i - 1].hi_ns = std::min(records[i - 1].hi_ns, records[i].hi_ns);
    }
  }
}

const HostJob* Windows::SideOf(uint32_t device, uint32_t job) const {
  const auto found = host_jobs_.find(JobKey(device, job));
  return found == host_jobs_.end() ? nullptr : &found->second;
}

void Windows::Bound(Window* window) const {
  window->lo_ns = std::max(window->lo_ns, start_ns_);
  window->hi_ns = std::min(window->hi_ns, stop_ns_);
}

Window Windows::OfRecord(uint32_t row, uint64_t record, int64_t near_ns) const {
  Window window = UpToRecord(row, record, near_ns);
  const Device& device = devices_[row];
  if (!device.ordered) return window;
  const auto at =
      std::lower_bound(device.records.begin(), device.records.end(), record,
                       [](const Record& r, uint64_t wanted) { return r.record < wanted; });
  // Those before it; its own bounds are its caller's to know.
  if (at != device.records.begin()) window.lo_ns = (at - 1)->lo_ns;
  Bound(&window);
  return window;
}

Window Windows::UpToRecord(uint32_t row, uint64_t record, int64_t near_ns) const {
  Window window;
  window.near_ns = near_ns;
  window.hi_ns = stop_ns_;
  const Device& device = devices_[row];
  if (!device.ordered) return window;
  const auto at =
      std::lower_bound(device.records.begin(), device.records.end(), record,
                       [](const Record& r, uint64_t wanted) { return r.record < wanted; });
  const auto index = at - device.records.begin();
  window.max_jumps = index == 0 ? 0 : device.jumps[static_cast<size_t>(index) - 1];
  const auto next = at != device.records.end() && at->record == record ? at + 1 : at;
  if (next != device.records.end()) window.hi_ns = std::min(window.hi_ns, next->hi_ns);
  return window;
}

Window Windows::OfJob(size_t row, bool made) const {
  const DeviceJobs& jobs = decoder_.device_jobs;
  const uint32_t device = jobs.device[row];
  const HostJob* side = SideOf(device, jobs.job[row]);
  const auto of = made ? &Windows::OfRecord : &Windows::UpToRecord;
  Window window = (this->*of)(device, jobs.record[row], jobs.near_ns[row]);
  if (side == nullptr) return window;
  if (side->submit_ns != kNoTime) window.lo_ns = std::max(window.lo_ns, side->submit_ns);
  if (!made && side->complete_ns != kNoTime) {
    window.hi_ns = std::min(window.hi_ns, side->complete_ns);
  }
  return window;
}

Window Windows::OfDoorbell(size_t row) const {
  const DeviceJobs& jobs = decoder_.device_jobs;
  Window window = OfJob(row, false);
  const HostJob* side = SideOf(jobs.device[row], jobs.job[row]);
  if (side != nullptr && side->doorbell_ns != kNoTime) {
    window.lo_ns = std::max(window.lo_ns, side->doorbell_ns);
  }
  return window;
}

Window Windows::OfCommand(size_t row, bool made) const {
  const Commands& commands = model_.commands;
  const uint32_t device = commands.device[row];
  const HostJob* side = SideOf(device, commands.job[row]);
  const auto of = made ? &Windows::OfRecord : &Windows::UpToRecord;
  Window window = (this->*of)(device, commands.record[row], decoder_.near.commands[row]);
  if (side == nullptr) return window;
  if (side->submit_ns != kNoTime) window.lo_ns = std::max(window.lo_ns, side->submit_ns);
  if (side->complete_ns != kNoTime) window.hi_ns = std::min(window.hi_ns, side->complete_ns);
  return window;
}

Window Windows::OfEvent(size_t row) const {
  const DeviceEvents& events = model_.device_events;
  const uint32_t device = events.device[row];
  Window window = OfRecord(device, decoder_.event_records[row], decoder_.near.device_events[row]);
  if (!devices_[device].ordered) {
    window = OfStream(device, decoder_.near.device_events[row]);
  } else {
    // Read when its record was made: of all jumps before it and of none after it.
    const bool jump = events.kind[row] == DeviceEventBatch::KIND_CLOCK && events.arg1[row] != 0;
    window.max_jumps += jump;
    window.min_jumps = window.max_jumps;
  }
  if (events.kind[row] != DeviceEventBatch::KIND_DOORBELL) return window;
  const auto job =
      doorbells_.find({uint64_t{device} << 32 | events.arg2[row], events.time.raw_ticks[row]});
  if (job == doorbells_.end() || job->second == kAmbiguous) return window;
  const Window known = OfDoorbell(job->second);
  window.lo_ns = std::max(window.lo_ns, known.lo_ns);
  window.hi_ns = std::min(window.hi_ns, known.hi_ns);
  return window;
}

Window Windows::OfStream(uint32_t device, int64_t near_ns) const {
  Window window;
  window.near_ns = near_ns;
  if (near_ns != clock::Map::kNoHint) window.lo_ns = near_ns - kStreamNs;
  // Samples may be missing: the next one is not always soon behind.
  const auto& samples_ns = devices_[device].samples_ns;
  const auto next = std::upper_bound(samples_ns.begin(), samples_ns.end(), near_ns);
  if (next != samples_ns.end()) window.hi_ns = *next + kStreamNs;
  Bound(&window);
  return window;
}

bool Windows::Losses(uint32_t device, uint64_t* last_after, uint64_t* first_before) const {
  const auto& records = devices_[device].records;
  if (!devices_[device].ordered) return false;
  const auto lost = [](const Record& a, const Record& b) { return b.record - a.record > 1; };
  const auto first = std::adjacent_find(records.begin(), records.end(), lost);
  if (first == records.end()) return false;
  *first_before = first->record;
  const auto last =
      std::adjacent_find(records.rbegin(), records.rend(),
                         [&](const Record& b, const Record& a) { return lost(a, b); });
  *last_after = last->record;
  return true;
}

std::vector<Window> Windows::WhenLost(uint32_t device) const {
  constexpr int64_t kMost = 65'536;
  std::vector<Window> windows;
  const auto& records = devices_[device].records;
  for (size_t i = 1; devices_[device].ordered && i < records.size(); ++i) {
    if (records[i].record - records[i - 1].record <= 1) continue;
    Window when;
    when.lo_ns = records[i - 1].lo_ns;
    when.hi_ns = records[i].hi_ns;
    // Of many, neighbours are told as one.
    const bool joined = !windows.empty() && (when.lo_ns <= windows.back().hi_ns ||
                                             static_cast<int64_t>(windows.size()) >= kMost);
    if (joined) windows.back().hi_ns = when.hi_ns;
    if (!joined) windows.push_back(when);
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
