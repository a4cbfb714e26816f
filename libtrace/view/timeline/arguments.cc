// SPDX-License-Identifier: Apache-2.0
//
// The details that are shown when a slice is selected. They are made when a slice is written:
// stored with the slices of a large trace, they would take several times its size.
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/unknown.h"
#include "libtrace/view/timeline/timeline.h"

namespace acceltrace::view {
namespace {

// clang-format off
#define FOR_EACH_NAME(X) \
  X(kCorrelation, "correlation") \
  X(kBytes, "bytes") \
  X(kStream, "stream") \
  X(kCalledFrom, "called_from") \
  X(kResult, "result") \
  X(kOpen, "open") \
  X(kBegan, "began") \
  X(kJob, "job") \
  X(kDevice, "device") \
  X(kQueue, "queue") \
  X(kSequence, "sequence") \
  X(kCommands, "commands") \
  X(kDoorbellAtNs, "doorbell_at_ns") \
  X(kContext, "context") \
  X(kStatus, "status") \
  X(kFirstStartAtNs, "first_start_at_ns") \
  X(kLastEndAtNs, "last_end_at_ns") \
  X(kDoorbellTicks, "doorbell_ticks") \
  X(kCompletionTicks, "completion_ticks") \
  X(kDoorbellBoundNs, "doorbell_bound_ns") \
  X(kCompletionBoundNs, "completion_bound_ns") \
  X(kOpcode, "opcode") \
  X(kIndex, "index") \
  X(kLimiter, "limiter") \
  X(kWork, "work") \
  X(kMemoryBytes, "memory_bytes") \
  X(kStartTicks, "start_ticks") \
  X(kEndTicks, "end_ticks") \
  X(kTimeBoundNs, "time_bound_ns") \
  X(kCompletions, "completions") \
  X(kWokenBy, "woken_by") \
  X(kWokenByPid, "woken_by_pid") \
  X(kWokenByTid, "woken_by_tid") \
  X(kCpu, "cpu") \
  X(kMinorFaults, "minor_faults") \
  X(kMajorFaults, "major_faults") \
  X(kArg0, "arg0") \
  X(kArg1, "arg1") \
  X(kArg2, "arg2") \
  X(kHop, "hop") \
  X(kCount, "count")
// clang-format on
enum class Name : uint32_t {
#define X(symbol, text) symbol,
  FOR_EACH_NAME(X)
#undef X
};
constexpr std::string_view kNames[] = {
#define X(symbol, text) text,
    FOR_EACH_NAME(X)
#undef X
};
#undef FOR_EACH_NAME

}  // namespace

// Slices are written in order of time, which is nearly that of the rows.
struct Arguments::Columns {
  template <typename T>
  using Cursor = analysis::Cursor<T>;

  struct Bounds {
    explicit Bounds(const model::DeviceTimes& times)
        : before(times.host.before_ns()), after(times.host.after_ns()) {}
    // Returns nullopt if it is not known.
    std::optional<int64_t> HalfWidthNs(size_t row) {
      return analysis::IfKnown(static_cast<int64_t>((before[row] + after[row] + 1) / 2));
    }
    Cursor<uint64_t> before, after;
  };
  struct Commands {
    explicit Commands(const model::Commands& of)
        : device(of.device),
          opcode(of.opcode),
          job(of.job),
          index(of.index),
          status(of.status),
          limiter(of.limiter),
          first_stall(of.first_stall),
          correlation(of.correlation),
          work(of.work),
          bytes(of.bytes),
          memory_bytes(of.memory_bytes),
          start_ticks(of.start.ticks),
          end_ticks(of.end.ticks),
          start(of.start) {}
    Cursor<uint32_t> device, opcode, job, index, status, limiter, first_stall;
    Cursor<uint64_t> correlation, work, bytes, memory_bytes, start_ticks, end_ticks;
    Bounds start;
  };
  struct Jobs {
    explicit Jobs(const model::Jobs& of)
        : job(of.job),
          device(of.device),
          queue(of.queue),
          context(of.context),
          commands_submitted(of.commands_submitted),
          commands_retired(of.commands_retired),
          status(of.status),
          correlation(of.correlation),
          sequence(of.sequence),
          doorbell_ticks(of.doorbell.ticks),
          completion_ticks(of.completion.ticks),
          doorbell_ns(of.doorbell_ns),
          first_start_ns(of.first_start.host.mid_ns()),
          last_end_ns(of.last_end.host.mid_ns()),
          doorbell(of.doorbell),
          completion(of.completion) {}
    Cursor<uint32_t> job, device, queue, context, commands_submitted, commands_retired, status;
    Cursor<uint64_t> correlation, sequence, doorbell_ticks, completion_ticks;
    Cursor<int64_t> doorbell_ns, first_start_ns, last_end_ns;
    Bounds doorbell, completion;
  };

