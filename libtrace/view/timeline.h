// SPDX-License-Identifier: Apache-2.0
//
// A trace as tracks of nested slices: what every timeline format draws. Room:
// libtrace/view, internal.
//
// Slices of one track nest or are apart: those that overlap otherwise go to
// further lanes, tracks of the same name beside it.
#ifndef LIBTRACE_VIEW_TIMELINE_H_
#define LIBTRACE_VIEW_TIMELINE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::view {

using Value = std::variant<uint64_t, int64_t, double, std::string>;
struct Argument {
  std::string name;
  Value value;
};

struct Slice {
  int64_t begin_ns = 0, end_ns = 0;  // equal for an instant
  bool instant = false;
  std::string name;
  const char* category = "";
  // The row that its arguments are made of, see ArgumentsOf().
  enum class About : uint8_t {
    kNothing,
    kCall,
    kSubmission,
    kWakeUp,
    kJob,
    kWaiting,
    kCommand,
    kDeviceEvent,
    kLoss,
  };
  About about = About::kNothing;
  uint32_t row = 0;
  std::vector<uint64_t> flows;
};

// What a click on it shows.
std::vector<Argument> ArgumentsOf(const model::Model& model, const Slice& slice);

struct Track {
  enum class Kind { kProcess, kThread, kDevice, kLane, kCounter };
  Kind kind = Kind::kLane;
  std::string name;
  int parent = -1;            // position in Timeline::tracks
  int32_t pid = 0, tid = 0;   // kProcess, kThread; kDevice: a number no process has
  int rank = 0;               // order among its siblings
  std::string unit;           // kCounter
  std::vector<Slice> slices;  // nested, by begin
  std::vector<std::pair<int64_t, double>> values;  // kCounter, by time
};

struct Timeline {
  std::vector<Track> tracks;  // parents before their children
  uint64_t skipped = 0;       // slices with impossible times, or in too many layers
};

Timeline BuildTimeline(const model::Model& model);

// Divides slices (any order) into lanes in which they nest; at most kMaxLanes,
// what fits none is counted in *skipped. Exposed for its test.
inline constexpr size_t kMaxLanes = 512;
std::vector<std::vector<Slice>> DivideIntoLanes(std::vector<Slice> slices, uint64_t* skipped);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_H_
