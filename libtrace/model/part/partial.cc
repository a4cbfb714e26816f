// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/part/partial.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "libtrace/model/load/late_times.h"
#include "libtrace/model/load/load.h"
#include "libtrace/model/part/rough_clock.h"
#include "libtrace/model/tables/wanted.h"
#include "libtrace/stream/columns/columns.h"
#include "libtrace/stream/columns/packet_decoder.h"

namespace acceltrace::model {
namespace {

using proto::Packet;
using stream::PacketTimes;

// For packets whose time only follows from their place in the stream: the daemon sends collected
// data every half second.
constexpr int64_t kStreamNs = 2'000'000'000;
// Number of packets of clock samples that are read on either side of a part.
constexpr size_t kClocksBeside = 2;

enum class Use { kAlways, kClock, kEvents, kWithin, kNever };

Use UseOf(uint32_t body) {
  switch (body) {
    case Packet::kApi:
    case Packet::kRanges:
    case Packet::kHost:
    case Packet::kCommands:
    case Packet::kJobs:
      return Use::kEvents;
    case Packet::kCounters:
    case Packet::kDeviceEvents:
    case Packet::kOthers:
    case Packet::kThreadRuns:
    case Packet::kInterrupts:
    case Packet::kSystemSamples:
    case Packet::kCallStacks:
      return Use::kWithin;
    case Packet::kClocks:
      return Use::kClock;
    case 0:
    case Packet::kIndex:
    case Packet::kFooter:
      return Use::kNever;
    default:
      return Use::kAlways;
  }
}

bool IsWanted(uint32_t body, const Wanted& wanted) {
  switch (body) {
    case Packet::kApi:
      return wanted.api;
    case Packet::kRanges:
      return wanted.ranges;
    case Packet::kHost:
    case Packet::kCommands:
    case Packet::kJobs:
      return wanted.by_job;
    case Packet::kCounters:
    case Packet::kDeviceEvents:
      return wanted.device_times;
    default:
      return false;
  }
}

}  // namespace

PartialTrace::PartialTrace() = default;
PartialTrace::~PartialTrace() = default;

std::unique_ptr<PartialTrace> PartialTrace::Open(const std::string& path, uint64_t least_events,
                                                 Checked checked) {
  return Of(stream::FileIndex::Open(path), least_events, checked);
}

std::unique_ptr<PartialTrace> PartialTrace::Of(std::unique_ptr<stream::FileIndex> index,
                                               uint64_t least_events, Checked checked) {
  if (index == nullptr || index->events() < least_events) return nullptr;
  if (checked == Checked::kAll && !index->Whole()) return nullptr;
  if (checked == Checked::kWhatIsRead && !index->Complete()) return nullptr;
  auto trace = std::make_unique<PartialTrace>();
  trace->index_ = std::move(index);
  if (!trace->Find()) return nullptr;
  return trace;
}

void PartialTrace::ForgetTimes(int64_t from_ns, int64_t to_ns, Model* model) {
  for (Loss& loss : model->losses) {
    if (!loss.from_device || !loss.has_times) continue;
    if (loss.first.host.lo_ns >= from_ns && loss.last.host.hi_ns <= to_ns) continue;
    loss.has_times = false;
    loss.first_ns = loss.last_ns = kNoTime;
  }
}

bool PartialTrace::Find() {
  if (!FindParts()) return false;
  Measure();
  return events_ > 0 && begin_ns_ < end_ns_ && end_ns_ - begin_ns_ < kMostNs;
}

bool PartialTrace::FindParts() {
  std::map<uint32_t, RoughClock>& clocks = rough_;
  stream::PacketDecoder decoder;
  const std::vector<stream::PacketPlace>& packets = index_->packets();
  for (size_t place = 0; place < packets.size(); ++place) {
    if (UseOf(packets[place].body) != Use::kClock) continue;
    Packet packet;
    if (!index_->Read(place, &decoder, &packet) ||
        packet.clocks().host_before_ns_delta_size() == 0) {
      always_.push_back(place);  // reading this packet will fail
      continue;
    }
    clocks[packet.clocks().device()].Add(packet.clocks());
    stream::DeltaDecoder times(packet.clocks().host_before_ns_delta());
    Part part;
    part.place = place, part.lo_ns = INT64_MAX, part.hi_ns = INT64_MIN;
    for (int i = 0; i < packet.clocks().host_before_ns_delta_size(); ++i) {
      const auto at_ns = static_cast<int64_t>(times.NextUnsigned());
      part.lo_ns = std::min(part.lo_ns, at_ns), part.hi_ns = std::max(part.hi_ns, at_ns);
    }
    clocks_[packet.clocks().device()].push_back(part);
  }
  for (auto& clock : clocks) {
    if (!clock.second.Finish()) return false;
  }
  for (auto& [device, parts] : clocks_) {
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.lo_ns < b.lo_ns; });
  }
  // Packets with unknown times are between their neighbours.
  int64_t before_ns = INT64_MIN;
  std::vector<size_t> unknown;
  const auto place_unknown = [&](int64_t after_ns) {
    for (const size_t part : unknown) {
      if (before_ns != INT64_MIN) parts_[part].lo_ns = before_ns - kStreamNs;
      if (after_ns != INT64_MAX) parts_[part].hi_ns = after_ns + kStreamNs;
    }
    unknown.clear();
  };
  for (size_t place = 0; place < packets.size(); ++place) {
    const Use use = UseOf(packets[place].body);
    if (use == Use::kAlways) always_.push_back(place);
    if (use != Use::kEvents && use != Use::kWithin) continue;
    const PacketTimes times = index_->Times(place);
    Part part;
    part.place = place, part.lo_ns = INT64_MIN, part.hi_ns = INT64_MAX;
    part.body = packets[place].body;
    part.events = use == Use::kEvents ? packets[place].events : 0;
    part.device = times.device, part.sets_clock = part.body == Packet::kDeviceEvents;
    if (times.clock == PacketTimes::Clock::kHost) {
      part.lo_ns = std::clamp(static_cast<int64_t>(times.first), -kMostNs, kMostNs);
      part.hi_ns = std::clamp(static_cast<int64_t>(times.last), -kMostNs, kMostNs);
      place_unknown(part.lo_ns);
      before_ns = std::max(before_ns, part.hi_ns);
    } else if (const auto clock = clocks.find(times.device);
               times.clock == PacketTimes::Clock::kDevice && clock != clocks.end()) {
      part.lo_ns = clock->second.HostNs(times.first), part.hi_ns = clock->second.HostNs(times.last);
    } else if (times.clock == PacketTimes::Clock::kDevice) {
      return false;
    } else {
      part.known = false;
      unknown.push_back(parts_.size());
    }
    part.hi_ns = std::max(part.lo_ns, part.hi_ns);
    parts_.push_back(part);
  }
  place_unknown(INT64_MAX);
  return true;
}

