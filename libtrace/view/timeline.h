// SPDX-License-Identifier: Apache-2.0
//
// A trace as tracks of nested slices: what every timeline format draws. Internal.
//
// Slices of one track nest or are apart: those that overlap otherwise go to
// further lanes, tracks of the same name beside it.
#ifndef LIBTRACE_VIEW_TIMELINE_H_
#define LIBTRACE_VIEW_TIMELINE_H_

#include <cstdint>
#include <span>
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

// Small, since there are as many as rows: what is drawn of it is made when it is written.
struct Slice {
  // What it is of. Those of one kind of track are in the order in which equal times are drawn.
  enum class About : uint8_t {
    kNothing,
    kCall,        // row of Model::api
    kRange,       // of Model::ranges
    kSubmission,  // of Model::jobs
    kWait,
    kWakeUp,
    kJob,
    kWaiting,  // of Model::commands
    kCommand,
    kInterrupt,    // of Timeline::interrupt_jobs, the first of its run of the handler
    kDeviceEvent,  // of Model::device_events
    kLoss,         // of Model::losses
  };
  int64_t begin_ns = 0, end_ns = 0;  // equal for an instant
  uint32_t row = 0;
  About about = About::kNothing;
  bool instant = false;
};

// What a click on it shows.
std::vector<Argument> ArgumentsOf(const model::Model& model, const Slice& slice);

struct Track {
  enum class Kind { kProcess, kThread, kDevice, kLane, kCounter };
  Kind kind = Kind::kLane;
  std::string name;
  int parent = -1;                // position in Timeline::tracks
  int32_t pid = 0, tid = 0;       // kProcess, kThread; kDevice: a number no process has
  int rank = 0;                   // order among its siblings
  std::string unit;               // kCounter
  std::span<const Slice> slices;  // nested, by begin; in Timeline::slices
  std::vector<std::pair<int64_t, double>> values;  // kCounter, by time
};

struct Timeline {
  std::vector<Track> tracks;  // parents before their children
  uint64_t skipped = 0;       // slices with impossible times, or in too many layers or tracks
  std::vector<std::vector<Slice>> slices;
  std::vector<uint32_t> first_started, last_ended;  // command of each job, or kNoRow
  std::vector<uint32_t> interrupt_jobs;             // by device, time, queue
  std::vector<uint32_t> launched_jobs;              // by the call that did it

  Timeline() = default;
  Timeline(Timeline&&) = default;  // slices stay where they are
  Timeline& operator=(Timeline&&) = default;
};

// More than anybody looks at: the rest is counted in skipped.
inline constexpr size_t kMaxTracks = 16'384;

Timeline BuildTimeline(const model::Model& model);

std::string NameOf(const model::Model& model, const Timeline& timeline, const Slice& slice);
const char* CategoryOf(const Slice& slice);
// Appends its arrows: of a job to its first command, to each other one, and back to the host.
void AppendFlows(const model::Model& model, const Timeline& timeline, const Slice& slice,
                 std::vector<uint64_t>* flows);
// Flows are (number << 2) + kind: of jobs those of kLaunch and kCompletion, of commands kCommand.
enum FlowKind : uint64_t { kLaunchFlow = 1, kCompletionFlow = 2, kCommandFlow = 3 };
// The run of the interrupt handler, or the poll, that found a job done: when it began.
int64_t HandledAtNs(const model::Jobs& jobs, size_t job);

// Divides slices (any order) into lanes in which they nest, one after the other in their place;
// at most kMaxLanes, what fits none is counted in *skipped. Exposed for its test.
inline constexpr size_t kMaxLanes = 512;
std::vector<std::span<Slice>> DivideIntoLanes(std::span<Slice> slices, uint64_t* skipped);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_H_
