// SPDX-License-Identifier: Apache-2.0
//
// A trace as tracks of nested slices: what every timeline format draws. Internal.
//
// Slices of one track nest or are apart: those that overlap otherwise go to
// further lanes, tracks of the same name beside it.
#ifndef LIBTRACE_VIEW_TIMELINE_H_
#define LIBTRACE_VIEW_TIMELINE_H_

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

#include "libtrace/analysis/call_sites.h"
#include "libtrace/model/model.h"

namespace acceltrace::view {

// Texts are the model's, or constants.
using Value = std::variant<uint64_t, int64_t, double, std::string_view>;
struct Argument {
  uint32_t name = 0;  // for Arguments::Names()
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
    kAway,         // of Model::system.runs: what was before it had a CPU
    kRunnable,     // likewise, the end of that
    kRunning,
    kNotKnown,  // likewise: before that, rows were lost
  };
  int64_t begin_ns = 0, end_ns = 0;  // equal for an instant
  uint32_t row = 0;
  About about = About::kNothing;
  bool instant = false;
};

struct Track {
  // A group has nothing of its own; a device is one of these or of the host's parts.
  enum class Kind { kProcess, kThread, kDevice, kGroup, kLane, kCounter };
  Kind kind = Kind::kLane;
  std::string name;
  const char* description = "";     // for people
  bool unit_lane = false;           // of an execution unit or, of devices without, a queue
  uint32_t device = model::kNoRow;  // kDevice: row of Model::devices
  int parent = -1;                  // position in Timeline::tracks
  int32_t pid = 0, tid = 0;         // kProcess, kThread; kDevice: a number no process has
  int rank = 0;                     // order among its siblings
  std::string unit;                 // kCounter
  std::span<const Slice> slices;    // nested, by begin; in Timeline::slices
  std::vector<std::pair<int64_t, double>> values;  // kCounter, by time
};

struct Timeline {
  std::vector<Track> tracks;  // parents before their children
  uint64_t skipped = 0;       // slices with impossible times, or in too many layers or tracks
  std::vector<std::vector<Slice>> slices;
  std::vector<uint32_t> first_started, last_ended;  // command of each job, or kNoRow
  std::vector<uint32_t> interrupt_jobs;             // by device, time, queue
  std::vector<uint32_t> interrupt_ends;             // of the run that begins there
  // By the call that did it: those of call i are [launched_by[i], launched_by[i + 1]).
  std::vector<uint32_t> launched_jobs, launched_by;
  // What jobs wait for, as the kernel reported: by the waiting job, and by the one that is waited
  // for.
  struct Dependency {
    uint32_t of, on;  // rows of Model::jobs
  };
  std::vector<Dependency> dependencies;           // by `of`
  std::vector<uint32_t> dependencies_by_awaited;  // by `on`: places in dependencies

  Timeline() = default;
  Timeline(Timeline&&) = default;  // slices stay where they are
  Timeline& operator=(Timeline&&) = default;
};

// More than anybody looks at: the rest is counted in skipped.
inline constexpr size_t kMaxTracks = 16'384;

Timeline BuildTimeline(const model::Model& model);

// What a click on a slice shows.
class Arguments {
 public:
  // model: outlives this.
  explicit Arguments(const model::Model& model);
  ~Arguments();
  // Good until the next call.
  std::span<const Argument> Of(const Timeline& timeline, const Slice& slice);
  // How long the texts among those are, together.
  size_t text_bytes() const { return text_bytes_; }
  // What they are called, by number.
  const std::vector<std::string>& Names() const { return names_; }

 private:
  struct Columns;
  void OfCall(size_t row);
  void OfSubmission(size_t row);
  void OfJob(size_t row);
  // Which job a slice is of.
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
  size_t size_ = 0, text_bytes_ = 0;  // of those of the last call
  std::vector<std::string> names_;
  std::vector<std::vector<uint32_t>> stalls_;  // by device: the names of its causes
  analysis::StackNames frames_;                // of stacks of calls
};

// What slices are called, and what they belong to; of slices in order of time, which is nearly that
// of the rows, or of those of one track.
class SliceReader {
 public:
  explicit SliceReader(const model::Model& model);
  SliceReader(const SliceReader&) = delete;
  SliceReader& operator=(const SliceReader&) = delete;
  ~SliceReader();

  // Good until the next call, and as long as this and the model if *stays.
  std::string_view Name(const Timeline& timeline, const Slice& slice, bool* stays);
  // Appends its arrows: of a job to its first command, to each other one, back to the host, and to
  // jobs that wait for it.
  void AppendFlows(const Timeline& timeline, const Slice& slice, std::vector<uint64_t>* flows);
  // Of the request that it belongs to; 0 = none.
  uint64_t Correlation(const Slice& slice);
  uint32_t JobOfCommand(size_t command);

 private:
  struct Columns;
  std::string_view NameOfCommand(size_t row);

  // What commands were called that were asked for last.
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
// Flows are (number << 2) + kind: of jobs those of kLaunch and kCompletion, of commands kCommand,
// of dependencies, the first of which is 1, kDependency.
enum FlowKind : uint64_t {
  kDependencyFlow = 0,
  kLaunchFlow = 1,
  kCompletionFlow = 2,
  kCommandFlow = 3
};
// A place of its own for each flow of a trace, and how many there are.
size_t FlowPlace(const model::Model& model, uint64_t flow);
size_t CountFlowPlaces(const model::Model& model, const Timeline& timeline);
// The jobs that a run of the interrupt handler, a kInterrupt, found done.
std::span<const uint32_t> JobsOfRun(const Timeline& timeline, const Slice& slice);
// The run of the interrupt handler, or the poll, that found a job done: when it began.
int64_t HandledAtNs(const model::Jobs& jobs, size_t job);

// Divides slices (any order) into lanes in which they nest, one after the other in their place;
// at most kMaxLanes, what fits none is counted in *skipped. Exposed for its test.
inline constexpr size_t kMaxLanes = 512;
std::vector<std::span<Slice>> DivideIntoLanes(std::span<Slice> slices, uint64_t* skipped);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_TIMELINE_H_