void PartialTrace::Measure() {
  begin_ns_ = INT64_MAX, end_ns_ = INT64_MIN;
  std::vector<std::pair<int64_t, double>> turns;  // changes of the rate, in events per ns
  for (const Part& part : parts_) {
    events_ += part.events;
    if (part.events == 0 || !part.known) continue;
    begin_ns_ = std::min(begin_ns_, part.lo_ns), end_ns_ = std::max(end_ns_, part.hi_ns);
  }
  for (const Part& part : parts_) {
    const int64_t lo_ns = std::max(part.lo_ns, begin_ns_), hi_ns = std::min(part.hi_ns, end_ns_);
    if (part.events == 0 || lo_ns > hi_ns) continue;
    const double rate = static_cast<double>(part.events) /
                        (static_cast<double>(hi_ns) - static_cast<double>(lo_ns) + 1);
    turns.emplace_back(lo_ns, rate);
    turns.emplace_back(hi_ns + 1, -rate);
  }
  std::sort(turns.begin(), turns.end());
  double rate = 0, events = 0;
  for (const auto& [at_ns, more] : turns) {
    if (!steps_.empty()) {
      events += rate * (static_cast<double>(at_ns) - static_cast<double>(steps_.back().at_ns));
    }
    steps_.push_back({at_ns, events});
    rate = std::max(0.0, rate + more);
  }
}

