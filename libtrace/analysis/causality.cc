// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/causality.h"

#include <algorithm>

#include "libtrace/analysis/span.h"
#include "libtrace/analysis/timeline.h"

namespace acceltrace::analysis {
namespace {

// One end of a constraint.
struct End {
  const char* name;
  model::Interval at;
  bool on_device;
  uint64_t ticks;  // continued over wraps
  uint32_t epoch;
};

class Checker {
 public:
  explicit Checker(Causality* result) : result_(*result) {}

  void Check(size_t job, const End& earlier, const End& later) {
    ++result_.constraints;
    int64_t by_ns = 0;
    if (earlier.on_device && later.on_device && earlier.epoch == later.epoch &&
        earlier.epoch != clock::kNoEpoch) {
      // Ticks of one count are exact; across a jump or a reset there are only intervals.
      const int64_t ahead = static_cast<int64_t>(later.ticks - earlier.ticks);
      if (ahead >= 0) {
        ++result_.certain;
        return;
      }
      by_ns = std::max<int64_t>(1, earlier.at.mid_ns - later.at.mid_ns);
    } else {
      const Span span = Between(earlier.at, later.at);
      if (span.hi_ns >= 0) {
        ++(span.lo_ns >= 0 ? result_.certain : result_.possible);
        return;
      }
      by_ns = -span.hi_ns;
    }
    ++result_.violations;
    if (result_.examples.size() >= Causality::kMaxExamples) return;
    result_.examples.push_back({job, std::string(earlier.name) + " > " + later.name,
                                earlier.on_device, later.on_device, earlier.ticks, later.ticks,
                                earlier.at, later.at, by_ns});
  }

 private:
  Causality& result_;
};

}  // namespace

Causality ComputeCausality(const model::Model& model) {
  Causality result;
  Checker checker(&result);
  const model::Jobs& jobs = model.jobs;
  result.jobs = jobs.size();
  for (size_t job = 0; job < jobs.size(); ++job) {
    const Timeline line = JobTimeline(model, job);
    const auto end = [&](Point point) {
      return End{PointName(point), line.at[point], IsDevicePoint(point), line.ticks[point],
                 line.epoch[point]};
    };
    // Each point against the last one before it, and against the last one on
    // the same side: intervals on the other side may hide a broken order between
    // two exact times. The rest follows from these.
    int previous = -1, previous_host = -1;
    for (int p = 0; p < kNumPoints; ++p) {
      if (!line.seen[p]) continue;
      const Point point = static_cast<Point>(p);
      if (previous >= 0) checker.Check(job, end(static_cast<Point>(previous)), end(point));
      if (!IsDevicePoint(point)) {
        if (previous_host >= 0 && previous_host != previous) {
          checker.Check(job, end(static_cast<Point>(previous_host)), end(point));
        }
        previous_host = p;
      }
      previous = p;
    }
    if (line.seen[kDoorbell] && jobs.submit_end_ns[job] != model::kNoTime) {
      const End submit_end{"submit_end", At(jobs.submit_end_ns[job]), false, 0, clock::kNoEpoch};
      checker.Check(job, end(kDoorbell), submit_end);
      const uint32_t api = jobs.api_row[job];
      if (api != model::kNoRow && !model.api.open[api]) {
        checker.Check(job, submit_end,
                      {"submitting_api_end", At(model.api.end_ns[api]), false, 0, clock::kNoEpoch});
      }
    }
    // Each command lies within its job.
    if (!line.seen[kFetched]) continue;
    const model::Commands& commands = model.commands;
    for (uint32_t i = 0; i < jobs.num_commands[job]; ++i) {
      const size_t row = jobs.first_command[job] + i;
      const auto of = [&](const char* name, const model::DeviceTimes& times) {
        return End{name, times.host[row], true, times.ticks[row], times.epoch[row]};
      };
      checker.Check(job, end(kFetched), of("command_fetched", commands.fetched));
      checker.Check(job, of("command_fetched", commands.fetched),
                    of("command_head", commands.head));
      checker.Check(job, of("command_head", commands.head), of("command_start", commands.start));
      checker.Check(job, of("command_start", commands.start), of("command_end", commands.end));
      checker.Check(job, of("command_end", commands.end), end(kCompletion));
    }
  }
  return result;
}

}  // namespace acceltrace::analysis
