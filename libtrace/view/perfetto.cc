// SPDX-License-Identifier: Apache-2.0
//
// The timeline in Perfetto's binary format: one packet sequence with interned
// names, tracks first, then all events in order of time.
#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

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

// One event to be written.
struct Event {
  int64_t at_ns;
  uint32_t track;
  enum Kind : uint8_t { kBegin, kEnd, kInstant, kCounter } kind;
  uint32_t index;  // of the slice or value
};

// The events of one track, one after the other. They are in order of time already.
class TrackEvents {
 public:
  TrackEvents(const Track& track, uint32_t number) : track_(&track), number_(number) {}

  // False after the last.
  bool Next(Event* event) {
    const std::span<const Slice> slices = track_->slices;
    const bool more = slice_ < slices.size();
    if (!open_.empty() && (!more || slices[open_.back()].end_ns <= slices[slice_].begin_ns)) {
      *event = {slices[open_.back()].end_ns, number_, Event::kEnd, open_.back()};
      open_.pop_back();
      return true;
    }
    if (more) {
      const Slice& slice = slices[slice_];
      if (!slice.instant) open_.push_back(slice_);
      *event = {slice.begin_ns, number_, slice.instant ? Event::kInstant : Event::kBegin, slice_++};
      return true;
    }
    if (value_ == track_->values.size()) return false;
    *event = {track_->values[value_].first, number_, Event::kCounter, value_};
    ++value_;
    return true;
  }

 private:
  const Track* track_;
  uint32_t number_, slice_ = 0, value_ = 0;
  std::vector<uint32_t> open_;  // innermost last
};

// Those of all tracks in order of time; where times are equal, of tracks.
class AllEvents {
 public:
  explicit AllEvents(const Timeline& timeline) {
    for (uint32_t t = 0; t < timeline.tracks.size(); ++t) {
      tracks_.emplace_back(timeline.tracks[t], t);
      Event event;
      if (tracks_.back().Next(&event)) next_.push(event);
    }
  }
  bool Next(Event* event) {
    if (next_.empty()) return false;
    *event = next_.top();
    next_.pop();
    Event after;
    if (tracks_[event->track].Next(&after)) next_.push(after);
    return true;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return std::tie(a.at_ns, a.track) > std::tie(b.at_ns, b.track);
    }
  };
  std::vector<TrackEvents> tracks_;
  std::priority_queue<Event, std::vector<Event>, Later> next_;  // one of each track
};

class Writer {
 public:
  Writer(const model::Model& model, const Sink& sink) : model_(model), sink_(sink) {}

  Result<ExportStats> Run() {
    const Timeline timeline = BuildTimeline(model_);
    stats_.skipped = timeline.skipped;
    WriteClocks();
    WriteTracks(timeline);
    CountFlows(timeline);
    AllEvents events(timeline);
    for (Event event; events.Next(&event);) {
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

  // How many slices each flow touches: the last one in time ends it, and one
  // that touches a single slice is no arrow. A handful of slices are of one job or command.
  struct FlowCount {
    uint8_t total = 0, seen = 0;
  };

  FlowCount* CountOf(uint64_t flow) {
    const auto number = static_cast<size_t>(flow >> 2);
    return &flow_counts_[number + (flow & 3) * model_.jobs.size() - model_.jobs.size()];
  }

  void CountFlows(const Timeline& timeline) {
    // Launches, completions, commands.
    flow_counts_.resize(2 * model_.jobs.size() + model_.commands.size());
    for (const Track& track : timeline.tracks) {
      for (const Slice& slice : track.slices) {
        flows_.clear();
        AppendFlows(model_, timeline, slice, &flows_);
        for (uint64_t flow : flows_) ++CountOf(flow)->total;
      }
    }
    for (const FlowCount& count : flow_counts_) stats_.flows += count.total > 1;
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
        FillSlice(timeline, track.slices[event.index], &packet);
        break;
      }
    }
    Append(&packet);
  }

  void FillSlice(const Timeline& timeline, const Slice& slice, TracePacket* packet) {
    TrackEvent* out = packet->mutable_track_event();
    const std::string name = NameOf(model_, timeline, slice);
    out->set_name_iid(names_.Id(name.empty() ? kUnnamed : name, [&] {
      return packet->mutable_interned_data()->add_event_names();
    }));
    out->add_category_iids(categories_.Id(CategoryOf(slice), [&] {
      return packet->mutable_interned_data()->add_event_categories();
    }));
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
    flows_.clear();
    AppendFlows(model_, timeline, slice, &flows_);
    for (uint64_t flow : flows_) {
      FlowCount& count = *CountOf(flow);
      if (count.total < 2) continue;
      if (++count.seen == count.total) {
        out->add_terminating_flow_ids(flow);
      } else {
        out->add_flow_ids(flow);
      }
    }
  }

  inline static const std::string kUnnamed = "(unnamed)";
  const model::Model& model_;
  const Sink& sink_;
  Status status_;
  ExportStats stats_;
  std::string buffer_;
  bool first_ = true;
  Interner names_, categories_, arguments_;
  std::vector<FlowCount> flow_counts_;
  std::vector<uint64_t> flows_;  // of the slice at hand
};

}  // namespace

Result<ExportStats> ExportPerfetto(const model::Model& model, const Sink& sink) {
  return Writer(model, sink).Run();
}

}  // namespace acceltrace::view