std::vector<Stretch> PartialTrace::Spread(size_t count, uint64_t events) const {
  const double all = steps_.empty() ? 0 : steps_.back().events;
  if (count == 0 || static_cast<double>(count) * static_cast<double>(events) >= all) {
    return {{begin_ns_, end_ns_}};
  }
  const auto when = [this](double wanted) {
    const auto after =
        std::lower_bound(steps_.begin() + 1, steps_.end() - 1, wanted,
                         [](const Step& step, double number) { return step.events < number; });
    const Step &a = *(after - 1), &b = *after;
    const double part = b.events > a.events ? (wanted - a.events) / (b.events - a.events) : 0;
    return a.at_ns +
           static_cast<int64_t>(std::clamp(part, 0.0, 1.0) *
                                (static_cast<double>(b.at_ns) - static_cast<double>(a.at_ns)));
  };
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < count; ++i) {
    const double middle = all * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    const double half = 0.5 * static_cast<double>(events);
    stretches.push_back({when(middle - half), when(middle + half)});
  }
  return stretches;
}

double PartialTrace::EventsUntil(int64_t at_ns) const {
  const auto after = std::lower_bound(steps_.begin(), steps_.end(), at_ns,
                                      [](const Step& step, int64_t ns) { return step.at_ns < ns; });
  if (after == steps_.begin()) return 0;
  if (after == steps_.end()) return steps_.back().events;
  const Step &a = *(after - 1), &b = *after;
  return a.events + (b.events - a.events) *
                        (static_cast<double>(at_ns) - static_cast<double>(a.at_ns)) /
                        (static_cast<double>(b.at_ns) - static_cast<double>(a.at_ns));
}

uint64_t PartialTrace::EventsWithin(int64_t from_ns, int64_t to_ns) const {
  return static_cast<uint64_t>(std::max(0.0, EventsUntil(to_ns) - EventsUntil(from_ns)));
}

double PartialTrace::TimeAround(const std::vector<Stretch>& stretches, size_t i) const {
  const auto between = [&](size_t a, size_t b) {
    return 0.5 * (EventsUntil(stretches[a].to_ns) + EventsUntil(stretches[b].from_ns));
  };
  const double from = i == 0 ? 0 : between(i - 1, i);
  const double to = i + 1 == stretches.size() ? steps_.back().events : between(i, i + 1);
  double time_ns = 0;
  for (size_t s = 1; s < steps_.size(); ++s) {
    const Step &a = steps_[s - 1], &b = steps_[s];
    if (!(b.events > a.events)) continue;
    const double part = std::min(to, b.events) - std::max(from, a.events);
    if (part <= 0) continue;
    time_ns += part / (b.events - a.events) *
               (static_cast<double>(b.at_ns) - static_cast<double>(a.at_ns));
  }
  return time_ns;
}

std::vector<PartialTrace::Part> PartialTrace::ClocksAround(const std::vector<Part>& clocks,
                                                           int64_t from_ns, int64_t to_ns) const {
  // Sorted by begin: the first that may reach into the period, and the first after it.
  const auto first = std::find_if(clocks.begin(), clocks.end(),
                                  [&](const Part& part) { return part.hi_ns >= from_ns; });
  const auto behind =
      std::find_if(first, clocks.end(), [&](const Part& part) { return part.lo_ns > to_ns; });
  const auto before = static_cast<size_t>(first - clocks.begin());
  const auto after = static_cast<size_t>(clocks.end() - behind);
  return {first - static_cast<ptrdiff_t>(std::min(before, kClocksBeside)),
          behind + static_cast<ptrdiff_t>(std::min(after, kClocksBeside))};
}

std::vector<size_t> PartialTrace::PlacesAround(const Stretch& stretch, const Wanted* wanted) const {
  // Jobs across the border were submitted before it, and calls that wait for them return after it.
  const int64_t margin_ns = MarginOf(stretch);
  const auto overlaps = [&](const Part& part, int64_t more_ns) {
    return part.lo_ns <= stretch.to_ns + more_ns && part.hi_ns >= stretch.from_ns - more_ns;
  };
  std::vector<size_t> places = always_;
  // Every change of a clock between the samples that are read has to be known.
  std::map<uint32_t, Part> sampled;
  for (const auto& [device, clocks] : clocks_) {
    if (wanted != nullptr && !wanted->device_times) break;
    Part& all = sampled[device];
    all.lo_ns = stretch.from_ns - margin_ns, all.hi_ns = stretch.to_ns + margin_ns;
    for (const Part& part : ClocksAround(clocks, all.lo_ns, all.hi_ns)) {
      places.push_back(part.place);
      all.lo_ns = std::min(all.lo_ns, part.lo_ns), all.hi_ns = std::max(all.hi_ns, part.hi_ns);
    }
  }
  for (const Part& part : parts_) {
    if (wanted != nullptr && !IsWanted(part.body, *wanted)) continue;
    const auto clock = sampled.find(part.device);
    const bool changes = part.sets_clock && clock != sampled.end() &&
                         part.lo_ns <= clock->second.hi_ns && part.hi_ns >= clock->second.lo_ns;
    if (changes || overlaps(part, margin_ns)) places.push_back(part.place);
  }
  std::sort(places.begin(), places.end());
  return places;
}

