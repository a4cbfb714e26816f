// SPDX-License-Identifier: Apache-2.0
//
// The timeline in Perfetto's binary format: one packet sequence with interned
// names, tracks first, then all events in order of time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/view/export.h"
#include "libtrace/view/perfetto.pb.h"
#include "libtrace/view/proto_text.h"
#include "libtrace/view/timeline.h"

namespace acceltrace::view {
namespace {

using perfetto::InternedData;
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
      if (tracks_.back().Next(&event)) heap_.push_back(event);
    }
    std::make_heap(heap_.begin(), heap_.end(), IsLater);
  }
  bool Next(Event* event) {
    if (heap_.empty()) return false;
    *event = heap_.front();
    if (!tracks_[event->track].Next(&heap_.front())) {
      heap_.front() = heap_.back();
      heap_.pop_back();
    }
    SiftDown();
    return true;
  }

 private:
  static bool IsLater(const Event& a, const Event& b) {
    return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.track > b.track;
  }
  // The first one may be later than those below it.
  void SiftDown() {
    for (size_t at = 0, child = 1; child < heap_.size(); at = child, child = 2 * at + 1) {
      if (child + 1 < heap_.size() && IsLater(heap_[child], heap_[child + 1])) ++child;
      if (!IsLater(heap_[at], heap_[child])) return;
      std::swap(heap_[at], heap_[child]);
    }
  }

  std::vector<TrackEvents> tracks_;
  std::vector<Event> heap_;  // one of each track
};

