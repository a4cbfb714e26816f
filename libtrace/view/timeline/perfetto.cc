// SPDX-License-Identifier: Apache-2.0
//
// Writes the timeline in Perfetto's binary format: one packet sequence with interned names, first
// the tracks, then all events in order of time, and along with each command a row of the table
// gpu_slice.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/view/common/export.h"
#include "libtrace/view/timeline/perfetto.pb.h"
#include "libtrace/view/timeline/perfetto_head.h"
#include "libtrace/view/timeline/perfetto_packets.h"
#include "libtrace/view/timeline/proto_text.h"
#include "libtrace/view/timeline/timeline.h"

namespace acceltrace::view {
namespace {

using perfetto::GpuRenderStageEvent;
using perfetto::InternedData;
using perfetto::TracePacket;
using perfetto::TrackEvent;

// An event to be written.
struct Event {
  int64_t at_ns;
  uint32_t track;
  enum Kind : uint8_t { kBegin, kEnd, kInstant, kCounter } kind;
  uint32_t index;  // of the slice or value
};

// Returns the events of one track, which are already in order of time.
class TrackEvents {
 public:
  TrackEvents(const Track& track, uint32_t number) : track_(&track), number_(number) {}

  // Returns false after the last event.
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

// Merges the events of all tracks by time and, if equal, by track.
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
  // Returns the time of the first event, or `otherwise` if there is none.
  int64_t FirstNs(int64_t otherwise) const { return heap_.empty() ? otherwise : heap_[0].at_ns; }
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
  // Restores the heap if its first element is later than those below it.
  void SiftDown() {
    for (size_t at = 0, child = 1; child < heap_.size(); at = child, child = 2 * at + 1) {
      if (child + 1 < heap_.size() && IsLater(heap_[child], heap_[child + 1])) ++child;
      if (!IsLater(heap_[at], heap_[child])) return;
      std::swap(heap_[at], heap_[child]);
    }
  }

  std::vector<TrackEvents> tracks_;
  std::vector<Event> heap_;  // one for each track
};

// Assigns numbers to texts. Most texts are at the same address as when they were last requested.
class Interner {
 public:
  // `first` is the first number.
  explicit Interner(uint64_t first = 1) : next_(first) {}

  // Calls define(id, text) for each new text. `stays` means that no other text will be at its
  // address.
  template <typename Define>
  uint64_t Id(std::string_view text, bool stays, const Define& define) {
    Place& place = places_[Hash(text) % places_.size()];
    if (stays && place.data == text.data() && place.size == text.size()) return place.id;
    const auto [at, fresh] = ids_.try_emplace(std::string(text), next_);
    if (fresh) define(next_++, text);
    if (stays) place = {text.data(), text.size(), at->second};
    return at->second;
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
  uint64_t next_;
  std::unordered_map<std::string, uint64_t> ids_;
  std::array<Place, 256> places_;
};

class Writer {
 public:
  Writer(const model::Model& model, const Sink& sink)
      : model_(model),
        packets_(sink),
        about_(model),
        known_arguments_(about_.Names().size()),
        reader_(model) {}

  Result<ExportStats> Run() {
    const Timeline timeline = BuildTimeline(model_);
    stats_.skipped = timeline.skipped;
    stats_.tracks = timeline.tracks.size();
    AllEvents events(timeline);
    const int64_t start_ns = model_.info.start_ns();
    last_ns_ = std::max<int64_t>(0, std::min(start_ns, events.FirstNs(start_ns)));
    WritePerfettoHead(model_, timeline, last_ns_, &packets_);
    // Queues have the first numbers that gpu_slice refers to.
    stages_ = Interner(PerfettoQueueIid(timeline.tracks.size()));
    CountFlows(timeline);
    for (Event event; events.Next(&event);) {
      WriteEvent(timeline, event);
      if (!packets_.status().ok()) return packets_.status();
    }
    if (Status status = packets_.Finish(); !status.ok()) return status;
    return stats_;
  }

 private:
  // ---- names ----

