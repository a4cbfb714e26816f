// SPDX-License-Identifier: Apache-2.0
//
// Queries on single events of a served trace: names, the next event, search, and areas.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <unordered_map>

#include "libtrace/view/common/page_columns.h"
#include "libtrace/view/html/page_source.h"

namespace acceltrace::view {
namespace {

constexpr const char* kHostNames[] = {
    "event",      "submit", "doorbell", "DMA map",     "DMA unmap", "interrupt",
    "completion", "wait",   "wake-up",  "context",     "buffer",    "timeout",
    "reset",      "link",   "fence",    "submit ends", "dependency"};
constexpr const char* kDeviceNames[] = {"event",    "link changed", "clock changed",
                                        "throttle", "memory error", "context error",
                                        "reset",    "doorbell"};

template <size_t N>
std::string NameIn(const char* const (&names)[N], uint32_t kind) {
  return names[kind < N ? kind : 0];
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// A lower-case name to search. "[A-B]" in it also matches any number from A to B, as
// analysis/rows/names.h folds names.
class Wanted {
 public:
  explicit Wanted(std::string text) : text_(std::move(text)) {
    size_t from = 0;
    for (size_t at = text_.find('['); at != text_.npos; at = text_.find('[', at + 1)) {
      Range range;
      const char* const end = text_.data() + text_.size();
      const auto [dash, bad] = std::from_chars(text_.data() + at + 1, end, range.least);
      if (bad != std::errc() || dash == end || *dash != '-') continue;
      const auto [close, worse] = std::from_chars(dash + 1, end, range.most);
      if (worse != std::errc() || close == end || *close != ']') continue;
      range.before = text_.substr(from, at - from);
      from = static_cast<size_t>(close + 1 - text_.data());
      ranges_.push_back(std::move(range));
    }
    rest_ = text_.substr(from);
  }

  bool In(std::string_view name) const {
    if (name.find(text_) != name.npos) return true;
    for (size_t at = 0; !ranges_.empty() && at < name.size(); ++at) {
      if (IsAt(name, at)) return true;
    }
    return false;
  }

 private:
  struct Range {
    std::string before;  // the text before it
    uint64_t least = 0, most = 0;
  };

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  bool IsAt(std::string_view name, size_t at) const {
    for (const Range& range : ranges_) {
      if (name.substr(at, range.before.size()) != range.before) return false;
      at += range.before.size();
      if (at >= name.size() || !IsDigit(name[at]) || (at > 0 && IsDigit(name[at - 1])))
        return false;
      uint64_t number = 0;
      const auto [end, error] =
          std::from_chars(name.data() + at, name.data() + name.size(), number);
      if (error != std::errc() || number < range.least || number > range.most) return false;
      at = static_cast<size_t>(end - name.data());
    }
    return name.substr(at, rest_.size()) == rest_;
  }

  std::string text_, rest_;
  std::vector<Range> ranges_;
};

// Returns the cause that stalled a command most, or -1 if there is none.
int WorstStall(const model::Model& model, uint32_t row) {
  const int causes = model.devices[model.commands.device[row]].about.stalls_size();
  const auto stalls = model.Stalls(row);
  int worst = -1;
  for (int s = 0; s < causes; ++s) {
    if (stalls[s] > (worst < 0 ? 0 : stalls[worst])) worst = s;
  }
  return worst;
}

}  // namespace

uint64_t PageSource::NameKey(PageKind kind, uint32_t row) const {
  const model::Commands& commands = model_.commands;
  switch (kind) {
    case kApiEvent:
      return model_.api.name[row];
    case kRangeEvent:
      return model_.ranges.name[row];
    case kCommandEvent:
      return commands.op[row] != 0
                 ? commands.op[row]
                 : uint64_t{1} << 63 | uint64_t{commands.device[row]} << 32 | commands.opcode[row];
    case kStallEvent:
      return uint64_t{commands.device[row]} << 32 |
             static_cast<uint32_t>(WorstStall(model_, row) + 1);
    case kHostEvent:
      return model_.host.kind[row];
    case kDeviceEventEvent:
      return model_.device_events.kind[row];
    case kPieceEvent:
      return static_cast<uint64_t>(report_.breakdown.pieces[row].of);
    case kJobEvent:
      return model_.jobs.job[row];
    case kPathEvent:
    case kLossEvent:
      return row;
    default:
      return 0;
  }
}

std::string PageSource::NameOf(const PageEvent& event) const {
  const uint32_t row = event.row;
  switch (event.kind) {
    case kApiEvent:
      return model_.strings.Get(model_.api.name[row]);
    case kRangeEvent:
      return model_.strings.Get(model_.ranges.name[row]);
    case kCommandEvent: {
      const std::string& op = model_.strings.Get(model_.commands.op[row]);
      if (!op.empty()) return op;
      const uint32_t opcode = model_.commands.opcode[row];
      const model::Device& device = model_.devices[model_.commands.device[row]];
      return device.opcode_rows.count(opcode) != 0 ? device.OpcodeName(opcode)
                                                   : fmt::format("opcode {}", opcode);
    }
    case kStallEvent: {
      const int worst = WorstStall(model_, row);
      return worst < 0 ? "waits" : model_.devices[model_.commands.device[row]].about.stalls(worst);
    }
    case kJobEvent:
      return fmt::format("job {}", model_.jobs.job[row]);
    case kSubmitEvent:
      return "submit";
    case kWaitEvent:
      return "wait";
    case kWakeEvent:
      return "wake-up";
    case kIrqEvent:
      return "interrupt";
    case kSentEvent:
      return "interrupt sent";
    case kHostEvent:
      return NameIn(kHostNames, model_.host.kind[row]);
    case kDeviceEventEvent:
      return NameIn(kDeviceNames, model_.device_events.kind[row]);
    case kLossEvent:
      return fmt::format("{} lost at {}", model_.losses[row].count,
                         model_.strings.Get(model_.losses[row].hop));
    case kPieceEvent:
      return analysis::ClassText(report_.breakdown.pieces[row].of);
    case kPathEvent:
      return path_.steps[row].name;
    case kRecorderEvent:
      return "tracer";
    case kNumPageKinds:
      break;
  }
  return "";
}

std::optional<PageEvent> PageSource::ParseEvent(std::string_view text) const {
  const size_t dot = text.find('.');
  if (dot == text.npos) return std::nullopt;
  const auto kind = KindOfName(text.substr(0, dot));
  uint32_t row = 0;
  const std::string_view digits = text.substr(dot + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), row);
  if (!kind || error != std::errc() || end != digits.data() + digits.size() ||
      row >= tracks_.Rows(AboutKind(*kind).table)) {
    return std::nullopt;
  }
  return PageEvent{*kind, row};
}

std::string PageSource::EventJson(const PageEvent& event, const std::string& track) const {
  const auto [begin_ns, end_ns] = tracks_.Span(event.kind, event.row);
  return fmt::format("{{\"kind\":\"{}\",\"row\":{},\"track\":\"{}\",\"begin\":{},\"end\":{}}}",
                     AboutKind(event.kind).name, event.row, track, Less(begin_ns, model_.begin_ns),
                     Less(end_ns, model_.begin_ns));
}

std::string PageSource::Event(const PageEvent& event) const {
  const auto track = tracks_.TrackOf(event.kind, event.row);
  return track ? EventJson(event, *track) : "null";
}

// The events of a track are ordered by begin, then by lane, then by their order in the lane.
std::string PageSource::Step(const PageEvent& event, int by) const {
  const auto id = tracks_.TrackOf(event.kind, event.row);
  const PageTrack* track = id ? tracks_.Find(*id) : nullptr;
  if (track == nullptr) return "null";
  const int64_t begin_ns = tracks_.Span(event.kind, event.row).first;
  using Key = std::tuple<int64_t, size_t, size_t>;
  const auto key = [&](size_t part, size_t at) {
    const PageLane& lane = track->parts[part];
    return Key{tracks_.Span(lane.kind, lane.events.rows()[at]).first, part, at};
  };
  // The position of the event itself.
  std::optional<Key> here;
  for (size_t part = 0; part < track->parts.size() && !here; ++part) {
    const PageLane& lane = track->parts[part];
    if (lane.kind != event.kind) continue;
    for (size_t at = lane.events.Before(begin_ns); at < lane.events.size(); ++at) {
      if (tracks_.Span(lane.kind, lane.events.rows()[at]).first != begin_ns) break;
      if (lane.events.rows()[at] == event.row) here = key(part, at);
    }
  }
  if (!here) return "null";
  std::optional<Key> best;
  for (size_t part = 0; part < track->parts.size(); ++part) {
    const PageLane& lane = track->parts[part];
    size_t at = lane.events.Before(begin_ns);
    while (at < lane.events.size() && key(part, at) <= *here) {
      if (by < 0 && key(part, at) == *here) break;
      ++at;
    }
    if (by > 0 && at == lane.events.size()) continue;
    if (by < 0 && at-- == 0) continue;
    const Key mine = key(part, at);
    if (!best || (by > 0 ? mine < *best : mine > *best)) best = mine;
  }
  if (!best) return "null";
  const PageLane& lane = track->parts[std::get<1>(*best)];
  return EventJson({lane.kind, lane.events.rows()[std::get<2>(*best)]}, *id);
}

std::string PageSource::Search(std::string_view text, int64_t at) const {
  const Wanted wanted(Lower(text));
  struct Hit {
    int64_t begin_ns;
    PageEvent event;
  };
  std::vector<Hit> hits;
  std::array<std::unordered_map<uint64_t, bool>, kNumPageKinds> known;
  for (const PageTrack& track : tracks_.tracks()) {
    for (const PageLane& lane : track.parts) {
      auto& names = known[lane.kind];
      for (uint32_t row : lane.events.rows()) {
        if (hits.size() == kMostHits) break;
        const auto [found, fresh] = names.try_emplace(NameKey(lane.kind, row), false);
        if (fresh) found->second = wanted.In(Lower(NameOf({lane.kind, row})));
        if (found->second) hits.push_back({tracks_.Span(lane.kind, row).first, {lane.kind, row}});
      }
    }
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const Hit& a, const Hit& b) { return a.begin_ns < b.begin_ns; });
  const auto near = std::lower_bound(hits.begin(), hits.end(), At(at),
                                     [](const Hit& a, int64_t t) { return a.begin_ns < t; }) -
                    hits.begin();
  const auto first = static_cast<size_t>(std::clamp<ptrdiff_t>(
      near - static_cast<ptrdiff_t>(kHitsSent / 2), 0,
      std::max<ptrdiff_t>(
          0, static_cast<ptrdiff_t>(hits.size()) - static_cast<ptrdiff_t>(kHitsSent))));
  std::string json;
  for (size_t i = first; i < std::min(hits.size(), first + kHitsSent); ++i) {
    json +=
        fmt::format("{}[\"{}\",{},{}]", json.empty() ? "" : ",", AboutKind(hits[i].event.kind).name,
                    hits[i].event.row, Less(hits[i].begin_ns, model_.begin_ns));
  }
  return fmt::format("{{\"count\":{},\"first\":{},\"hits\":[{}]}}", hits.size(), first, json);
}

