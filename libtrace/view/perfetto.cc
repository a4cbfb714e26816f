// SPDX-License-Identifier: Apache-2.0
//
// The timeline in Perfetto's binary format: one packet sequence with interned names, tracks first,
// then all events in order of time, and beside each command a row of the table gpu_slice.
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
#include "libtrace/view/perfetto_head.h"
#include "libtrace/view/perfetto_packets.h"
#include "libtrace/view/proto_text.h"
#include "libtrace/view/timeline.h"

namespace acceltrace::view {
namespace {

using perfetto::GpuRenderStageEvent;
using perfetto::InternedData;
using perfetto::TracePacket;
using perfetto::TrackEvent;

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
  Writer(const model::Model& model, const Sink& sink)
      : model_(model), packets_(sink), about_(model) {}

  Result<ExportStats> Run() {
    const Timeline timeline = BuildTimeline(model_);
    stats_.skipped = timeline.skipped;
    stats_.tracks = timeline.tracks.size();
    WritePerfettoHead(model_, timeline, &packets_);
    // Queues have the first numbers of what gpu_slice refers to.
    stages_.Begin(PerfettoQueueIid(timeline.tracks.size()));
    CountFlows(timeline);
    AllEvents events(timeline);
    for (Event event; events.Next(&event);) {
      WriteEvent(timeline, event);
      if (!packets_.status().ok()) return packets_.status();
    }
    if (Status status = packets_.Finish(); !status.ok()) return status;
    return stats_;
  }

 private:
  // ---- names ----

