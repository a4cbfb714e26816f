// SPDX-License-Identifier: Apache-2.0
//
// The timeline in Perfetto's binary format: one packet sequence with interned
// names, tracks first, then all events in order of time.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "libtrace/view/export.h"
#include "libtrace/view/perfetto.pb.h"
#include "libtrace/view/timeline.h"

namespace acceltrace::view {
namespace {

using perfetto::TracePacket;
using perfetto::TrackDescriptor;
using perfetto::TrackEvent;

constexpr uint32_t kSequence = 1;
constexpr uint32_t kClearState = 1, kNeedsState = 2;  // sequence_flags
constexpr uint32_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;
constexpr uint64_t kFirstUuid = uint64_t{0xacce} << 32;

// One event to be written. Events of a track are in their order already; `order`
// keeps it where times are equal.
struct Event {
  int64_t at_ns;
  uint32_t track;
  uint32_t order;
  enum Kind : uint8_t { kBegin, kEnd, kInstant, kCounter } kind;
  uint32_t index;  // of the slice or value
};

class Writer {
 public:
  Writer(const model::Model& model, const Sink& sink) : model_(model), sink_(sink) {}

  Result<ExportStats> Run() {
    const Timeline timeline = BuildTimeline(model_);
    stats_.skipped = timeline.skipped;
    WriteClocks();
    WriteTracks(timeline);
    std::vector<Event> events = Collect(timeline);
    CountFlows(timeline);
    for (const Event& event : events) {
      WriteEvent(timeline, event);
      if (!status_.ok()) return status_;
    }
    Flush();
    if (!status_.ok()) return status_;
    return stats_;
  }

 private:
  // ---- bytes ----

  void Append(TracePacket* packet) {
    packet->set_trusted_packet_sequence_id(kSequence);
    packet->set_sequence_flags(first_ ? kClearState : kNeedsState);
    if (first_) packet->set_first_packet_on_sequence(true);
    first_ = false;
    // A Trace is its packets, each with the tag of field 1 and its length.
    uint32_t size = static_cast<uint32_t>(packet->ByteSizeLong());
    buffer_ += '\x0a';
    for (; size >= 0x80; size >>= 7) buffer_ += static_cast<char>(size | 0x80);
    buffer_ += static_cast<char>(size);
    packet->AppendToString(&buffer_);
    constexpr size_t kFlushBytes = 1 << 20;
    if (buffer_.size() >= kFlushBytes) Flush();
  }

  void Flush() {
    if (status_.ok() && !buffer_.empty()) status_ = sink_(buffer_);
    buffer_.clear();
  }

  // ---- names ----

  class Interner {
   public:
    // The id of a text; a new one is told in *fresh.
    template <typename Add>
    uint64_t Id(std::string_view text, const Add& add) {
      const auto [where, fresh] = ids_.emplace(std::string(text), ids_.size() + 1);
      if (fresh) {
        perfetto::InternedString* entry = add();
        entry->set_iid(where->second);
        entry->set_name(where->first);
      }
      return where->second;
    }

   private:
    std::unordered_map<std::string, uint64_t> ids_;
  };

  // ---- head ----

  void WriteClocks() {
    const proto::TraceInfo& info = model_.info;
    const int64_t at_ns = std::max<int64_t>(0, info.start_ns());
    TracePacket packet;
    perfetto::ClockSnapshot* snapshot = packet.mutable_clock_snapshot();
    snapshot->set_primary_trace_clock(kMonotonic);
    const auto add = [&](uint32_t clock, int64_t offset_ns) {
      int64_t time_ns = 0;
      if (__builtin_add_overflow(at_ns, offset_ns, &time_ns) || time_ns < 0) return;
      perfetto::ClockSnapshot::Clock* added = snapshot->add_clocks();
      added->set_clock_id(clock);
      added->set_timestamp(static_cast<uint64_t>(time_ns));
    };
    add(kMonotonic, 0);
    add(kBoottime, info.boottime_offset_ns());
    add(kRealtime, info.realtime_offset_ns());
    Append(&packet);
  }

  static uint64_t Uuid(size_t track) { return kFirstUuid + track; }

  void WriteTracks(const Timeline& timeline) {
    for (size_t t = 0; t < timeline.tracks.size(); ++t) {
      const Track& track = timeline.tracks[t];
      TracePacket packet;
      TrackDescriptor* about = packet.mutable_track_descriptor();
      about->set_uuid(Uuid(t));
      if (track.parent >= 0) about->set_parent_uuid(Uuid(static_cast<size_t>(track.parent)));
      switch (track.kind) {
        case Track::Kind::kProcess:
        case Track::Kind::kDevice:
          about->mutable_process()->set_pid(track.pid);
          about->mutable_process()->set_process_name(track.name);
          if (track.kind == Track::Kind::kProcess && IsRecordedCommand(track)) {
            *about->mutable_process()->mutable_cmdline() = model_.info.command();
          }
          about->set_child_ordering(TrackDescriptor::CHILD_ORDER_EXPLICIT);
          break;
        case Track::Kind::kThread:
          about->mutable_thread()->set_pid(track.pid);
          about->mutable_thread()->set_tid(track.tid);
          about->mutable_thread()->set_thread_name(track.name);
          break;
        case Track::Kind::kCounter:
          about->set_name(track.name);
          about->mutable_counter()->set_unit_name(track.unit);
          about->set_sibling_order_rank(track.rank);
          break;
        case Track::Kind::kLane:
          about->set_name(track.name);
          about->set_sibling_order_rank(track.rank);
          break;
      }
      Append(&packet);
    }
    stats_.tracks = timeline.tracks.size();
  }

