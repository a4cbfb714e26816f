// SPDX-License-Identifier: Apache-2.0
//
// Converts a trace to tracks of nested slices, which all timeline formats draw. Internal.
//
// Slices of a track are either nested or do not overlap: others are moved to further lanes, which
// are tracks of the same name next to it.
#ifndef LIBTRACE_VIEW_TIMELINE_TIMELINE_H_
#define LIBTRACE_VIEW_TIMELINE_TIMELINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "libtrace/analysis/usage/call_sites.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::view {

// Texts belong to the model or are constants.
using Value = std::variant<uint64_t, int64_t, double, std::string_view>;
struct Argument {
  uint32_t name = 0;  // index in Arguments::Names()
  Value value;
};

// Kept small, since there are as many slices as rows: names and arguments are made when a slice is
// written.
struct Slice {
  // What the slice represents. Within a kind of track, slices at equal times are drawn in this
  // order.
  enum class About : uint8_t {
    kNothing,
    kCall,        // row of Model::api
    kRange,       // row of Model::ranges
    kSubmission,  // row of Model::jobs
    kWait,
    kWakeUp,
    kJob,
    kWaiting,  // row of Model::commands
    kCommand,
    kInterrupt,    // index in Timeline::interrupt_jobs of the first job of its run
    kDeviceEvent,  // row of Model::device_events
    kLoss,         // row of Model::losses
    kAway,         // row of Model::system.runs: the time before it had a CPU
    kRunnable,     // likewise: the end of that time
    kRunning,
    kNotKnown,  // likewise: rows were lost before
  };
  int64_t begin_ns = 0, end_ns = 0;  // equal for an instant
  uint32_t row = 0;
  About about = About::kNothing;
  bool instant = false;
};

struct Track {
  // A group has no events of its own; a device is one of these, or one of the host's parts.
  enum class Kind { kProcess, kThread, kDevice, kGroup, kLane, kCounter };
  Kind kind = Kind::kLane;
  std::string name;
  const char* description = "";     // for people
  bool unit_lane = false;           // of an execution unit or, without units, of a queue
  uint32_t device = model::kNoRow;  // for kDevice: row of Model::devices
  int parent = -1;                  // index in Timeline::tracks
  int32_t pid = 0, tid = 0;         // for kProcess and kThread; for kDevice, an unused number
  int rank = 0;                     // order among its siblings
  std::string unit;                 // for kCounter
  std::span<const Slice> slices;    // nested, sorted by begin; in Timeline::slices
  std::vector<std::pair<int64_t, double>> values;  // for kCounter, sorted by time
};

struct Timeline {
  std::vector<Track> tracks;  // parents before their children
  uint64_t skipped = 0;       // slices with impossible times or beyond the limits
  std::vector<std::vector<Slice>> slices;
  std::vector<uint32_t> first_started, last_ended;  // command of each job, or kNoRow
  std::vector<uint32_t> interrupt_jobs;             // sorted by device, time, queue
  std::vector<uint32_t> interrupt_ends;             // end of the run that begins there
  // Jobs by the call that launched them: those of call i are [launched_by[i], launched_by[i + 1]).
  std::vector<uint32_t> launched_jobs, launched_by;
  // Dependencies between jobs, as the kernel reported them, sorted by the waiting job and by the
  // job that is waited for.
  struct Dependency {
    uint32_t of, on;  // rows of Model::jobs
  };
  std::vector<Dependency> dependencies;           // sorted by `of`
  std::vector<uint32_t> dependencies_by_awaited;  // indexes in dependencies, sorted by `on`

  Timeline() = default;
  Timeline(Timeline&&) = default;  // slices do not move in memory
  Timeline& operator=(Timeline&&) = default;
};

// Further tracks would be of no use; they are counted in skipped.
inline constexpr size_t kMaxTracks = 16'384;

Timeline BuildTimeline(const model::Model& model);

