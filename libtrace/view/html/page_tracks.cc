// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/page_tracks.h"

#include <fmt/format.h>

#include <algorithm>

namespace acceltrace::view {
namespace {

constexpr std::array<PageKindAbout, kNumPageKinds> kKinds = {{{"piece", kPiecesTable},
                                                              {"path", kPathTable},
                                                              {"loss", kLossesTable},
                                                              {"recorder", kRecorderTable},
                                                              {"range", kRangesTable},
                                                              {"api", kApiTable},
                                                              {"submit", kJobsTable},
                                                              {"wait", kJobsTable},
                                                              {"wake", kJobsTable},
                                                              {"job", kJobsTable},
                                                              {"sent", kJobsTable},
                                                              {"irq", kJobsTable},
                                                              {"command", kCommandsTable},
                                                              {"stall", kCommandsTable},
                                                              {"device_event", kDeviceEventsTable},
                                                              {"host", kHostTable}}};

// Returns true for events that other tracks show as edges of the events that they are part of.
bool IsShownElsewhere(uint32_t host_kind) {
  switch (host_kind) {
    case proto::HostBatch::KIND_SUBMIT:
    case proto::HostBatch::KIND_DOORBELL:
    case proto::HostBatch::KIND_IRQ:
    case proto::HostBatch::KIND_COMPLETE:
    case proto::HostBatch::KIND_WAIT:
    case proto::HostBatch::KIND_WAKE:
    case proto::HostBatch::KIND_SUBMIT_END:
      return true;
    default:
      return false;
  }
}

}  // namespace

const PageKindAbout& AboutKind(PageKind kind) { return kKinds[kind]; }

std::optional<PageKind> KindOfName(std::string_view name) {
  for (int kind = 0; kind < kNumPageKinds; ++kind) {
    if (kKinds[kind].name == name) return static_cast<PageKind>(kind);
  }
  return std::nullopt;
}

PageTracks::PageTracks(const analysis::Report& report, const analysis::TracerWork& work,
                       const PagePath& path)
    : report_(report), model_(*report.model), work_(work), path_(path) {
  DescribeRun();
  DescribeHost();
  DescribeDevices();
  Build();
}

size_t PageTracks::Rows(PageTableId table) const {
  switch (table) {
    case kApiTable:
      return model_.api.size();
    case kRangesTable:
      return model_.ranges.size();
    case kJobsTable:
      return model_.jobs.size();
    case kCommandsTable:
      return model_.commands.size();
    case kHostTable:
      return model_.host.size();
    case kDeviceEventsTable:
      return model_.device_events.size();
    case kLossesTable:
      return model_.losses.size();
    case kPiecesTable:
      return report_.breakdown.pieces.size();
    case kRecorderTable:
      return work_.recorder().size();
    case kPathTable:
      return path_.steps.size();
    case kNumPageTables:
      break;
  }
  return 0;
}

void PageTracks::DescribeRun() {
  const auto at = [this](PageKind kind, TrackKind track, auto span) {
    sources_[kind].span = span;
    keys_[kind] = [track](uint32_t) -> std::optional<Key> { return Key{track}; };
  };
  at(kPieceEvent, kRun, [this](uint32_t i) {
    const auto& pieces = report_.breakdown.pieces;
    return std::pair{i == 0 ? report_.breakdown.begin_ns : pieces[i - 1].end_ns, pieces[i].end_ns};
  });
  at(kPathEvent, kPath, [this](uint32_t i) {
    return std::pair{path_.steps[i].begin_ns, path_.steps[i].end_ns};
  });
  at(kRecorderEvent, kTracer, [this](uint32_t i) {
    return std::pair{work_.recorder()[i].begin_ns, work_.recorder()[i].end_ns};
  });
  at(kLossEvent, kLosses, [this](uint32_t i) {
    const model::Loss& loss = model_.losses[i];
    return std::pair{loss.first_ns, std::max(loss.first_ns, loss.last_ns)};
  });
  keys_[kLossEvent] = [this](uint32_t i) -> std::optional<Key> {
    if (model_.losses[i].first_ns == model::kNoTime) return std::nullopt;
    return Key{kLosses};
  };
  sources_[kLossEvent].amount = [this](uint32_t i) { return model_.losses[i].count; };
}

void PageTracks::DescribeHost() {
  const model::ApiCalls& api = model_.api;
  const model::Ranges& ranges = model_.ranges;
  const model::Jobs& jobs = model_.jobs;
  sources_[kApiEvent].span = [&api](uint32_t i) {
    return std::pair{api.begin_ns[i], api.end_ns[i]};
  };
  sources_[kApiEvent].amount = [&api](uint32_t i) { return api.bytes[i]; };
  keys_[kApiEvent] = [&api](uint32_t i) -> std::optional<Key> {
    return Key{kCalls, api.pid[i], api.tid[i]};
  };
  sources_[kRangeEvent].span = [&ranges](uint32_t i) {
    return std::pair{ranges.begin_ns[i], ranges.end_ns[i]};
  };
  keys_[kRangeEvent] = [&ranges](uint32_t i) -> std::optional<Key> {
    return Key{kRanges, ranges.pid[i], ranges.tid[i]};
  };
  sources_[kSubmitEvent].span = [&jobs](uint32_t i) {
    return std::pair{jobs.submit_ns[i],
                     std::max({jobs.submit_ns[i], jobs.doorbell_ns[i], jobs.submit_end_ns[i]})};
  };
  sources_[kSubmitEvent].amount = [&jobs](uint32_t i) { return jobs.copy_bytes[i]; };
  keys_[kSubmitEvent] = [&jobs](uint32_t i) -> std::optional<Key> {
    if (jobs.submit_ns[i] == model::kNoTime) return std::nullopt;
    return Key{kDriver, jobs.pid[i], jobs.tid[i]};
  };
  sources_[kWaitEvent].span = [&jobs](uint32_t i) {
    return std::pair{jobs.wait_ns[i], jobs.wake_ns[i]};
  };
  sources_[kWakeEvent].span = [&jobs](uint32_t i) {
    return std::pair{jobs.wake_ns[i], jobs.wake_ns[i]};
  };
  keys_[kWakeEvent] = [&jobs, &api](uint32_t i) -> std::optional<Key> {
    const uint32_t waiter = jobs.wait_api_row[i];
    if (jobs.wake_ns[i] == model::kNoTime || waiter == model::kNoRow) return std::nullopt;
    return Key{kDriver, api.pid[waiter], api.tid[waiter]};
  };
  keys_[kWaitEvent] = [&jobs, this](uint32_t i) -> std::optional<Key> {
    if (jobs.wait_ns[i] == model::kNoTime) return std::nullopt;
    return keys_[kWakeEvent](i);
  };
  const model::HostEvents& host = model_.host;
  sources_[kHostEvent].span = [&host](uint32_t i) {
    return std::pair{host.time_ns[i], host.time_ns[i]};
  };
  keys_[kHostEvent] = [&host, this](uint32_t i) -> std::optional<Key> {
    if (host.device[i] >= model_.devices.size() || IsShownElsewhere(host.kind[i])) {
      return std::nullopt;
    }
    return Key{kDriverEvents, host.device[i]};
  };
}

void PageTracks::DescribeDevices() {
  const model::Jobs& jobs = model_.jobs;
  const model::Commands& commands = model_.commands;
  const model::DeviceEvents& events = model_.device_events;
  sources_[kJobEvent].span = [&jobs](uint32_t i) {
    return std::pair{jobs.doorbell.host[i].mid_ns, jobs.completion.host[i].mid_ns};
  };
  sources_[kJobEvent].amount = [&jobs](uint32_t i) { return jobs.copy_bytes[i]; };
  keys_[kJobEvent] = [&jobs](uint32_t i) -> std::optional<Key> {
    if (jobs.on_device[i] == 0) return std::nullopt;
    return Key{kQueue, jobs.device[i], jobs.queue[i]};
  };
  sources_[kSentEvent].span = [&jobs](uint32_t i) {
    return std::pair{jobs.irq.host[i].mid_ns, jobs.irq.host[i].mid_ns};
  };
  keys_[kSentEvent] = [&jobs](uint32_t i) -> std::optional<Key> {
    if (jobs.on_device[i] == 0 || jobs.has_irq[i] == 0) return std::nullopt;
    return Key{kInterrupts, jobs.device[i]};
  };
  sources_[kIrqEvent].span = [&jobs](uint32_t i) {
    return std::pair{jobs.irq_ns[i], jobs.complete_ns[i]};
  };
  keys_[kIrqEvent] = [&jobs](uint32_t i) -> std::optional<Key> {
    if (jobs.irq_ns[i] == model::kNoTime || jobs.complete_ns[i] == model::kNoTime) {
      return std::nullopt;
    }
    return Key{kInterrupts, jobs.device[i]};
  };
  sources_[kCommandEvent].span = [&commands](uint32_t i) {
    return std::pair{commands.start.host[i].mid_ns, commands.end.host[i].mid_ns};
  };
  sources_[kCommandEvent].amount = [&commands](uint32_t i) { return commands.bytes[i]; };
  keys_[kCommandEvent] = [&commands](uint32_t i) -> std::optional<Key> {
    return Key{kUnit, commands.device[i], commands.unit[i]};
  };
  sources_[kStallEvent].span = [&commands](uint32_t i) {
    return std::pair{commands.head.host[i].mid_ns, commands.start.host[i].mid_ns};
  };
  keys_[kStallEvent] = [&commands](uint32_t i) -> std::optional<Key> {
    if (commands.head.host[i].mid_ns >= commands.start.host[i].mid_ns) return std::nullopt;
    return Key{kWaits, commands.device[i], commands.unit[i]};
  };
  // The commands of all devices have one source, so use the number of causes that all devices have.
  size_t causes = model_.devices.empty() ? 0 : stream::kMaxStalls;
  for (const model::Device& device : model_.devices) {
    causes = std::min(causes, static_cast<size_t>(device.about.stalls_size()));
  }
  sources_[kCommandEvent].num_parts = causes;
  sources_[kCommandEvent].parts = [this, causes](uint32_t i) {
    static thread_local uint64_t stalls[stream::kMaxStalls];  // valid until the next call
    const auto of = model_.Stalls(i);
    for (size_t s = 0; s < causes; ++s) stalls[s] = of[static_cast<ptrdiff_t>(s)];
    return static_cast<const uint64_t*>(stalls);
  };
  sources_[kDeviceEventEvent].span = [&events](uint32_t i) {
    return std::pair{events.time.host[i].mid_ns, events.time.host[i].mid_ns};
  };
  keys_[kDeviceEventEvent] = [&events](uint32_t i) -> std::optional<Key> {
    if (events.kind[i] == proto::DeviceEventBatch::KIND_DOORBELL) return std::nullopt;
    return Key{kDeviceEvents, events.device[i]};
  };
}

std::string PageTracks::IdOf(const Key& key) {
  switch (key.kind) {
    case kRun:
      return "run";
    case kPath:
      return "path";
    case kLosses:
      return "losses";
    case kTracer:
      return "tracer";
    case kRanges:
      return fmt::format("t{}.{}.r", key.a, key.b);
    case kCalls:
      return fmt::format("t{}.{}.a", key.a, key.b);
    case kDriver:
      return fmt::format("t{}.{}.d", key.a, key.b);
    case kQueue:
      return fmt::format("q{}.{}", key.a, key.b);
    case kUnit:
      return fmt::format("u{}.{}", key.a, key.b);
    case kWaits:
      return fmt::format("w{}.{}", key.a, key.b);
    case kInterrupts:
      return fmt::format("i{}", key.a);
    case kDeviceEvents:
      return fmt::format("e{}", key.a);
    case kDriverEvents:
      return fmt::format("h{}", key.a);
  }
  return "";
}

std::optional<std::string> PageTracks::TrackOf(PageKind kind, uint32_t row) const {
  if (row >= Rows(kKinds[kind].table)) return std::nullopt;
  const std::optional<Key> key = keys_[kind](row);
  if (!key) return std::nullopt;
  std::string id = IdOf(*key);
  return Find(id) == nullptr ? std::nullopt : std::optional(std::move(id));
}

const PageTrack* PageTracks::Find(const std::string& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tracks_[found->second];
}

std::pair<int64_t, int64_t> PageTracks::Span(PageKind kind, uint32_t row) const {
  const auto [begin_ns, end_ns] = sources_[kind].span(row);
  return {begin_ns, std::max(begin_ns, end_ns)};
}

void PageTracks::Build() {
  std::unordered_map<Key, size_t, KeyHash> numbers;
  std::vector<Key> keys;
  std::vector<RowsByKind> rows;
  for (int k = 0; k < kNumPageKinds; ++k) {
    const auto kind = static_cast<PageKind>(k);
    const size_t n = Rows(kKinds[kind].table);
    std::optional<Key> last;
    size_t number = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const std::optional<Key> key = keys_[kind](i);
      if (!key) continue;
      if (!last || !(*key == *last)) {
        number = numbers.emplace(*key, keys.size()).first->second;
        if (number == keys.size()) keys.push_back(*key), rows.emplace_back();
        last = key;
      }
      RowsByKind& mine = rows[number];
      if (mine.empty() || mine.back().first != kind) mine.emplace_back(kind, 0);
      mine.back().second.push_back(i);
    }
  }
  const auto events = [&rows](size_t t) {
    size_t sum = 0;
    for (const auto& [kind, list] : rows[t]) sum += list.size();
    return sum;
  };
  std::vector<size_t> order(keys.size());
  for (size_t t = 0; t < order.size(); ++t) order[t] = t;
  if (order.size() > kMostTracks) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return events(a) > events(b); });
    left_out_ = order.size() - kMostTracks;
    order.resize(kMostTracks);
    std::sort(order.begin(), order.end());
  }
  // Pyramids refer to sources_, which do not move in memory.
  tracks_.reserve(order.size());
  for (size_t t : order) BuildTrack(keys[t], &rows[t]);
}