std::string PageSource::Area(int64_t from, int64_t to,
                             const std::vector<std::string>& tracks) const {
  const int64_t from_ns = At(from), to_ns = At(to);
  struct Name {
    PageEvent event;
    size_t track;
    uint64_t events = 0, within_ns = 0, longest_ns = 0;
  };
  std::vector<Name> names;
  std::string sums;
  for (size_t t = 0; t < tracks.size(); ++t) {
    const PageTrack* track = tracks_.Find(tracks[t]);
    if (track == nullptr) continue;
    std::array<std::unordered_map<uint64_t, size_t>, kNumPageKinds> by_key;
    std::vector<std::pair<int64_t, int64_t>> stretches;
    uint64_t events = 0, within_ns = 0;
    const auto add = [&](PageKind kind, uint32_t row) {
      const auto [begin_ns, end_ns] = tracks_.Span(kind, row);
      if (begin_ns > to_ns || end_ns < from_ns) return;
      const int64_t a = std::max(from_ns, begin_ns), b = std::min(to_ns, end_ns);
      const auto length_ns = static_cast<uint64_t>(Less(b, a));
      const auto [found, fresh] = by_key[kind].try_emplace(NameKey(kind, row), names.size());
      if (fresh) names.push_back({{kind, row}, t});
      Name& mine = names[found->second];
      ++mine.events, mine.within_ns += length_ns;
      mine.longest_ns = std::max(mine.longest_ns, length_ns);
      ++events, within_ns += length_ns;
      if (length_ns > 0) stretches.emplace_back(a, b);
    };
    for (const PageLane& lane : track->parts) {
      const auto& rows = lane.events.rows();
      // An event that ends with the area's first instant is part of it. Of a lane without overlaps,
      // at most one event began before.
      const int64_t early_ns = Less(from_ns, 1);
      const size_t first = lane.events.Before(early_ns);
      bool all = true;
      for (uint32_t row : lane.events.Carried(early_ns, &all)) add(lane.kind, row);
      for (size_t i = first; i < rows.size(); ++i) {
        if (tracks_.Span(lane.kind, rows[i]).first > to_ns) break;
        add(lane.kind, rows[i]);
      }
    }
    if (events == 0) continue;
    if (!std::is_sorted(stretches.begin(), stretches.end())) {
      std::sort(stretches.begin(), stretches.end());
    }
    int64_t until_ns = from_ns;
    uint64_t covered_ns = 0;
    for (const auto& [a, b] : stretches) {
      if (b <= until_ns) continue;
      covered_ns += static_cast<uint64_t>(Less(b, std::max(until_ns, a)));
      until_ns = b;
    }
    sums += fmt::format("{}{{\"id\":\"{}\",\"events\":{},\"within\":{},\"covered\":{}}}",
                        sums.empty() ? "" : ",", track->id, events, within_ns, covered_ns);
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const Name& a, const Name& b) { return a.within_ns > b.within_ns; });
  std::string listed;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    const Name& name = names[i];
    listed +=
        fmt::format("{}{{\"name\":{},\"track\":\"{}\",\"events\":{},\"within\":{},\"longest\":{}}}",
                    listed.empty() ? "" : ",", PageString(NameOf(name.event)), tracks[name.track],
                    name.events, name.within_ns, name.longest_ns);
  }
  return fmt::format("{{\"tracks\":[{}],\"names\":[{}],\"num_names\":{}}}", sums, listed,
                     names.size());
}

}  // namespace acceltrace::view
