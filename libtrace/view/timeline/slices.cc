// SPDX-License-Identifier: Apache-2.0
//
// The names of slices, their arrows, and which slices may share a track.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/resources.h"
#include "libtrace/view/timeline/timeline.h"

namespace acceltrace::view {
namespace {

using About = Slice::About;

uint64_t Flow(size_t number, FlowKind kind) { return (uint64_t{number} << 2) + kind; }

bool IsPolled(const model::Jobs& jobs, size_t job) { return jobs.irq_ns[job] == model::kNoTime; }

void AppendFlowsOfJob(const model::Jobs& jobs, const Timeline& timeline, size_t job,
                      std::vector<uint64_t>* flows) {
  flows->push_back(Flow(job, kLaunchFlow));
  for (size_t c = jobs.first_command[job]; c < jobs.first_command[job] + jobs.num_commands[job];
       ++c) {
    if (c != timeline.first_started[job]) flows->push_back(Flow(c, kCommandFlow));
  }
  if (timeline.last_ended[job] == model::kNoRow) flows->push_back(Flow(job, kCompletionFlow));
  const auto& all = timeline.dependencies;
  const auto first = std::lower_bound(all.begin(), all.end(), job,
                                      [](const auto& one, size_t row) { return one.of < row; });
  for (auto at = first; at != all.end() && at->of == job; ++at) {
    flows->push_back(Flow(static_cast<size_t>(at - all.begin()) + 1, kDependencyFlow));
  }
  const auto& awaited = timeline.dependencies_by_awaited;
  const auto from = std::lower_bound(awaited.begin(), awaited.end(), job,
                                     [&](uint32_t at, size_t row) { return all[at].on < row; });
  for (auto at = from; at != awaited.end() && all[*at].on == job; ++at) {
    flows->push_back(Flow(size_t{*at} + 1, kDependencyFlow));
  }
}

const char* NameOfDeviceEvent(const model::Model& model, size_t row) {
  static constexpr const char* kNames[] = {"event",    "link changed", "clock changed",
                                           "throttle", "memory error", "context error",
                                           "reset"};
  const uint32_t kind = model.device_events.kind[row];
  return kNames[kind < std::size(kNames) ? kind : 0];
}

// A command at the head of its unit's queue waits for others; named by the device's own term.
std::string NameOfWaiting(const model::Device& device) {
  for (int cause = 0; cause < device.about.stalls_size(); ++cause) {
    if (analysis::StallKindOf(device.about, cause) == proto::Device::STALL_WAIT) {
      return "stall: " + device.about.stalls(cause);
    }
  }
  return "waiting";
}

// Describes what a thread did before it was runnable, and in which kernel function.
std::string NameOfAway(const model::Model& model, size_t row) {
  const model::ThreadRuns& runs = model.system.runs;
  const std::string& wait = model.strings.Get(runs.wait[row]);
  const char* state = "not known";
  if (runs.away[row] == proto::ThreadRunBatch::STATE_SLEEPING) state = "sleeping";
  if (runs.away[row] == proto::ThreadRunBatch::STATE_BLOCKED) state = "blocked";
  if (runs.away[row] == proto::ThreadRunBatch::STATE_STOPPED) state = "stopped";
  return wait.empty() ? state : state + (" in " + wait);
}

}  // namespace

std::span<const uint32_t> JobsOfRun(const Timeline& timeline, const Slice& slice) {
  return std::span<const uint32_t>(timeline.interrupt_jobs)
      .subspan(slice.row, timeline.interrupt_ends[slice.row] - slice.row);
}

int64_t HandledAtNs(const model::Jobs& jobs, size_t job) {
  return IsPolled(jobs, job) ? jobs.complete_ns[job] : jobs.irq_ns[job];
}

struct SliceReader::Columns {
  template <typename T>
  using Cursor = analysis::Cursor<T>;