  // With one process in the trace, it is the command that was recorded.
  bool IsRecordedCommand(const Track& track) const {
    for (uint32_t pid : model_.api.pid) {
      if (pid != static_cast<uint32_t>(track.pid)) return false;
    }
    return !model_.info.command().empty();
  }

  // ---- events ----

  static std::vector<Event> Collect(const Timeline& timeline) {
    std::vector<Event> events;
    for (uint32_t t = 0; t < timeline.tracks.size(); ++t) {
      const Track& track = timeline.tracks[t];
      uint32_t order = 0;
      std::vector<uint32_t> open;
      const auto close = [&](int64_t until_ns) {
        while (!open.empty() && track.slices[open.back()].end_ns <= until_ns) {
          events.push_back(
              {track.slices[open.back()].end_ns, t, order++, Event::kEnd, open.back()});
          open.pop_back();
        }
      };
      for (uint32_t s = 0; s < track.slices.size(); ++s) {
        const Slice& slice = track.slices[s];
        close(slice.begin_ns);
        if (slice.instant) {
          events.push_back({slice.begin_ns, t, order++, Event::kInstant, s});
          continue;
        }
        events.push_back({slice.begin_ns, t, order++, Event::kBegin, s});
        open.push_back(s);
      }
      close(std::numeric_limits<int64_t>::max());
      for (uint32_t v = 0; v < track.values.size(); ++v) {
        events.push_back({track.values[v].first, t, order++, Event::kCounter, v});
      }
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::tie(a.at_ns, a.track, a.order) < std::tie(b.at_ns, b.track, b.order);
    });
    return events;
  }

  // How many slices each flow touches: the last one in time ends it, and one
  // that touches a single slice is no arrow.
  void CountFlows(const Timeline& timeline) {
    for (const Track& track : timeline.tracks) {
      for (const Slice& slice : track.slices) {
        for (uint64_t flow : slice.flows) ++flow_left_[flow].total;
      }
    }
    for (const auto& [flow, count] : flow_left_) stats_.flows += count.total > 1;
  }

  void WriteEvent(const Timeline& timeline, const Event& event) {
    const Track& track = timeline.tracks[event.track];
    TracePacket packet;
    packet.set_timestamp(static_cast<uint64_t>(event.at_ns));
    packet.set_timestamp_clock_id(kMonotonic);
    TrackEvent* out = packet.mutable_track_event();
    out->set_track_uuid(Uuid(event.track));
    switch (event.kind) {
      case Event::kEnd:
        out->set_type(TrackEvent::TYPE_SLICE_END);
        break;
      case Event::kCounter:
        out->set_type(TrackEvent::TYPE_COUNTER);
        out->set_double_counter_value(track.values[event.index].second);
        ++stats_.counter_values;
        break;
      case Event::kBegin:
      case Event::kInstant: {
        const bool instant = event.kind == Event::kInstant;
        out->set_type(instant ? TrackEvent::TYPE_INSTANT : TrackEvent::TYPE_SLICE_BEGIN);
        ++(instant ? stats_.instants : stats_.slices);
        FillSlice(track.slices[event.index], &packet);
        break;
      }
    }
    Append(&packet);
  }

  void FillSlice(const Slice& slice, TracePacket* packet) {
    TrackEvent* out = packet->mutable_track_event();
    const std::string& name = slice.name.empty() ? kUnnamed : slice.name;
    out->set_name_iid(
        names_.Id(name, [&] { return packet->mutable_interned_data()->add_event_names(); }));
    out->add_category_iids(categories_.Id(
        slice.category, [&] { return packet->mutable_interned_data()->add_event_categories(); }));
    for (const Argument& argument : ArgumentsOf(model_, slice)) {
      perfetto::DebugAnnotation* added = out->add_debug_annotations();
      added->set_name_iid(arguments_.Id(argument.name, [&] {
        return packet->mutable_interned_data()->add_debug_annotation_names();
      }));
      if (const auto* u = std::get_if<uint64_t>(&argument.value)) added->set_uint_value(*u);
      if (const auto* i = std::get_if<int64_t>(&argument.value)) added->set_int_value(*i);
      if (const auto* d = std::get_if<double>(&argument.value)) added->set_double_value(*d);
      if (const auto* s = std::get_if<std::string>(&argument.value)) added->set_string_value(*s);
    }
    for (uint64_t flow : slice.flows) {
      FlowCount& count = flow_left_[flow];
      if (count.total < 2) continue;
      if (++count.seen == count.total) {
        out->add_terminating_flow_ids(flow);
      } else {
        out->add_flow_ids(flow);
      }
    }
  }

  struct FlowCount {
    uint32_t total = 0, seen = 0;
  };

  inline static const std::string kUnnamed = "(unnamed)";
  const model::Model& model_;
  const Sink& sink_;
  Status status_;
  ExportStats stats_;
  std::string buffer_;
  bool first_ = true;
  Interner names_, categories_, arguments_;
  std::unordered_map<uint64_t, FlowCount> flow_left_;
};

}  // namespace

Result<ExportStats> ExportPerfetto(const model::Model& model, const Sink& sink) {
  return Writer(model, sink).Run();
}

}  // namespace acceltrace::view