// Sorts by begin, with longer ones first if equal.
void PageTracks::Sort(PageKind kind, std::vector<uint32_t>* rows) const {
  const auto before = [this, kind](uint32_t a, uint32_t b) {
    const auto [begin_a, end_a] = Span(kind, a);
    const auto [begin_b, end_b] = Span(kind, b);
    return begin_a != begin_b ? begin_a < begin_b : end_a > end_b;
  };
  if (!std::is_sorted(rows->begin(), rows->end(), before)) {
    std::stable_sort(rows->begin(), rows->end(), before);
  }
}

void PageTracks::BuildTrack(const Key& key, RowsByKind* rows) {
  PageTrack track;
  track.id = IdOf(key);
  for (auto& [kind, list] : *rows) Sort(kind, &list), track.events += list.size();
  std::vector<size_t> at(rows->size());
  std::vector<std::vector<std::vector<uint32_t>>> by_lane(rows->size());
  std::vector<int64_t> ends;  // of each lane
  for (uint64_t placed = 0; placed < track.events; ++placed) {
    // Find the kind whose next event comes first.
    size_t next = rows->size();
    std::pair<int64_t, int64_t> span;
    for (size_t k = 0; k < rows->size(); ++k) {
      const auto& [kind, list] = (*rows)[k];
      if (at[k] == list.size()) continue;
      const auto mine = Span(kind, list[at[k]]);
      if (next == rows->size() || mine.first < span.first ||
          (mine.first == span.first && mine.second > span.second)) {
        next = k, span = mine;
      }
    }
    const auto& [kind, list] = (*rows)[next];
    const uint32_t row = list[at[next]++];
    size_t lane = 0;
    while (lane < ends.size() && ends[lane] > span.first) ++lane;
    lane = std::min(lane, kMostLanes - 1);
    if (lane == ends.size()) ends.push_back(span.second);
    ends[lane] = std::max(ends[lane], span.second);
    if (lane > 0) {
      if (lanes_[kind].empty()) lanes_[kind].resize(Rows(kKinds[kind].table));
      lanes_[kind][row] = static_cast<uint8_t>(lane);
    }
    if (by_lane[next].size() <= lane) by_lane[next].resize(lane + 1);
    by_lane[next][lane].push_back(row);
  }
  for (size_t k = 0; k < rows->size(); ++k) {
    const PageKind kind = (*rows)[k].first;
    (*rows)[k].second = {};
    for (size_t lane = 0; lane < by_lane[k].size(); ++lane) {
      if (by_lane[k][lane].empty()) continue;
      by_lane[k][lane].shrink_to_fit();
      track.parts.push_back({kind, static_cast<uint8_t>(lane),
                             Pyramid(&sources_[kind], std::move(by_lane[k][lane]))});
    }
  }
  track.lanes = static_cast<uint8_t>(ends.size());
  by_id_.emplace(track.id, tracks_.size());
  tracks_.push_back(std::move(track));
}

size_t PageTracks::Bytes() const {
  size_t bytes = 0;
  for (const auto& lanes : lanes_) bytes += lanes.size();
  for (const PageTrack& track : tracks_) {
    for (const PageLane& lane : track.parts) bytes += lane.events.Bytes();
  }
  return bytes;
}

}  // namespace acceltrace::view
