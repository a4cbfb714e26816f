// SPDX-License-Identifier: Apache-2.0
//
// The gain of edits on programs that were designed by hand.
#include "libtrace/analysis/whatif/edit.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/analysis/usage/breakdown.h"
#include "libtrace/analysis/whatif/whatif.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000, kRound = 12'000, kInterrupt = 1'000;

// A job that its call submitted at `at_ns` and that is done 300 ns later.
JobSpec Quick(int64_t at_ns, uint32_t number) {
  JobSpec job;
  job.job = number, job.sequence = job.correlation = number;
  job.submit_ns = at_ns - 500, job.doorbell_ns = at_ns - 100, job.submit_end_ns = at_ns;
  job.device_doorbell_ns = at_ns - 50, job.fetched_ns = at_ns + 50;
  CommandSpec command;
  command.fetched_ns = job.fetched_ns;
  command.head_ns = command.start_ns = at_ns + 60, command.end_ns = at_ns + 200;
  job.commands = {command};
  job.completion_ns = job.device_irq_ns = at_ns + 300;
  job.complete_ns = at_ns + 600;
  return job;
}

TEST_CASE("a call that submits and finds its job done takes what others do that only submit") {
  // Each round has a call that returns 800 ns after its submission, and one that returns after 4 us
  // without waiting for its job. In every other round, the latter is also interrupted.
  constexpr uint32_t kRounds = 8;
  const bool others = GENERATE(true, false);
  TraceBuilder builder;
  builder.AddDevice();
  uint32_t number = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const int64_t begin_ns = kBase + round * kRound;
    if (others) {
      builder.AddJob(Quick(begin_ns + 1'000, ++number));
      builder.AddApi("Launch", 100, number, begin_ns, begin_ns + 1'800);
    }
    const int64_t more_ns = round % 2 == 0 ? kInterrupt : 0;
    JobSpec copy = Quick(begin_ns + 4'000, ++number);
    copy.wait_correlation = number;
    copy.wait_ns = copy.wake_ns = begin_ns + 7'000 + more_ns;
    if (more_ns > 0) copy.irq_ns = begin_ns + 4'400;
    builder.AddJob(copy);
    builder.AddApi("Copy", 100, number, begin_ns + 3'000, begin_ns + 8'000 + more_ns);
  }
  const auto model = builder.Model();
  const Breakdown breakdown = ComputeBreakdown(*model);
  Graph graph = BuildGraph(*model, TracerWork(*model), breakdown.begin_ns, breakdown.end_ns);
  const double before_ns = Replay(graph, {});
  {
    Editor editor(*model, &graph);
    const Edited edited = editor.RemoveWaits();
    // The program waits for the last one at its end.
    CHECK(edited.count == kRounds - 1);
    const double saved_ns = before_ns - Replay(graph, {});
    // If no call shows what submitting takes, only the wait itself is removed.
    const double each_ns = others ? 4'000 - 800 : 1'000;
    CHECK(std::abs(saved_ns - (kRounds - 1) * each_ns) < 100);
  }
  // The tracer accounts for a quarter of the host's work. Without it, a quarter less is saved,
  // since what remains of the call includes its share of the tracer's work.
  for (size_t e = 0; e < graph.to.size(); ++e) {
    if (graph.kind[graph.to[e]] != Graph::Kind::kHost || graph.edge_ns[e] < 0) continue;
    graph.tracer_ns[e] = static_cast<float>(graph.edge_ns[e] / 4);
  }
  Scales without;
  without.without_tracer = true;
  const double untraced_ns = Replay(graph, without);
  {
    Editor editor(*model, &graph);
    editor.RemoveWaits();
    const double saved_ns = untraced_ns - Replay(graph, without);
    const double each_ns = others ? 3'000 - 600 : 750;
    CHECK(std::abs(saved_ns - (kRounds - 1) * each_ns) < 100);
  }
  CHECK(Replay(graph, without) == untraced_ns);
  CHECK(Replay(graph, {}) == before_ns);
}

// Rounds of three jobs on one stream, with calls 1 us apart, and a wait for the last job. The first
// one takes first_ns on the device, the others 300 ns.
Graph Rounds(int64_t first_ns, TraceBuilder* builder, std::shared_ptr<model::Model>* model) {
  constexpr uint32_t kRounds = 8;
  builder->AddDevice();
  uint32_t number = 0;
  uint64_t call = 0;
  int64_t now_ns = kBase;
  for (uint32_t round = 0; round < kRounds; ++round) {
    int64_t free_ns = 0;
    JobSpec last;
    for (int i = 0; i < 3; ++i) {
      JobSpec job;
      job.job = job.sequence = ++number, job.correlation = ++call;
      job.submit_ns = now_ns + 400, job.doorbell_ns = now_ns + 2'400;
      job.submit_end_ns = now_ns + 2'600;
      job.device_doorbell_ns = now_ns + 2'700, job.fetched_ns = now_ns + 3'000;
      CommandSpec command;
      command.work = 1'000;
      command.fetched_ns = command.head_ns = job.fetched_ns;
      command.start_ns = std::max(free_ns, job.fetched_ns);
      command.end_ns = free_ns = command.start_ns + (i == 0 ? first_ns : 300);
      job.commands = {command};
      job.completion_ns = job.device_irq_ns = free_ns + 100;
      job.irq_ns = free_ns + 500, job.complete_ns = free_ns + 600;
      builder->AddApi("Launch", 100, job.correlation, now_ns, now_ns + 3'000);
      now_ns += 4'000;
      if (i < 2) builder->AddJob(job);
      last = job;
    }
    last.wait_correlation = ++call;
    last.wait_ns = now_ns + 300;
    last.wake_ns = std::max(now_ns + 300, last.complete_ns + 900);
    builder->AddJob(last);
    builder->AddApi("Wait", 100, call, now_ns, last.wake_ns + 300);
    now_ns = last.wake_ns + 1'000;
  }
  *model = builder->Model();
  const Breakdown breakdown = ComputeBreakdown(**model);
  return BuildGraph(**model, TracerWork(**model), breakdown.begin_ns, breakdown.end_ns);
}

TEST_CASE("a batch saves the driver's work, is submitted at its end, and is waited for") {
  TraceBuilder builder;
  std::shared_ptr<model::Model> model;
  // If the host is the limit, each round saves two submissions, and the device begins at the last
  // one.
  Graph host = Rounds(300, &builder, &model);
  const double host_ns = Replay(host, {});
  CHECK(std::abs(host_ns - host.RunNs()) < 1);
  {
    Editor editor(*model, &host);
    CHECK(editor.BatchJobs().count == 8 * 2);
    const double saved_ns = host_ns - Replay(host, {});
    CHECK(saved_ns > 8 * 2 * 1'500);
    CHECK(saved_ns < 8 * 2 * 3'000);
  }
  // If the device is the limit, it begins later, since the batch has to be assembled first, and
  // nothing is gained.
  TraceBuilder busy;
  Graph device = Rounds(40'000, &busy, &model);
  const double device_ns = Replay(device, {});
  Editor editor(*model, &device);
  editor.BatchJobs();
  const double longer_ns = Replay(device, {}) - device_ns;
  CHECK(longer_ns > 8 * 2 * 1'000);
  CHECK(longer_ns < 8 * 2 * 2'500);
}

}  // namespace
}  // namespace acceltrace::analysis