  explicit Columns(const model::Model& model)
      : op(model.commands.op),
        opcode(model.commands.opcode),
        device(model.commands.device),
        job_row(model.commands.job_row),
        correlation(model.commands.correlation),
        job_correlation(model.jobs.correlation) {}
  Cursor<uint32_t> op, opcode, device, job_row;
  Cursor<uint64_t> correlation, job_correlation;
};

SliceReader::SliceReader(const model::Model& model)
    : model_(model), columns_(std::make_unique<Columns>(model)) {}
SliceReader::~SliceReader() = default;

std::string_view SliceReader::Name(const Timeline& timeline, const Slice& slice, bool* stays) {
  const model::Model& model = model_;
  *stays = true;
  switch (slice.about) {
    case About::kNothing:
      return "";
    case About::kCall:
      return model.strings.Get(model.api.name[slice.row]);
    case About::kRange:
      return model.strings.Get(model.ranges.name[slice.row]);
    case About::kSubmission:
      return "submit";
    case About::kWait:
      return "wait";
    case About::kWakeUp:
      return "wake";
    case About::kJob:
      return "job";
    case About::kWaiting:
      if (waiting_.empty()) {
        for (const model::Device& device : model.devices) waiting_.push_back(NameOfWaiting(device));
      }
      return waiting_[columns_->device[slice.row]];
    case About::kCommand:
      return NameOfCommand(slice.row);
    case About::kInterrupt: {
      const uint32_t last = JobsOfRun(timeline, slice).back();
      return IsPolled(model.jobs, last) ? "poll" : "interrupt";
    }
    case About::kDeviceEvent:
      return NameOfDeviceEvent(model, slice.row);
    case About::kLoss:
      return "events lost";
    case About::kAway:
      made_ = NameOfAway(model, slice.row);
      break;
    case About::kRunnable:
      return "runnable";
    case About::kRunning:
      return "running";
    case About::kNotKnown:
      return "not known";
  }
  *stays = false;
  return made_;
}

std::string_view SliceReader::NameOfCommand(size_t row) {
  const uint32_t op = columns_->op[row], device = columns_->device[row];
  const uint32_t opcode = columns_->opcode[row];
  // Ops alternate, but there are only a few.
  Op& known = ops_[(op * 31 + opcode * 7 + device) % ops_.size()];
  if (known.row == model::kNoRow || known.op != op || known.opcode != opcode ||
      known.device != device) {
    known = {op, opcode, device, static_cast<uint32_t>(row), model_.OpName(row)};
  }
  return known.name;
}

const char* CategoryOf(const Slice& slice) {
  switch (slice.about) {
    case About::kNothing:
      break;
    case About::kCall:
      return "api";
    case About::kRange:
      return "range";
    case About::kSubmission:
    case About::kWait:
    case About::kWakeUp:
    case About::kInterrupt:
      return "driver";
    case About::kJob:
      return "job";
    case About::kWaiting:
      return "stall";
    case About::kCommand:
      return "command";
    case About::kDeviceEvent:
      return "device";
    case About::kLoss:
      return "loss";
    case About::kAway:
    case About::kRunnable:
    case About::kRunning:
    case About::kNotKnown:
      return "sched";
  }
  return "";
}

uint32_t SliceReader::JobOfCommand(size_t command) { return columns_->job_row[command]; }

uint64_t SliceReader::Correlation(const Slice& slice) {
  switch (slice.about) {
    case About::kCall:
      return model_.api.correlation[slice.row];
    case About::kSubmission:
    case About::kWait:
    case About::kWakeUp:
    case About::kJob:
      return columns_->job_correlation[slice.row];
    case About::kWaiting:
    case About::kCommand:
      return columns_->correlation[slice.row];
    default:
      return 0;
  }
}

// The order is launches, completions, commands, dependencies.
size_t FlowPlace(const model::Model& model, uint64_t flow) {
  const auto number = static_cast<size_t>(flow >> 2);
  const size_t jobs = model.jobs.size();
  if ((flow & 3) == kDependencyFlow) return 2 * jobs + model.commands.size() + number - 1;
  return number + ((flow & 3) - kLaunchFlow) * jobs;
}

size_t CountFlowPlaces(const model::Model& model, const Timeline& timeline) {
  return 2 * model.jobs.size() + model.commands.size() + timeline.dependencies.size();
}

void SliceReader::AppendFlows(const Timeline& timeline, const Slice& slice,
                              std::vector<uint64_t>* flows) {
  const model::Jobs& jobs = model_.jobs;
  switch (slice.about) {
    case About::kCall: {
      for (uint32_t i = timeline.launched_by[slice.row]; i < timeline.launched_by[slice.row + 1];
           ++i) {
        flows->push_back(Flow(timeline.launched_jobs[i], kLaunchFlow));
      }
      break;
    }
    case About::kSubmission:
      flows->push_back(Flow(slice.row, kLaunchFlow));
      break;
    case About::kWakeUp:
      flows->push_back(Flow(slice.row, kCompletionFlow));
      break;
    case About::kJob:
      AppendFlowsOfJob(jobs, timeline, slice.row, flows);
      break;
    case About::kCommand: {
      const size_t job = JobOfCommand(slice.row);
      flows->push_back(timeline.first_started[job] == slice.row ? Flow(job, kLaunchFlow)
                                                                : Flow(slice.row, kCommandFlow));
      if (timeline.last_ended[job] == slice.row) flows->push_back(Flow(job, kCompletionFlow));
      break;
    }
    case About::kInterrupt:
      for (uint32_t job : JobsOfRun(timeline, slice)) {
        flows->push_back(Flow(job, kCompletionFlow));
      }
      break;
    default:
      break;
  }
}

std::vector<std::span<Slice>> DivideIntoLanes(std::span<Slice> slices, uint64_t* skipped) {
  const auto before = [](const Slice& a, const Slice& b) {
    return std::tie(a.begin_ns, b.end_ns) < std::tie(b.begin_ns, a.end_ns);
  };
  if (!std::is_sorted(slices.begin(), slices.end(), before)) {
    std::stable_sort(slices.begin(), slices.end(), before);
  }
  // Determine the lane of each slice, then sort the slices by lane.
  std::vector<uint16_t> lane_of;
  std::vector<size_t> sizes;
  std::vector<std::vector<int64_t>> open_ends;  // for each lane, innermost last
  for (size_t i = 0; i < slices.size(); ++i) {
    size_t lane = 0;
    for (; lane < sizes.size(); ++lane) {
      std::vector<int64_t>& open = open_ends[lane];
      while (!open.empty() && open.back() <= slices[i].begin_ns) open.pop_back();
      if (open.empty() || slices[i].end_ns <= open.back()) break;
    }
    // Usually there is a single lane, and nothing needs to be stored.
    if (lane > 0 && lane_of.empty()) lane_of.resize(slices.size());
    if (!lane_of.empty()) lane_of[i] = static_cast<uint16_t>(lane);
    if (lane == kMaxLanes) {
      ++*skipped;
      continue;
    }
    if (lane == sizes.size()) {
      sizes.push_back(0);
      open_ends.emplace_back();
    }
    ++sizes[lane];
    open_ends[lane].push_back(slices[i].end_ns);
  }
  if (!lane_of.empty()) {
    std::vector<size_t> next(sizes.size() + 1);
    for (size_t lane = 0; lane < sizes.size(); ++lane) next[lane + 1] = next[lane] + sizes[lane];
    std::vector<Slice> sorted(slices.size());
    for (size_t i = 0; i < slices.size(); ++i) {
      if (lane_of[i] < kMaxLanes) sorted[next[lane_of[i]]++] = slices[i];
    }
    std::copy(sorted.begin(), sorted.end(), slices.begin());
  }
  std::vector<std::span<Slice>> lanes;
  for (size_t lane = 0, first = 0; lane < sizes.size(); first += sizes[lane++]) {
    lanes.push_back(slices.subspan(first, sizes[lane]));
  }
  return lanes;
}

}  // namespace acceltrace::view