std::optional<std::vector<uint8_t>> PartialTrace::TellJobs(const Stretch& stretch,
                                                           const Model& model) const {
  std::vector<const RoughClock*> clocks;  // by row
  for (const Device& device : model.devices) {
    const auto found = rough_.find(device.about.device());
    clocks.push_back(found == rough_.end() ? nullptr : &found->second);
  }
  const Jobs& jobs = model.jobs;
  const int64_t guard_ns = GuardOf(MarginOf(stretch));
  std::vector<uint8_t> in(jobs.size(), 0);
  for (size_t j = 0; j < jobs.size(); ++j) {
    int64_t lo_ns = INT64_MAX, hi_ns = INT64_MIN, more_ns = 0;
    const auto see = [&](int64_t at_ns) {
      if (at_ns != kNoTime) lo_ns = std::min(lo_ns, at_ns), hi_ns = std::max(hi_ns, at_ns);
    };
    for (const auto* column : {&jobs.submit_ns, &jobs.doorbell_ns, &jobs.submit_end_ns,
                               &jobs.irq_ns, &jobs.complete_ns}) {
      see((*column)[j]);
    }
    if (jobs.submit_ns[j] == kNoTime || jobs.complete_ns[j] == kNoTime) {
      const RoughClock* const clock = clocks[jobs.device[j]];
      if (clock == nullptr) return std::nullopt;
      const auto see_roughly = [&](uint64_t ticks) { see(clock->HostNs(ticks)); };
      more_ns = guard_ns;
      if (jobs.on_device[j]) {
        see_roughly(jobs.doorbell.ticks[j]), see_roughly(jobs.completion.ticks[j]);
      }
      for (uint32_t c = 0; lo_ns > hi_ns && c < jobs.num_commands[j]; ++c) {
        see_roughly(model.commands.fetched.ticks[jobs.first_command[j] + c]);
      }
    }
    in[j] =
        lo_ns <= hi_ns && lo_ns <= stretch.to_ns + more_ns && hi_ns >= stretch.from_ns - more_ns;
    if (in[j] && more_ns != 0) return std::nullopt;
  }
  return in;
}

Result<std::unique_ptr<Model>> PartialTrace::Load(const Stretch& stretch,
                                                  const Selection& selection,
                                                  const Wanted* wanted) const {
  const std::unique_ptr<stream::Reader> reader = index_->Choose(PlacesAround(stretch, wanted));
  LoadOptions options;
  options.wanted = wanted;
  Result<std::unique_ptr<Model>> loaded = LoadRows(reader.get(), options, true);
  AboutPart about;
  about.part = true;
  about.wanted = wanted;
  std::optional<std::vector<uint8_t>> told;
  const bool without_times = wanted != nullptr && !wanted->device_times;
  if (without_times && loaded.ok()) told = TellJobs(stretch, **loaded);
  if (without_times && !told) {
    Wanted more = *wanted;
    more.AddDeviceTimes();
    return Load(stretch, selection, &more);
  }
  if (told) about.jobs = &*told;
  if (!loaded.ok()) return loaded;
  Model& model = **loaded;
  if (model.read.gap_count > 0) return Status::Error("a part of the trace is damaged");
  const int64_t margin_ns = MarginOf(stretch);
  ForgetTimes(stretch.from_ns - margin_ns, stretch.to_ns + margin_ns, &model);
  Selection within = selection;
  within.origin_ns = begin_ns_;
  within.from_ns = stretch.from_ns - begin_ns_;
  within.to_ns = stretch.to_ns - begin_ns_;
  const Status selected = Select(within, &model, about);
  if (!selected.ok()) return selected;
  if (wanted != nullptr) PlaceLate(wanted->placed, &model);
  model.cut.of = std::max(model.cut.rows, events_);
  return loaded;
}

}  // namespace acceltrace::model