class Writer {
 public:
  Writer(const model::Model& model, const Sink& sink) : model_(model), sink_(sink), about_(model) {}

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
    FlushIfLarge();
  }

  void FlushIfLarge() {
    constexpr size_t kFlushBytes = 1 << 20;
    if (buffer_.size() >= kFlushBytes) Flush();
  }

  void Flush() {
    if (status_.ok() && !buffer_.empty()) status_ = sink_(buffer_);
    buffer_.clear();
  }

  // ---- names ----

  // Numbers of texts. Most of them lie where they lay when they were asked for last.
  class Interner {
   public:
    // told: takes a new one, as an InternedString in this field of InternedData. stays: where it
    // lies no other text will.
    uint64_t Id(std::string_view text, int field, ProtoText* told, bool stays = true) {
      Place& place = places_[Hash(text) % places_.size()];
      if (stays && place.data == text.data() && place.size == text.size()) return place.id;
      const auto added = ids_.emplace(std::string(text), ids_.size() + 1);
      const uint64_t id = added.first->second;
      if (added.second) {
        told->Message(field, [&] {
          told->Number(1, id);
          told->Text(2, added.first->first);
        });
      }
      if (stays) place = {text.data(), text.size(), id};
      return id;
    }

   private:
    struct Place {
      const char* data = nullptr;
      size_t size = 0;
      uint64_t id = 0;
    };
    static size_t Hash(std::string_view text) {
      return reinterpret_cast<uintptr_t>(text.data()) / 8 * 31 + text.size();
    }
    std::unordered_map<std::string, uint64_t> ids_;
    std::array<Place, 256> places_;
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
    event_.Clear(), fresh_.Clear(), packet_.Clear();
    // Fields in the order of their numbers, as protobuf writes them.
    switch (event.kind) {
      case Event::kEnd:
        event_.Number(TrackEvent::kTypeFieldNumber, TrackEvent::TYPE_SLICE_END);
        event_.Number(TrackEvent::kTrackUuidFieldNumber, Uuid(event.track));
        break;
      case Event::kCounter:
        event_.Number(TrackEvent::kTypeFieldNumber, TrackEvent::TYPE_COUNTER);
        event_.Number(TrackEvent::kTrackUuidFieldNumber, Uuid(event.track));
        event_.Double(TrackEvent::kDoubleCounterValueFieldNumber, track.values[event.index].second);
        ++stats_.counter_values;
        break;
      case Event::kBegin:
      case Event::kInstant:
        ++(event.kind == Event::kInstant ? stats_.instants : stats_.slices);
        FillSlice(timeline, track.slices[event.index], event);
        break;
    }
    packet_.Number(TracePacket::kTimestampFieldNumber, static_cast<uint64_t>(event.at_ns));
    packet_.Number(TracePacket::kTrustedPacketSequenceIdFieldNumber, kSequence);
    packet_.Text(TracePacket::kTrackEventFieldNumber, event_.bytes());
    if (!fresh_.bytes().empty())
      packet_.Text(TracePacket::kInternedDataFieldNumber, fresh_.bytes());
    packet_.Number(TracePacket::kSequenceFlagsFieldNumber, kNeedsState);
    packet_.Number(TracePacket::kTimestampClockIdFieldNumber, kMonotonic);
    ProtoText::AppendText(1, packet_.bytes(), &buffer_);
    FlushIfLarge();
  }

  void FillSlice(const Timeline& timeline, const Slice& slice, const Event& event) {
    bool stays = false;
    const std::string_view name = names_of_.Of(model_, timeline, slice, &stays);
    categories_told_.Clear(), names_told_.Clear(), arguments_told_.Clear();
    const uint64_t name_id =
        names_.Id(name.empty() ? kUnnamed : name, InternedData::kEventNamesFieldNumber,
                  &names_told_, stays || name.empty());
    event_.Number(TrackEvent::kCategoryIidsFieldNumber,
                  categories_.Id(CategoryOf(slice), InternedData::kEventCategoriesFieldNumber,
                                 &categories_told_));
    for (const Argument& argument : about_.Of(slice)) {
      const uint64_t id = arguments_.Id(
          argument.name, InternedData::kDebugAnnotationNamesFieldNumber, &arguments_told_);
      event_.Message(TrackEvent::kDebugAnnotationsFieldNumber, [&] {
        using Annotation = perfetto::DebugAnnotation;
        event_.Number(Annotation::kNameIidFieldNumber, id);
        if (const auto* u = std::get_if<uint64_t>(&argument.value)) {
          event_.Number(Annotation::kUintValueFieldNumber, *u);
        } else if (const auto* i = std::get_if<int64_t>(&argument.value)) {
          event_.Number(Annotation::kIntValueFieldNumber, static_cast<uint64_t>(*i));
        } else if (const auto* d = std::get_if<double>(&argument.value)) {
          event_.Double(Annotation::kDoubleValueFieldNumber, *d);
        } else {
          event_.Text(Annotation::kStringValueFieldNumber,
                      std::get<std::string_view>(argument.value));
        }
      });
    }
    event_.Number(TrackEvent::kTypeFieldNumber, event.kind == Event::kInstant
                                                    ? TrackEvent::TYPE_INSTANT
                                                    : TrackEvent::TYPE_SLICE_BEGIN);
    event_.Number(TrackEvent::kNameIidFieldNumber, name_id);
    event_.Number(TrackEvent::kTrackUuidFieldNumber, Uuid(event.track));
    AddFlows(timeline, slice);
    fresh_.Raw(categories_told_.bytes());
    fresh_.Raw(names_told_.bytes());
    fresh_.Raw(arguments_told_.bytes());
  }

  // Those that go on, then those that end here.
  void AddFlows(const Timeline& timeline, const Slice& slice) {
    flows_.clear();
    AppendFlows(model_, timeline, slice, &flows_);
    for (uint64_t& flow : flows_) {
      FlowCount& count = *CountOf(flow);
      if (count.total < 2) {
        flow = 0;
      } else if (++count.seen < count.total) {
        event_.Fixed(TrackEvent::kFlowIdsFieldNumber, flow);
        flow = 0;
      }
    }
    for (const uint64_t flow : flows_) {
      if (flow != 0) event_.Fixed(TrackEvent::kTerminatingFlowIdsFieldNumber, flow);
    }
  }

  static constexpr std::string_view kUnnamed = "(unnamed)";
  const model::Model& model_;
  const Sink& sink_;
  Status status_;
  ExportStats stats_;
  std::string buffer_;
  bool first_ = true;
  Interner names_, categories_, arguments_;
  Arguments about_;
  SliceNames names_of_;
  // Of the packet at hand.
  ProtoText packet_, event_, fresh_, categories_told_, names_told_, arguments_told_;
  std::vector<FlowCount> flow_counts_;
  std::vector<uint64_t> flows_;  // of the slice at hand
};

}  // namespace

Result<ExportStats> ExportPerfetto(const model::Model& model, const Sink& sink) {
  return Writer(model, sink).Run();
}

}  // namespace acceltrace::view