  // Defines a name in the current packet: an entry with id and text in this field of InternedData.
  template <int kField>
  auto Define() {
    return [this](uint64_t id, std::string_view text) {
      ProtoCursor out(fresh_.Room(text.size() + 4 * ProtoCursor::kMostNumber));
      char* length = out.Begin<kField>();
      out.Number<1>(id);
      out.Text<2>(text);
      out.End(length);
      fresh_.Wrote(out.at());
    };
  }

  uint64_t CategoryId(const Slice& slice) {
    uint64_t& id = category_ids_[static_cast<size_t>(slice.about)];
    if (id == 0) {
      id = categories_.Id(CategoryOf(slice), true,
                          Define<InternedData::kEventCategoriesFieldNumber>());
    }
    return id;
  }

  static uint64_t ArgumentId(uint32_t name) { return uint64_t{name} + 1; }
  void DefineArgument(uint32_t name) {
    if (known_arguments_[name] != 0) return;
    known_arguments_[name] = 1;
    Define<InternedData::kDebugAnnotationNamesFieldNumber>()(ArgumentId(name),
                                                             about_.Names()[name]);
  }

  // ---- events ----

  // The number of slices of each flow: the last one in time ends it, and a flow with a single slice
  // is no arrow. Few slices belong to the same job or command, so a byte suffices.
  struct FlowCount {
    uint8_t total = 0, seen = 0;
  };

  FlowCount* CountOf(uint64_t flow) { return &flow_counts_[FlowPlace(model_, flow)]; }

  void CountFlows(const Timeline& timeline) {
    flow_counts_.resize(CountFlowPlaces(model_, timeline));
    for (const Track& track : timeline.tracks) {
      for (const Slice& slice : track.slices) {
        flows_.clear();
        reader_.AppendFlows(timeline, slice, &flows_);
        for (uint64_t flow : flows_) ++CountOf(flow)->total;
      }
    }
    for (const FlowCount& count : flow_counts_) stats_.flows += count.total > 1;
  }

  void WriteEvent(const Timeline& timeline, const Event& event) {
    const Track& track = timeline.tracks[event.track];
    switch (event.kind) {
      case Event::kEnd: {
        ProtoCursor out = BeginPacket(event.at_ns);
        char* length = out.Begin<TracePacket::kTrackEventFieldNumber>();
        out.Number<TrackEvent::kTypeFieldNumber>(TrackEvent::TYPE_SLICE_END);
        out.Number<TrackEvent::kTrackUuidFieldNumber>(PerfettoUuid(event.track));
        out.End(length);
        packets_.End(out);
        break;
      }
      case Event::kCounter: {
        ProtoCursor out = BeginPacket(event.at_ns);
        char* length = out.Begin<TracePacket::kTrackEventFieldNumber>();
        out.Number<TrackEvent::kTypeFieldNumber>(TrackEvent::TYPE_COUNTER);
        out.Number<TrackEvent::kTrackUuidFieldNumber>(PerfettoUuid(event.track));
        out.Double<TrackEvent::kDoubleCounterValueFieldNumber>(track.values[event.index].second);
        out.End(length);
        packets_.End(out);
        ++stats_.counter_values;
        break;
      }
      case Event::kBegin:
      case Event::kInstant: {
        ++(event.kind == Event::kInstant ? stats_.instants : stats_.slices);
        const Slice& slice = track.slices[event.index];
        bool stays = false;
        std::string_view name = reader_.Name(timeline, slice, &stays);
        if (name.empty()) name = kUnnamed, stays = true;
        WriteSlice(timeline, slice, event, name, stays);
        if (event.kind == Event::kBegin) WriteRow(track, slice, event, name, stays);
        break;
      }
    }
  }

  // The time is relative to the previous packet. Reserves space for a few numbers and for `more`
  // bytes.
  ProtoCursor BeginPacket(int64_t at_ns, size_t more = 0) {
    ProtoCursor out = packets_.Begin(16 * ProtoCursor::kMostNumber + fresh_.size() + more);
    out.Number<TracePacket::kTimestampFieldNumber>(static_cast<uint64_t>(at_ns - last_ns_));
    last_ns_ = at_ns;
    out.Number<TracePacket::kTrustedPacketSequenceIdFieldNumber>(kPerfettoSequence);
    out.Number<TracePacket::kSequenceFlagsFieldNumber>(kPerfettoNeedsState);
    return out;
  }
  // Adds the names that this packet is the first to need.
  void EndPacket(ProtoCursor out) {
    if (fresh_.size() > 0) {
      out.Text<TracePacket::kInternedDataFieldNumber>(fresh_.bytes());
      fresh_.Clear();
    }
    packets_.End(out);
  }

