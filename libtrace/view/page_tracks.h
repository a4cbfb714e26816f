// SPDX-License-Identifier: Apache-2.0
//
// The tracks of a page's timeline, each with its lanes as pyramids. Internal.
//
// page/tracks.js makes the same tracks, with the same ids, of the rows that it is given; which
// lane an event is drawn in is decided here, so that it stays where it is whatever else is shown.
#ifndef LIBTRACE_VIEW_PAGE_TRACKS_H_
#define LIBTRACE_VIEW_PAGE_TRACKS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libtrace/analysis/report.h"
#include "libtrace/analysis/tracer_work.h"
#include "libtrace/view/page_path.h"
#include "libtrace/view/pyramid.h"

namespace acceltrace::view {

// Of which table rows are.
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

// What page/events.js calls kinds of events.
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
  // More than a person looks at: the ones with most events.
  static constexpr size_t kMostTracks = 2000;
  static constexpr size_t kMostLanes = 24;  // as page/tracks.js: the last one takes all others

  // What is given outlives this.
  PageTracks(const analysis::Report& report, const analysis::TracerWork& work,
             const PagePath& path);
  PageTracks(const PageTracks&) = delete;
  PageTracks& operator=(const PageTracks&) = delete;

  const std::vector<PageTrack>& tracks() const { return tracks_; }
  uint64_t tracks_left_out() const { return left_out_; }
  const PageTrack* Find(const std::string& id) const;
  // Of an event; 0 where it is on no track.
  uint8_t LaneOf(PageKind kind, uint32_t row) const {
    return lanes_[kind].empty() ? 0 : lanes_[kind][row];
  }
  bool HasLanes(PageKind kind) const { return !lanes_[kind].empty(); }
  std::pair<int64_t, int64_t> Span(PageKind kind, uint32_t row) const;
  // The track that a row is drawn on as this kind, if it is.
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

#endif  // LIBTRACE_VIEW_PAGE_TRACKS_H_
