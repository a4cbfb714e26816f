// SPDX-License-Identifier: Apache-2.0
//
// The tracks of a page's timeline, whose lanes are pyramids. Internal.
//
// page/tracks.js builds the same tracks, with the same ids, from the rows that it receives. The
// lane of an event is decided here, so that it does not depend on what else is shown.
#ifndef LIBTRACE_VIEW_HTML_PAGE_TRACKS_H_
#define LIBTRACE_VIEW_HTML_PAGE_TRACKS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/view/html/page_path.h"
#include "libtrace/view/html/pyramid.h"

namespace acceltrace::view {

// The table that a row belongs to.
enum PageTableId : uint8_t {
  kApiTable,
  kRangesTable,
  kJobsTable,
  kCommandsTable,
  kHostTable,
  kDeviceEventsTable,
  kLossesTable,
  kPiecesTable,
  kRecorderTable,
  kPathTable,
  kNumPageTables
};

// The kinds of events in page/events.js.
enum PageKind : uint8_t {
  kPieceEvent,
  kPathEvent,
  kLossEvent,
  kRecorderEvent,
  kRangeEvent,
  kApiEvent,
  kSubmitEvent,
  kWaitEvent,
  kWakeEvent,
  kJobEvent,
  kSentEvent,
  kIrqEvent,
  kCommandEvent,
  kStallEvent,
  kDeviceEventEvent,
  kHostEvent,
  kNumPageKinds
};
struct PageKindAbout {
  std::string_view name;
  PageTableId table;
};
const PageKindAbout& AboutKind(PageKind kind);
std::optional<PageKind> KindOfName(std::string_view name);

struct PageLane {
  PageKind kind;
  uint8_t lane;
  Pyramid events;
};

struct PageTrack {
  std::string id;
  uint8_t lanes = 0;
  uint64_t events = 0;
  std::vector<PageLane> parts;  // by lane; a lane may have several kinds
};

class PageTracks {
 public:
  // More tracks are of no use; those with the most events are kept.
  static constexpr size_t kMostTracks = 2000;
  static constexpr size_t kMostLanes = 24;  // as in page/tracks.js; the last one takes the rest

  // The arguments must outlive this.
  PageTracks(const analysis::Report& report, const analysis::TracerWork& work,
             const PagePath& path);
  PageTracks(const PageTracks&) = delete;
  PageTracks& operator=(const PageTracks&) = delete;

  const std::vector<PageTrack>& tracks() const { return tracks_; }
  uint64_t tracks_left_out() const { return left_out_; }
  const PageTrack* Find(const std::string& id) const;
  // Returns the lane of an event, or 0 if it is on no track.
  uint8_t LaneOf(PageKind kind, uint32_t row) const {
    return lanes_[kind].empty() ? 0 : lanes_[kind][row];
  }
  bool HasLanes(PageKind kind) const { return !lanes_[kind].empty(); }
  std::pair<int64_t, int64_t> Span(PageKind kind, uint32_t row) const;
  // Returns the track on which a row is drawn as this kind, if there is one.
  std::optional<std::string> TrackOf(PageKind kind, uint32_t row) const;
  size_t Rows(PageTableId table) const;
  const PyramidSource& source(PageKind kind) const { return sources_[kind]; }
  size_t Bytes() const;  // of memory

 private:
  enum TrackKind : uint8_t {
    kRun,
    kPath,
    kLosses,
    kTracer,
    kRanges,
    kCalls,
    kDriver,
    kQueue,
    kUnit,
    kWaits,
    kInterrupts,
    kDeviceEvents,
    kDriverEvents
  };
  struct Key {
    TrackKind kind;
    uint32_t a = 0, b = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return ((uint64_t{key.a} << 32 | key.b) * 0x9e3779b97f4a7c15u) ^ key.kind;
    }
  };
  using RowsByKind = std::vector<std::pair<PageKind, std::vector<uint32_t>>>;

  void DescribeRun();
  void DescribeHost();
  void DescribeDevices();
  static std::string IdOf(const Key& key);
  void Build();
  void BuildTrack(const Key& key, RowsByKind* rows);
  void Sort(PageKind kind, std::vector<uint32_t>* rows) const;

  const analysis::Report& report_;
  const model::Model& model_;
  const analysis::TracerWork& work_;
  const PagePath& path_;
  std::array<PyramidSource, kNumPageKinds> sources_;
  std::array<std::function<std::optional<Key>(uint32_t)>, kNumPageKinds> keys_;
  std::array<std::vector<uint8_t>, kNumPageKinds> lanes_;
  std::vector<PageTrack> tracks_;
  std::unordered_map<std::string, size_t> by_id_;
  uint64_t left_out_ = 0;
};

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_TRACKS_H_
