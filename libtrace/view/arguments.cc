// SPDX-License-Identifier: Apache-2.0
//
// What a click on a slice shows. Made when a slice is written: kept with the slices of a large
// trace, they would take several times its size.
#include "libtrace/view/timeline.h"

namespace acceltrace::view {
namespace {

using Arguments = std::vector<Argument>;

int64_t HalfWidthNs(const model::Interval& at) { return (at.hi_ns - at.lo_ns + 1) / 2; }

Arguments OfCall(const model::ApiCalls& api, size_t i) {
  Arguments arguments = {{"correlation", api.correlation[i]}};
  if (api.bytes[i] != 0) arguments.push_back({"bytes", api.bytes[i]});
  arguments.push_back({"stream", uint64_t{api.stream[i]}});
  if (api.result[i] != 0) arguments.push_back({"result", int64_t{api.result[i]}});
  if (api.open[i]) arguments.push_back({"open", std::string("never seen to end")});
  if (api.began_before[i]) {
    arguments.push_back({"began", std::string("before the recording of its process")});
  }
  return arguments;
}

Arguments OfSubmission(const model::Model& model, size_t j) {
  const model::Jobs& jobs = model.jobs;
  Arguments arguments = {{"device", model.devices[jobs.device[j]].about.name()},
                         {"queue", uint64_t{jobs.queue[j]}},
                         {"sequence", jobs.sequence[j]},
                         {"commands", uint64_t{jobs.commands_submitted[j]}},
                         {"correlation", jobs.correlation[j]}};
  if (jobs.doorbell_ns[j] != model::kNoTime) {
    arguments.push_back({"doorbell_at_ns", jobs.doorbell_ns[j]});
  }
  return arguments;
}

Arguments OfJob(const model::Model& model, size_t j) {
  const model::Jobs& jobs = model.jobs;
  return {{"correlation", jobs.correlation[j]},
          {"context", uint64_t{jobs.context[j]}},
          {"sequence", jobs.sequence[j]},
          {"commands", uint64_t{jobs.commands_retired[j]}},
          {"status", model.devices[jobs.device[j]].StatusName(jobs.status[j])},
          {"first_start_at_ns", jobs.first_start.host[j].mid_ns},
          {"last_end_at_ns", jobs.last_end.host[j].mid_ns},
          {"time_bound_ns", HalfWidthNs(jobs.doorbell.host[j])}};
}

Arguments OfCommand(const model::Model& model, size_t i) {
  const model::Commands& commands = model.commands;
  const model::Device& device = model.devices[commands.device[i]];
  Arguments arguments = {{"opcode", device.OpcodeName(commands.opcode[i])},
                         {"job", uint64_t{commands.job[i]}},
                         {"index", uint64_t{commands.index[i]}},
                         {"correlation", commands.correlation[i]},
                         {"status", device.StatusName(commands.status[i])},
                         {"limiter", device.LimiterName(commands.limiter[i])},
                         {"work", commands.work[i]},
                         {"bytes", commands.bytes[i]},
                         {"memory_bytes", commands.memory_bytes[i]},
                         {"start_ticks", commands.start.ticks[i]},
                         {"end_ticks", commands.end.ticks[i]},
                         {"time_bound_ns", HalfWidthNs(commands.start.host[i])}};
  for (int s = 0; s < device.about.stalls_size(); ++s) {
    if (model.Stalls(i)[s] == 0) continue;
    arguments.push_back({"stall_" + device.about.stalls(s) + "_ticks", model.Stalls(i)[s]});
  }
  return arguments;
}

}  // namespace

Arguments ArgumentsOf(const model::Model& model, const Slice& slice) {
  const size_t row = slice.row;
  switch (slice.about) {
    case Slice::About::kNothing:
    case Slice::About::kRange:
    case Slice::About::kWait:
    case Slice::About::kInterrupt:
      return {};
    case Slice::About::kCall:
      return OfCall(model.api, row);
    case Slice::About::kSubmission:
      return OfSubmission(model, row);
    case Slice::About::kWakeUp:
      return {{"correlation", model.jobs.correlation[row]}};
    case Slice::About::kJob:
      return OfJob(model, row);
    case Slice::About::kWaiting:
      return {{"job", uint64_t{model.commands.job[row]}}};
    case Slice::About::kCommand:
      return OfCommand(model, row);
    case Slice::About::kDeviceEvent: {
      const model::DeviceEvents& events = model.device_events;
      return {{"arg0", events.arg0[row]}, {"arg1", events.arg1[row]}, {"arg2", events.arg2[row]}};
    }
    case Slice::About::kLoss:
      return {{"count", model.losses[row].count}};
  }
  return {};
}

}  // namespace acceltrace::view