  explicit Columns(const model::Model& model)
      : commands(model.commands), jobs(model.jobs), stall_ticks(model.stall_ticks) {}
  Commands commands;
  Jobs jobs;
  Cursor<uint64_t> stall_ticks;
  // Caches the previous command's values, since the next ones usually have the same.
  uint32_t last_opcode = 0, last_device = model::kNoRow;
  std::string_view opcode_name;
};

Arguments::Arguments(const model::Model& model)
    : model_(model), columns_(std::make_unique<Columns>(model)) {
  names_.assign(std::begin(kNames), std::end(kNames));
  // Devices of the same type have the same causes.
  std::unordered_map<std::string, uint32_t> numbers;
  for (const model::Device& device : model.devices) {
    auto& stalls = stalls_.emplace_back();
    std::set<uint32_t> taken;
    for (const std::string& cause : device.about.stalls()) {
      // If a device has two causes of the same name, each gets its own argument.
      for (std::string name = "stall_" + cause + "_ticks";; name += "_2") {
        const auto [number, fresh] =
            numbers.try_emplace(name, static_cast<uint32_t>(names_.size()));
        if (fresh) names_.push_back(number->first);
        if (!taken.insert(number->second).second) continue;
        stalls.push_back(number->second);
        break;
      }
    }
  }
  if (model.stacks.of_call.empty()) return;
  symbols::FrameNames files;
  frames_ = analysis::NameStacks(model, &files);
}

Arguments::~Arguments() = default;

void Arguments::OfCall(size_t i) {
  const model::ApiCalls& api = model_.api;
  Add(Name::kCorrelation, api.correlation[i]);
  if (api.bytes[i] != 0) Add(Name::kBytes, api.bytes[i]);
  Add(Name::kStream, uint64_t{api.stream[i]});
  if (!model_.stacks.of_call.empty() && model_.stacks.of_call[i] != model::Stacks::kNoStack) {
    const size_t site = analysis::SiteOf(model_.stacks, model_.stacks.of_call[i]);
    Add(Name::kCalledFrom, std::string_view(frames_.Of(site)));
  }
  if (api.result[i] != 0) Add(Name::kResult, int64_t{api.result[i]});
  if (api.open[i]) Add(Name::kOpen, std::string_view("never seen to end"));
  if (api.began_before[i])
    Add(Name::kBegan, std::string_view("before the recording of its process"));
}

void Arguments::AddJob(size_t j) {
  Columns::Jobs& jobs = columns_->jobs;
  Add(Name::kJob, uint64_t{jobs.job[j]});
  Add(Name::kDevice, std::string_view(model_.devices[jobs.device[j]].about.name()));
  Add(Name::kQueue, uint64_t{jobs.queue[j]});
  Add(Name::kCorrelation, jobs.correlation[j]);
}

void Arguments::OfSubmission(size_t j) {
  Columns::Jobs& jobs = columns_->jobs;
  AddJob(j);
  Add(Name::kSequence, jobs.sequence[j]);
  Add(Name::kCommands, uint64_t{jobs.commands_submitted[j]});
  if (jobs.doorbell_ns[j] != model::kNoTime) Add(Name::kDoorbellAtNs, jobs.doorbell_ns[j]);
}

void Arguments::OfJob(size_t j) {
  Columns::Jobs& jobs = columns_->jobs;
  AddJob(j);
  Add(Name::kContext, uint64_t{jobs.context[j]});
  Add(Name::kSequence, jobs.sequence[j]);
  Add(Name::kCommands, uint64_t{jobs.commands_retired[j]});
  Add(Name::kStatus, std::string_view(model_.devices[jobs.device[j]].StatusName(jobs.status[j])));
  Add(Name::kFirstStartAtNs, jobs.first_start_ns[j]);
  Add(Name::kLastEndAtNs, jobs.last_end_ns[j]);
  Add(Name::kDoorbellTicks, jobs.doorbell_ticks[j]);
  Add(Name::kCompletionTicks, jobs.completion_ticks[j]);
  if (const auto bound = jobs.doorbell.HalfWidthNs(j)) Add(Name::kDoorbellBoundNs, *bound);
  if (const auto bound = jobs.completion.HalfWidthNs(j)) Add(Name::kCompletionBoundNs, *bound);
}

void Arguments::OfCommand(size_t i) {
  Columns::Commands& commands = columns_->commands;
  const uint32_t of = commands.device[i];
  const model::Device& device = model_.devices[of];
  if (const uint32_t opcode = commands.opcode[i];
      opcode != columns_->last_opcode || of != columns_->last_device) {
    columns_->last_opcode = opcode, columns_->last_device = of;
    columns_->opcode_name = device.OpcodeName(opcode);
  }
  Add(Name::kOpcode, columns_->opcode_name);
  Add(Name::kJob, uint64_t{commands.job[i]});
  Add(Name::kIndex, uint64_t{commands.index[i]});
  Add(Name::kCorrelation, commands.correlation[i]);
  Add(Name::kStatus, std::string_view(device.StatusName(commands.status[i])));
  Add(Name::kLimiter, std::string_view(device.LimiterName(commands.limiter[i])));
  Add(Name::kWork, commands.work[i]);
  Add(Name::kBytes, commands.bytes[i]);
  Add(Name::kMemoryBytes, commands.memory_bytes[i]);
  Add(Name::kStartTicks, commands.start_ticks[i]);
  Add(Name::kEndTicks, commands.end_ticks[i]);
  if (const auto bound = commands.start.HalfWidthNs(i)) Add(Name::kTimeBoundNs, *bound);
  const uint32_t first_stall = commands.first_stall[i];
  if (first_stall == model::kNoRow) return;
  for (size_t s = 0; s < stalls_[of].size(); ++s) {
    const uint64_t ticks = columns_->stall_ticks[first_stall + s];
    if (ticks != 0) Add(stalls_[of][s], ticks);
  }
}

std::span<const Argument> Arguments::Of(const Timeline& timeline, const Slice& slice) {
  const size_t row = slice.row;
  size_ = text_bytes_ = 0;
  switch (slice.about) {
    case Slice::About::kNothing:
    case Slice::About::kRange:
    case Slice::About::kRunnable:
    case Slice::About::kNotKnown:
      break;
    case Slice::About::kInterrupt: {
      const std::span<const uint32_t> jobs = JobsOfRun(timeline, slice);
      Add(Name::kQueue, uint64_t{model_.jobs.queue[jobs.front()]});
      Add(Name::kCompletions, uint64_t{jobs.size()});
      break;
    }
    case Slice::About::kAway: {
      const model::ThreadRuns& runs = model_.system.runs;
      if (runs.waker_irq[row] != 0) {
        Add(Name::kWokenBy, std::string_view("an interrupt"));
      } else if (runs.waker_tid[row] != 0) {
        Add(Name::kWokenByPid, uint64_t{runs.waker_pid[row]});
        Add(Name::kWokenByTid, uint64_t{runs.waker_tid[row]});
      }
      break;
    }
    case Slice::About::kRunning: {
      const model::ThreadRuns& runs = model_.system.runs;
      Add(Name::kCpu, uint64_t{runs.cpu[row]});
      Add(Name::kMinorFaults, runs.minor_faults[row]);
      Add(Name::kMajorFaults, runs.major_faults[row]);
      break;
    }
    case Slice::About::kCall:
      OfCall(row);
      break;
    case Slice::About::kSubmission:
      OfSubmission(row);
      break;
    case Slice::About::kWait:
    case Slice::About::kWakeUp:
      AddJob(row);
      break;
    case Slice::About::kJob:
      OfJob(row);
      break;
    case Slice::About::kWaiting:
      Add(Name::kJob, uint64_t{columns_->commands.job[row]});
      Add(Name::kIndex, uint64_t{columns_->commands.index[row]});
      break;
    case Slice::About::kCommand:
      OfCommand(row);
      break;
    case Slice::About::kDeviceEvent: {
      const model::DeviceEvents& events = model_.device_events;
      Add(Name::kArg0, events.arg0[row]), Add(Name::kArg1, events.arg1[row]),
          Add(Name::kArg2, events.arg2[row]);
      break;
    }
    case Slice::About::kLoss:
      Add(Name::kHop, std::string_view(model_.strings.Get(model_.losses[row].hop)));
      Add(Name::kCount, model_.losses[row].count);
      break;
  }
  return {arguments_.data(), size_};
}

}  // namespace acceltrace::view