  // For `stays`, see SliceReader.
  void WriteSlice(const Timeline& timeline, const Slice& slice, const Event& event,
                  std::string_view name, bool stays) {
    const uint64_t name_id = names_.Id(name, stays, Define<InternedData::kEventNamesFieldNumber>());
    const uint64_t category = CategoryId(slice);
    const std::span<const Argument> arguments = about_.Of(timeline, slice);
    for (const Argument& argument : arguments) DefineArgument(argument.name);
    flows_.clear(), rows_.Clear();
    reader_.AppendFlows(timeline, slice, &flows_);
    AppendRowsOfCall(timeline, slice);
    // An argument is a message of two fields; a flow is one field.
    ProtoCursor out = BeginPacket(
        slice.begin_ns, (3 * arguments.size() + flows_.size()) * ProtoCursor::kMostNumber +
                            about_.text_bytes() + rows_.size());
    char* length = out.Begin<TracePacket::kTrackEventFieldNumber, 2>();
    out.Number<TrackEvent::kCategoryIidsFieldNumber>(category);
    for (const Argument& argument : arguments) WriteArgument(argument, &out);
    out.Number<TrackEvent::kTypeFieldNumber>(
        event.kind == Event::kInstant ? TrackEvent::TYPE_INSTANT : TrackEvent::TYPE_SLICE_BEGIN);
    out.Number<TrackEvent::kNameIidFieldNumber>(name_id);
    out.Number<TrackEvent::kTrackUuidFieldNumber>(PerfettoUuid(event.track));
    WriteFlows(&out);
    if (const uint64_t correlation = reader_.Correlation(slice); correlation != 0) {
      out.Number<TrackEvent::kCorrelationIdFieldNumber>(correlation);
    }
    if (rows_.size() > 0) out.Text<TrackEvent::kGpuCorrelationFieldNumber>(rows_.bytes());
    out.End<2>(length);
    EndPacket(out);
  }

  static void WriteArgument(const Argument& argument, ProtoCursor* to) {
    using Annotation = perfetto::DebugAnnotation;
    ProtoCursor out = *to;
    char* length = out.Begin<TrackEvent::kDebugAnnotationsFieldNumber>();
    out.Number<Annotation::kNameIidFieldNumber>(ArgumentId(argument.name));
    if (const auto* u = std::get_if<uint64_t>(&argument.value)) {
      out.Number<Annotation::kUintValueFieldNumber>(*u);
    } else if (const auto* i = std::get_if<int64_t>(&argument.value)) {
      out.Number<Annotation::kIntValueFieldNumber>(static_cast<uint64_t>(*i));
    } else if (const auto* d = std::get_if<double>(&argument.value)) {
      out.Double<Annotation::kDoubleValueFieldNumber>(*d);
    } else {
      out.Text<Annotation::kStringValueFieldNumber>(std::get<std::string_view>(argument.value));
    }
    out.End(length);
    *to = out;
  }

  // Writes flows_: first those that continue, then those that end here.
  void WriteFlows(ProtoCursor* out) {
    bool any_ends = false;
    for (uint64_t& flow : flows_) {
      FlowCount& count = *CountOf(flow);
      if (count.total < 2) {
        flow = 0;
      } else if (++count.seen < count.total) {
        out->Fixed<TrackEvent::kFlowIdsFieldNumber>(flow);
        flow = 0;
      } else {
        any_ends = true;
      }
    }
    if (!any_ends) return;
    for (const uint64_t flow : flows_) {
      if (flow != 0) out->Fixed<TrackEvent::kTerminatingFlowIdsFieldNumber>(flow);
    }
  }

  // ---- the table gpu_slice ----

  uint64_t RowOfCommand(size_t command) const { return command + 1; }
  uint64_t RowOfJob(size_t job) const { return model_.commands.size() + job + 1; }