  // Numbers of texts. Most of them lie where they lay when they were asked for last.
  class Interner {
   public:
    // The first number that it gives.
    void Begin(uint64_t first) { first_ = first; }
    // fresh: takes a new one, as an InternedString in this field of InternedData. stays: where it
    // lies no other text will.
    uint64_t Id(std::string_view text, int field, ProtoText* fresh, bool stays = true) {
      Place& place = places_[Hash(text) % places_.size()];
      if (stays && place.data == text.data() && place.size == text.size()) return place.id;
      const auto added = ids_.emplace(std::string(text), first_ + ids_.size());
      const uint64_t id = added.first->second;
      if (added.second) {
        fresh->Message(field, [&] {
          fresh->Number(1, id);
          fresh->Text(2, added.first->first);
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
    uint64_t first_ = 1;
    std::unordered_map<std::string, uint64_t> ids_;
    std::array<Place, 256> places_;
  };

  // ---- events ----

  // How many slices each flow touches: the last one in time ends it, and one
  // that touches a single slice is no arrow. A handful of slices are of one job or command.
  struct FlowCount {
    uint8_t total = 0, seen = 0;
  };

  FlowCount* CountOf(uint64_t flow) { return &flow_counts_[FlowPlace(model_, flow)]; }

  void CountFlows(const Timeline& timeline) {
    flow_counts_.resize(CountFlowPlaces(model_, timeline));
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
    event_.Clear(), fresh_.Clear();
    // Fields in the order of their numbers, as protobuf writes them.
    switch (event.kind) {
      case Event::kEnd:
        event_.Number(TrackEvent::kTypeFieldNumber, TrackEvent::TYPE_SLICE_END);
        event_.Number(TrackEvent::kTrackUuidFieldNumber, PerfettoUuid(event.track));
        break;
      case Event::kCounter:
        event_.Number(TrackEvent::kTypeFieldNumber, TrackEvent::TYPE_COUNTER);
        event_.Number(TrackEvent::kTrackUuidFieldNumber, PerfettoUuid(event.track));
        event_.Double(TrackEvent::kDoubleCounterValueFieldNumber, track.values[event.index].second);
        ++stats_.counter_values;
        break;
      case Event::kBegin:
      case Event::kInstant:
        ++(event.kind == Event::kInstant ? stats_.instants : stats_.slices);
        FillSlice(timeline, track.slices[event.index], event);
        break;
    }
    WritePacket(event.at_ns, TracePacket::kTrackEventFieldNumber);
    if (event.kind == Event::kBegin) WriteRow(timeline, track, track.slices[event.index], event);
  }

  // Of event_, in the sequence's default clock.
  void WritePacket(int64_t at_ns, int field) {
    packet_.Clear();
    packet_.Number(TracePacket::kTimestampFieldNumber, static_cast<uint64_t>(at_ns));
    packet_.Number(TracePacket::kTrustedPacketSequenceIdFieldNumber, kPerfettoSequence);
    if (fresh_.size() > 0) packet_.Text(TracePacket::kInternedDataFieldNumber, fresh_.bytes());
    packet_.Number(TracePacket::kSequenceFlagsFieldNumber, kPerfettoNeedsState);
    packet_.Begin(field, event_.size());
    packets_.Append(packet_.bytes(), event_.bytes());
  }

  // ---- the table gpu_slice ----

  uint64_t RowOfCommand(size_t command) const { return command + 1; }
  uint64_t RowOfJob(size_t job) const { return model_.commands.size() + job + 1; }

  // Rows that a job has there: those of its commands or, where a device reports none, itself.
  template <typename Use>
  void ForEachRow(uint32_t job, const Use& use) {
    const model::Jobs& jobs = model_.jobs;
    for (uint32_t i = 0; i < jobs.num_commands[job]; ++i) {
      use(RowOfCommand(jobs.first_command[job] + i));
    }
    if (jobs.num_commands[job] == 0 && jobs.on_device[job]) use(RowOfJob(job));
  }

  void WriteRow(const Timeline& timeline, const Track& track, const Slice& slice,
                const Event& event) {
    if (!track.unit_lane || slice.about == Slice::About::kWaiting) return;
    const bool command = slice.about == Slice::About::kCommand;
    const size_t job = command ? model_.commands.job_row[slice.row] : slice.row;
    const model::Jobs& jobs = model_.jobs;
    event_.Clear(), fresh_.Clear();
    bool stays = false;
    std::string_view name = names_of_.Of(model_, timeline, slice, &stays);
    stays = stays || name.empty();
    if (name.empty()) name = kUnnamed;
    const uint64_t stage =
        stages_.Id(name, InternedData::kGpuSpecificationsFieldNumber, &fresh_, stays);
    event_.Number(GpuRenderStageEvent::kEventIdFieldNumber,
                  command ? RowOfCommand(slice.row) : RowOfJob(slice.row));
    event_.Number(GpuRenderStageEvent::kDurationFieldNumber,
                  static_cast<uint64_t>(slice.end_ns - slice.begin_ns));
    event_.Number(GpuRenderStageEvent::kContextFieldNumber,
                  PerfettoContextIid(jobs.device[job], jobs.context[job]));
    event_.Number(GpuRenderStageEvent::kSubmissionIdFieldNumber, jobs.job[job]);
    event_.Number(GpuRenderStageEvent::kGpuIdFieldNumber, jobs.device[job]);
    event_.Number(GpuRenderStageEvent::kHwQueueIidFieldNumber, PerfettoQueueIid(event.track));
    event_.Number(GpuRenderStageEvent::kStageIidFieldNumber, stage);
    WritePacket(slice.begin_ns, TracePacket::kGpuRenderStageEventFieldNumber);
  }

  // The rows that a slice of the host submitted or waited for.
  void AddRows(const Timeline& timeline, const Slice& slice) {
    using perfetto::GpuCorrelation;
    rows_.Clear();
    if (slice.about == Slice::About::kCall) {
      for (uint32_t i = timeline.launched_by[slice.row]; i < timeline.launched_by[slice.row + 1];
           ++i) {
        ForEachRow(timeline.launched_jobs[i], [&](uint64_t row) {
          rows_.Number(GpuCorrelation::kRenderStageSubmissionEventIdsFieldNumber, row);
        });
      }
    } else if (slice.about == Slice::About::kWait) {
      const uint32_t last = timeline.last_ended[slice.row];
      rows_.Number(GpuCorrelation::kRenderStageWaitEventIdsFieldNumber,
                   last == model::kNoRow ? RowOfJob(slice.row) : RowOfCommand(last));
    }
    if (rows_.size() > 0) {
      event_.Text(TrackEvent::kGpuCorrelationFieldNumber, rows_.bytes());
    }
  }

  void FillSlice(const Timeline& timeline, const Slice& slice, const Event& event) {
    bool stays = false;
    const std::string_view name = names_of_.Of(model_, timeline, slice, &stays);
    categories_fresh_.Clear(), names_fresh_.Clear(), arguments_fresh_.Clear();
    const uint64_t name_id =
        names_.Id(name.empty() ? kUnnamed : name, InternedData::kEventNamesFieldNumber,
                  &names_fresh_, stays || name.empty());
    event_.Number(TrackEvent::kCategoryIidsFieldNumber,
                  categories_.Id(CategoryOf(slice), InternedData::kEventCategoriesFieldNumber,
                                 &categories_fresh_));
    for (const Argument& argument : about_.Of(timeline, slice)) {
      const uint64_t id = arguments_.Id(
          argument.name, InternedData::kDebugAnnotationNamesFieldNumber, &arguments_fresh_);
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
    event_.Number(TrackEvent::kTrackUuidFieldNumber, PerfettoUuid(event.track));
    AddFlows(timeline, slice);
    if (const uint64_t correlation = CorrelationOf(model_, slice); correlation != 0) {
      event_.Number(TrackEvent::kCorrelationIdFieldNumber, correlation);
    }
    AddRows(timeline, slice);
    fresh_.Raw(categories_fresh_.bytes());
    fresh_.Raw(names_fresh_.bytes());
    fresh_.Raw(arguments_fresh_.bytes());
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
  PerfettoPackets packets_;
  ExportStats stats_;
  Interner names_, categories_, arguments_, stages_;
  Arguments about_;
  SliceNames names_of_;
  // Of the packet at hand.
  ProtoText packet_, event_, fresh_, rows_, categories_fresh_, names_fresh_, arguments_fresh_;
  std::vector<FlowCount> flow_counts_;
  std::vector<uint64_t> flows_;  // of the slice at hand
};

}  // namespace

Result<ExportStats> ExportPerfetto(const model::Model& model, const Sink& sink) {
  return Writer(model, sink).Run();
}

}  // namespace acceltrace::view
