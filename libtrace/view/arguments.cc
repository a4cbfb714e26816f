// SPDX-License-Identifier: Apache-2.0
//
// What a click on a slice shows. Made when a slice is written: kept with the slices of a large
// trace, they would take several times its size.
#include "libtrace/view/timeline.h"

namespace acceltrace::view {
namespace {

int64_t HalfWidthNs(const model::Interval& at) { return (at.hi_ns - at.lo_ns + 1) / 2; }

}  // namespace

Arguments::Arguments(const model::Model& model) : model_(model) {
  for (const model::Device& device : model.devices) {
    auto& names = stalls_.emplace_back();
    for (const std::string& cause : device.about.stalls()) {
      names.push_back("stall_" + cause + "_ticks");
    }
  }
  if (model.stacks.of_call.empty()) return;
  symbols::FrameNames files;
  frames_ = analysis::NameStacks(model, &files);
}

void Arguments::OfCall(size_t i) {
  const model::ApiCalls& api = model_.api;
  Add("correlation", api.correlation[i]);
  if (api.bytes[i] != 0) Add("bytes", api.bytes[i]);
  Add("stream", uint64_t{api.stream[i]});
  if (!model_.stacks.of_call.empty() && model_.stacks.of_call[i] != model::Stacks::kNoStack) {
    const size_t site = analysis::SiteOf(model_.stacks, model_.stacks.of_call[i]);
    Add("called_from", std::string_view(frames_.Of(site)));
  }
  if (api.result[i] != 0) Add("result", int64_t{api.result[i]});
  if (api.open[i]) Add("open", std::string_view("never seen to end"));
  if (api.began_before[i]) Add("began", std::string_view("before the recording of its process"));
}

void Arguments::AddJob(size_t j) {
  const model::Jobs& jobs = model_.jobs;
  Add("job", uint64_t{jobs.job[j]});
  Add("device", std::string_view(model_.devices[jobs.device[j]].about.name()));
  Add("queue", uint64_t{jobs.queue[j]});
  Add("correlation", jobs.correlation[j]);
}

void Arguments::OfSubmission(size_t j) {
  const model::Jobs& jobs = model_.jobs;
  AddJob(j);
  Add("sequence", jobs.sequence[j]);
  Add("commands", uint64_t{jobs.commands_submitted[j]});
  if (jobs.doorbell_ns[j] != model::kNoTime) Add("doorbell_at_ns", jobs.doorbell_ns[j]);
}

void Arguments::OfJob(size_t j) {
  const model::Jobs& jobs = model_.jobs;
  AddJob(j);
  Add("context", uint64_t{jobs.context[j]});
  Add("sequence", jobs.sequence[j]);
  Add("commands", uint64_t{jobs.commands_retired[j]});
  Add("status", std::string_view(model_.devices[jobs.device[j]].StatusName(jobs.status[j])));
  Add("first_start_at_ns", jobs.first_start.host[j].mid_ns);
  Add("last_end_at_ns", jobs.last_end.host[j].mid_ns);
  Add("doorbell_ticks", jobs.doorbell.ticks[j]);
  Add("completion_ticks", jobs.completion.ticks[j]);
  Add("doorbell_bound_ns", HalfWidthNs(jobs.doorbell.host[j]));
  Add("completion_bound_ns", HalfWidthNs(jobs.completion.host[j]));
}

void Arguments::OfCommand(size_t i) {
  const model::Commands& commands = model_.commands;
  const uint32_t of = commands.device[i];
  const model::Device& device = model_.devices[of];
  Add("opcode", std::string_view(device.OpcodeName(commands.opcode[i])));
  Add("job", uint64_t{commands.job[i]});
  Add("index", uint64_t{commands.index[i]});
  Add("correlation", commands.correlation[i]);
  Add("status", std::string_view(device.StatusName(commands.status[i])));
  Add("limiter", std::string_view(device.LimiterName(commands.limiter[i])));
  Add("work", commands.work[i]);
  Add("bytes", commands.bytes[i]);
  Add("memory_bytes", commands.memory_bytes[i]);
  Add("start_ticks", commands.start.ticks[i]);
  Add("end_ticks", commands.end.ticks[i]);
  Add("time_bound_ns", HalfWidthNs(commands.start.host[i]));
  if (commands.first_stall[i] == model::kNoRow) return;
  const auto stalls = model_.Stalls(i);
  for (size_t s = 0; s < stalls_[of].size(); ++s) {
    const uint64_t ticks = stalls[static_cast<int>(s)];
    if (ticks != 0) Add(stalls_[of][s], ticks);
  }
}

std::span<const Argument> Arguments::Of(const Timeline& timeline, const Slice& slice) {
  const size_t row = slice.row;
  arguments_.clear();
  switch (slice.about) {
    case Slice::About::kNothing:
    case Slice::About::kRange:
    case Slice::About::kRunnable:
    case Slice::About::kNotKnown:
      break;
    case Slice::About::kInterrupt: {
      const std::span<const uint32_t> jobs = JobsOfRun(model_, timeline, slice);
      Add("queue", uint64_t{model_.jobs.queue[jobs.front()]});
      Add("completions", uint64_t{jobs.size()});
      break;
    }
    case Slice::About::kAway: {
      const model::ThreadRuns& runs = model_.system.runs;
      if (runs.waker_irq[row] != 0) {
        Add("woken_by", std::string_view("an interrupt"));
      } else if (runs.waker_tid[row] != 0) {
        Add("woken_by_pid", uint64_t{runs.waker_pid[row]});
        Add("woken_by_tid", uint64_t{runs.waker_tid[row]});
      }
      break;
    }
    case Slice::About::kRunning: {
      const model::ThreadRuns& runs = model_.system.runs;
      Add("cpu", uint64_t{runs.cpu[row]});
      Add("minor_faults", runs.minor_faults[row]);
      Add("major_faults", runs.major_faults[row]);
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
      Add("job", uint64_t{model_.commands.job[row]});
      Add("index", uint64_t{model_.commands.index[row]});
      break;
    case Slice::About::kCommand:
      OfCommand(row);
      break;
    case Slice::About::kDeviceEvent: {
      const model::DeviceEvents& events = model_.device_events;
      Add("arg0", events.arg0[row]), Add("arg1", events.arg1[row]), Add("arg2", events.arg2[row]);
      break;
    }
    case Slice::About::kLoss:
      Add("hop", std::string_view(model_.strings.Get(model_.losses[row].hop)));
      Add("count", model_.losses[row].count);
      break;
  }
  return arguments_;
}

}  // namespace acceltrace::view