  // A job, as its rows refer to it. Rows of the same job tend to follow each other.
  struct JobOfRows {
    uint32_t row = model::kNoRow, device = 0, number = 0;
    uint64_t context = 0;
  };
  void SeeJob(uint32_t row) {
    const model::Jobs& jobs = model_.jobs;
    const uint32_t device = jobs.device[row];
    job_ = {row, device, jobs.job[row], PerfettoContextIid(device, jobs.context[row])};
  }

  // Visits the rows of a job: those of its commands or, if a device reports none, that of the job.
  template <typename Use>
  void ForEachRow(uint32_t job, const Use& use) {
    const model::Jobs& jobs = model_.jobs;
    const uint32_t first = jobs.first_command[job], count = jobs.num_commands[job];
    for (uint32_t i = 0; i < count; ++i) use(RowOfCommand(first + i));
    if (count == 0 && jobs.on_device[job]) use(RowOfJob(job));
  }

  void WriteRow(const Track& track, const Slice& slice, const Event& event, std::string_view name,
                bool stays) {
    if (!track.unit_lane || slice.about == Slice::About::kWaiting) return;
    const bool command = slice.about == Slice::About::kCommand;
    const uint32_t job = command ? reader_.JobOfCommand(slice.row) : slice.row;
    if (job != job_.row) SeeJob(job);
    const uint64_t stage =
        stages_.Id(name, stays, Define<InternedData::kGpuSpecificationsFieldNumber>());
    ProtoCursor out = BeginPacket(slice.begin_ns);
    char* length = out.Begin<TracePacket::kGpuRenderStageEventFieldNumber>();
    out.Number<GpuRenderStageEvent::kEventIdFieldNumber>(command ? RowOfCommand(slice.row)
                                                                 : RowOfJob(slice.row));
    out.Number<GpuRenderStageEvent::kDurationFieldNumber>(
        static_cast<uint64_t>(slice.end_ns - slice.begin_ns));
    out.Number<GpuRenderStageEvent::kContextFieldNumber>(job_.context);
    out.Number<GpuRenderStageEvent::kSubmissionIdFieldNumber>(job_.number);
    out.Number<GpuRenderStageEvent::kGpuIdFieldNumber>(job_.device);
    out.Number<GpuRenderStageEvent::kHwQueueIidFieldNumber>(PerfettoQueueIid(event.track));
    out.Number<GpuRenderStageEvent::kStageIidFieldNumber>(stage);
    out.End(length);
    EndPacket(out);
  }

  // Appends to rows_ what a slice of the host submitted or waited for.
  void AppendRowsOfCall(const Timeline& timeline, const Slice& slice) {
    using perfetto::GpuCorrelation;
    if (slice.about == Slice::About::kCall) {
      const uint32_t begin = timeline.launched_by[slice.row];
      const uint32_t end = timeline.launched_by[slice.row + 1];
      for (uint32_t i = begin; i < end; ++i) {
        ForEachRow(timeline.launched_jobs[i], [&](uint64_t row) {
          rows_.Number<GpuCorrelation::kRenderStageSubmissionEventIdsFieldNumber>(row);
        });
      }
    } else if (slice.about == Slice::About::kWait) {
      const uint32_t last = timeline.last_ended[slice.row];
      rows_.Number<GpuCorrelation::kRenderStageWaitEventIdsFieldNumber>(
          last == model::kNoRow ? RowOfJob(slice.row) : RowOfCommand(last));
    }
  }

  static constexpr std::string_view kUnnamed = "(unnamed)";
  const model::Model& model_;
  PerfettoPackets packets_;
  int64_t last_ns_ = 0;     // of the previous packet
  ProtoText fresh_, rows_;  // of the current packet: what it defines, what it submitted
  ExportStats stats_;
  Interner names_, categories_, stages_;
  Arguments about_;
  std::vector<uint8_t> known_arguments_;
  std::array<uint64_t, 32> category_ids_{};  // by Slice::About
  SliceReader reader_;
  JobOfRows job_;
  std::vector<FlowCount> flow_counts_;
  std::vector<uint64_t> flows_;  // of the current slice
};

}  // namespace

Result<ExportStats> ExportPerfetto(const model::Model& model, const Sink& sink) {
  return Writer(model, sink).Run();
}

}  // namespace acceltrace::view
