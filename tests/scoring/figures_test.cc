// SPDX-License-Identifier: Apache-2.0
//
// Every figure of a report contains the truth, on clocks from much coarser than the measured times
// to finer, for any seed.
#include "tests/scoring/figures.h"

#include <random>

#include "libtrace/analysis/report/report.h"
#include "libtrace/view/json/json.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::scoring {
namespace {

using namespace acceltrace::test;

// Random jobs of one queue, with their true times.
class Workload {
 public:
  Workload(const ClockSpec& clock, int devices, uint64_t seed) : random_(seed) {
    for (int d = 0; d < devices; ++d) builder_.AddDevice(clock);
    int64_t now_ns = 20'000'000;
    // Some wait long for each other, some follow immediately.
    for (int job = 1; job <= 60; ++job)
      now_ns = AddJob(job, job % devices, now_ns) + Any(0, 30'000);
  }

  FigureScore Score() {
    const auto model = builder_.Model();
    RunTruth truth;
    for (size_t i = 0; i < model->commands.size(); ++i) {
      truth.commands.push_back(commands_.at({model->commands.job[i], model->commands.index[i]}));
    }
    for (size_t j = 0; j < model->jobs.size(); ++j)
      truth.jobs.push_back(jobs_.at(model->jobs.job[j]));
    return ScoreFigures(
        *model, nlohmann::json::parse(view::JsonReport(analysis::ComputeReport(*model))), truth);
  }

 private:
  int64_t Any(int64_t from, int64_t to) {
    // Most are short.
    const double x = std::uniform_real_distribution<>(0, 1)(random_);
    return from + static_cast<int64_t>(static_cast<double>(to - from) * x * x * x);
  }

  int64_t AddJob(int number, int device, int64_t now_ns) {
    JobSpec job;
    job.device = static_cast<uint32_t>(device);
    job.job = static_cast<uint32_t>(number), job.sequence = job.job;
    job.correlation = static_cast<uint64_t>(number);
    const int64_t begin_ns = now_ns;
    job.submit_ns = now_ns += Any(50, 2'000);
    job.doorbell_ns = now_ns += Any(50, 2'000);
    job.submit_end_ns = now_ns + 20;
    job.device_doorbell_ns = now_ns += Any(50, 800);
    job.fetched_ns = now_ns += Any(100, 1'000);
    int64_t last_ns = now_ns;
    int64_t free_ns[4] = {now_ns, now_ns, now_ns, now_ns};
    const int64_t commands = Any(1, 30);
    for (int64_t c = 0; c < commands; ++c) {
      CommandSpec command;
      command.unit = static_cast<Unit>(std::uniform_int_distribution<>(0, 3)(random_));
      command.fetched_ns = job.fetched_ns;
      command.head_ns = free_ns[command.unit];
      command.start_ns = command.head_ns + (Any(0, 2) == 0 ? 0 : Any(0, 9'000));
      command.end_ns = command.start_ns + Any(3, 20'000);
      const int64_t length_ns = command.end_ns - command.start_ns;
      command.stall_ns[kStallMemory] = Any(0, length_ns / 2);
      command.stall_ns[kStallLink] = Any(0, length_ns / 2);
      command.opcode = command.unit == kIn       ? 0x10
                       : command.unit == kOut    ? 0x11
                       : command.unit == kMatrix ? 0x20
                                                 : 0x40;
      command.limiter = static_cast<uint32_t>(std::uniform_int_distribution<>(0, 2)(random_));
      command.work = command.unit >= kMatrix ? static_cast<uint64_t>(Any(1, 1'000'000)) : 0;
      command.bytes = command.unit < kMatrix ? static_cast<uint64_t>(Any(1, 200'000)) : 0;
      command.memory_bytes = static_cast<uint64_t>(Any(0, 300'000));
      free_ns[command.unit] = command.end_ns + (c % 3 == 0 ? Any(0, 5'000) : 0);
      last_ns = std::max(last_ns, command.end_ns);
      const auto at = [](int64_t ns) { return static_cast<double>(ns); };
      commands_[{job.job, static_cast<uint32_t>(c)}] = {
          at(command.fetched_ns),
          at(command.head_ns),
          at(command.start_ns),
          at(command.end_ns),
          at(length_ns - command.stall_ns[kStallMemory] - command.stall_ns[kStallLink]),
          {at(command.start_ns - command.head_ns), at(command.stall_ns[kStallMemory]),
           at(command.stall_ns[kStallLink])}};
      job.commands.push_back(command);
    }
    job.completion_ns = now_ns = last_ns + Any(100, 500);
    job.device_irq_ns = now_ns += Any(0, 100);
    job.irq_ns = now_ns += Any(200, 3'000);
    job.complete_ns = now_ns += Any(100, 1'000);
    job.wait_ns = job.submit_end_ns + 10;
    job.wake_ns = now_ns += Any(100, 3'000);
    job.wait_correlation = job.correlation;
    now_ns += Any(100, 1'000);
    builder_.AddApi("Launch", 100, job.correlation, begin_ns, now_ns);
    JobTruth& truth = jobs_[job.job];
    truth = {static_cast<double>(job.device_doorbell_ns),
             static_cast<double>(job.fetched_ns),
             static_cast<double>(INT64_MAX),
             static_cast<double>(last_ns),
             static_cast<double>(job.completion_ns),
             static_cast<double>(job.device_irq_ns)};
    for (const CommandSpec& command : job.commands) {
      truth.start = std::min(truth.start, static_cast<double>(command.start_ns));
    }
    builder_.AddJob(job);
    return now_ns;
  }

  std::mt19937_64 random_;
  TraceBuilder builder_;
  std::map<std::pair<uint32_t, uint32_t>, CommandTruth> commands_;
  std::map<uint32_t, JobTruth> jobs_;
};

void MustHold(const ClockSpec& clock, int devices, uint64_t seed) {
  const FigureScore score = Workload(clock, devices, seed).Score();
  CAPTURE(clock.hz, clock.ppm, devices, seed, score.worst);
  CHECK(score.figures > 200);
  CHECK(score.outside == 0);
}

TEST_CASE("Every figure of a report holds the truth, whatever the clock's ticks") {
  for (const uint64_t hz : {1'000'000ull, 24'576'000ull, 312'500'000ull, 1'000'000'000ull}) {
    for (const double ppm : {0.0, 37.0, -80.0}) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        ClockSpec clock;
        clock.hz = hz;
        clock.ppm = ppm;
        clock.offset_ticks = 5'000'000'000 + 977 * seed;
        MustHold(clock, 1, seed);
        MustHold(clock, 2, seed);
      }
    }
  }
}

TEST_CASE("Every figure holds the truth where samples are wide") {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    ClockSpec clock;
    clock.sample_width_ns = 40'000;
    clock.ppm = 20;
    MustHold(clock, 1, seed);
    MustHold(clock, 2, seed);
  }
}

}  // namespace
}  // namespace acceltrace::scoring