// The details that are shown when a slice is selected.
class Arguments {
 public:
  // The model must outlive this.
  explicit Arguments(const model::Model& model);
  ~Arguments();
  // The result is valid until the next call.
  std::span<const Argument> Of(const Timeline& timeline, const Slice& slice);
  // Returns the total length of the texts in the last result.
  size_t text_bytes() const { return text_bytes_; }
  // Returns the names of arguments, by number.
  const std::vector<std::string>& Names() const { return names_; }

 private:
  struct Columns;
  void OfCall(size_t row);
  void OfSubmission(size_t row);
  void OfJob(size_t row);
  // Adds the job that a slice belongs to.
  void AddJob(size_t row);
  void OfCommand(size_t row);
  template <typename Name, typename T>
  void Add(Name name, T value) {
    if constexpr (std::is_same_v<T, std::string_view>) text_bytes_ += value.size();
    if (size_ == arguments_.size()) arguments_.resize(2 * size_ + 64);
    arguments_[size_++] = {static_cast<uint32_t>(name), value};
  }

  const model::Model& model_;
  const std::unique_ptr<Columns> columns_;
  std::vector<Argument> arguments_;
  size_t size_ = 0, text_bytes_ = 0;  // of the last call
  std::vector<std::string> names_;
  std::vector<std::vector<uint32_t>> stalls_;  // for each device, the numbers of its causes' names
  analysis::StackNames frames_;                // of the call stacks
};

// Finds the names of slices and what they belong to. Fast for slices sorted by time, which is
// nearly the order of rows, or for those of one track.
class SliceReader {
 public:
  explicit SliceReader(const model::Model& model);
  SliceReader(const SliceReader&) = delete;
  SliceReader& operator=(const SliceReader&) = delete;
  ~SliceReader();

  // The result is valid until the next call or, if *stays is set, as long as this and the model.
  std::string_view Name(const Timeline& timeline, const Slice& slice, bool* stays);
  // Appends the flows of a slice: from a job to its first command, to each further one, back to the
  // host, and to jobs that wait for it.
  void AppendFlows(const Timeline& timeline, const Slice& slice, std::vector<uint64_t>* flows);
  // Returns the number of the request that it belongs to; 0 = none.
  uint64_t Correlation(const Slice& slice);
  uint32_t JobOfCommand(size_t command);

 private:
  struct Columns;
  std::string_view NameOfCommand(size_t row);

  // A cache of names of commands.
  struct Op {
    uint32_t op = 0, opcode = 0, device = 0, row = model::kNoRow;
    std::string_view name;
  };
  const model::Model& model_;
  const std::unique_ptr<Columns> columns_;
  std::string made_;
  std::vector<std::string> waiting_;  // at the head of a unit's queue, by device
  std::array<Op, 64> ops_;
};
const char* CategoryOf(const Slice& slice);
// Flows are (number << 2) + kind: jobs have kLaunch and kCompletion, commands kCommand, and
// dependencies, which are numbered from 1, kDependency.
enum FlowKind : uint64_t {
  kDependencyFlow = 0,
  kLaunchFlow = 1,
  kCompletionFlow = 2,
  kCommandFlow = 3
};
// Maps each flow of a trace to a distinct index. CountFlowPlaces() returns their number.
size_t FlowPlace(const model::Model& model, uint64_t flow);
size_t CountFlowPlaces(const model::Model& model, const Timeline& timeline);
// Returns the jobs that a run of the interrupt handler, a kInterrupt, found completed.
std::span<const uint32_t> JobsOfRun(const Timeline& timeline, const Slice& slice);
// Returns when the run of the interrupt handler or the poll began that found a job completed.
int64_t HandledAtNs(const model::Jobs& jobs, size_t job);

// Distributes slices (in any order) to lanes in which they nest. The lanes follow each other in the
// memory of `slices`. There are at most kMaxLanes; slices that fit none of them are counted in
// *skipped. Exposed for its test.
inline constexpr size_t kMaxLanes = 512;
std::vector<std::span<Slice>> DivideIntoLanes(std::span<Slice> slices, uint64_t* skipped);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_TIMELINE_H_
