// SPDX-License-Identifier: Apache-2.0
//
// Graphs that were computed by hand: what waits for what, what is on the path, and how a faster
// resource would change the run.
#include "libtrace/analysis/whatif/graph.h"

#include <algorithm>
#include <cmath>

#include "libtrace/analysis/report/limiter.h"
#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/sharing.h"
#include "libtrace/analysis/whatif/critical_path.h"
#include "libtrace/analysis/whatif/edit.h"
#include "libtrace/analysis/whatif/graph_builder.h"
#include "libtrace/analysis/whatif/whatif.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;

// A job with a copy of 1000 ns, then a matmul of 500 ns that waits for it.
struct Two {
  int64_t copy_ns = 1000, copy_link_ns = 800, matmul_ns = 500, matmul_memory_ns = 0;
  // The second copy ends this much later than the matmul; 0 = there is no second copy.
  int64_t beside_ns = 0;
};

// Host: API call at 0, submit at 100, doorbell at 200, back at 300 and waiting at 400.
// Device: doorbell at 250, fetched at 850, copy from 900, completion 300 after the last end.
// The thread is woken 1000 after the completion.
JobSpec JobOf(const Two& two) {
  JobSpec job;
  job.correlation = 1, job.wait_correlation = 2;
  const auto at = [](int64_t ns) { return kBase + ns; };
  job.submit_ns = at(100), job.doorbell_ns = at(200), job.submit_end_ns = at(300);
  job.device_doorbell_ns = at(250), job.fetched_ns = at(850);
  CommandSpec copy;
  copy.unit = kIn;
  copy.fetched_ns = at(850), copy.head_ns = copy.start_ns = at(900);
  copy.end_ns = at(900 + two.copy_ns);
  copy.stall_ns[kStallLink] = two.copy_link_ns;
  copy.bytes = 900, copy.work = 6;
  CommandSpec matmul;
  matmul.unit = kMatrix;
  matmul.fetched_ns = at(850), matmul.head_ns = at(900);
  matmul.start_ns = copy.end_ns, matmul.end_ns = copy.end_ns + two.matmul_ns;
  matmul.stall_ns[kStallMemory] = two.matmul_memory_ns;
  job.commands = {copy, matmul};
  int64_t last_ns = matmul.end_ns;
  if (two.beside_ns > 0) {
    CommandSpec second = copy;
    second.start_ns = second.head_ns = copy.end_ns;
    second.end_ns = last_ns = matmul.end_ns + two.beside_ns;
    second.stall_ns[kStallLink] = 0;
    second.bytes = second.work = 0;
    job.commands.push_back(second);
  }
  job.completion_ns = last_ns + 300;
  job.device_irq_ns = job.completion_ns;
  job.irq_ns = job.completion_ns + 100, job.complete_ns = job.completion_ns + 200;
  job.wait_ns = at(400), job.wake_ns = job.completion_ns + 1000;
  return job;
}

struct Made {
  std::unique_ptr<model::Model> model;
  Breakdown breakdown;
  Graph graph;
};

Made Make(TraceBuilder* builder, const Two& two) {
  builder->AddDevice();
  for (const auto kind :
       {proto::Device::STALL_WAIT, proto::Device::STALL_MEMORY, proto::Device::STALL_LINK}) {
    builder->device(0)->add_stall_kinds(kind);
  }
  const JobSpec job = JobOf(two);
  builder->AddJob(job);
  builder->AddApi("Launch", 100, 1, kBase, kBase + 350);
  builder->AddApi("Wait", 100, 2, kBase + 360, job.wake_ns + 100);
  Made made;
  made.model = builder->Model();
  made.breakdown = ComputeBreakdown(*made.model);
  made.graph = BuildGraph(*made.model, TracerWork(*made.model), made.breakdown.begin_ns,
                          made.breakdown.end_ns);
  return made;
}

Made Make(const Two& two) {
  TraceBuilder builder;
  return Make(&builder, two);
}

// Host times of the device are only known to within some ns.
bool Near(double a, double b) { return std::abs(a - b) <= 6; }

double With(const Graph& graph, Resource resource, double factor) {
  return Replay(graph, Scales::Faster(resource, factor));
}

const PathShare* Find(const std::vector<PathShare>& shares, const std::string& name) {
  for (const PathShare& share : shares) {
    if (share.name == name) return &share;
  }
  return nullptr;
}

TEST_CASE("a graph that is run as it is gives the run") {
  const Made made = Make(Two{});
  CHECK(Near(made.graph.RunNs(), 3800));
  CHECK(Near(Replay(made.graph, {}), 3800));
}

TEST_CASE("a faster resource takes off what was spent on it") {
  const Made made = Make(Two{});
  CHECK(Near(With(made.graph, kMatrixRate, 2), 3800 - 250));
  CHECK(Near(With(made.graph, kMatrixRate, 0.5), 3800 + 500));
  CHECK(Near(With(made.graph, kVectorRate, 2), 3800));
  // The copy has 600 of latency, like the fetch, and 400 for its bytes, of which its own work hides
  // 200.
  CHECK(Near(With(made.graph, kPcieBandwidth, 2), 3800 - 200));
  CHECK(Near(With(made.graph, kPcieBandwidth, 4), 3800 - 200));
  // The fetch, the copy, and half a round trip for the completion.
  CHECK(Near(With(made.graph, kPcieLatency, 2), 3800 - 300 - 300 - 150));
  // The time up to the doorbell.
  CHECK(Near(With(made.graph, kHostSubmit, 2), 3800 - 100));
  // Of 1000, it takes 200 until the driver has the completion, and 100 to return.
  CHECK(Near(With(made.graph, kHostWake, 2), 3800 - 350));
}

TEST_CASE("what has slack gains nothing until the path moves") {
  Two two;
  two.beside_ns = 400;
  const Made made = Make(two);
  CHECK(Near(made.graph.RunNs(), 4200));
  CHECK(Near(With(made.graph, kMatrixRate, 2), 4200));
  // It takes 500 more, of which 400 was slack.
  CHECK(Near(With(made.graph, kMatrixRate, 0.5), 4200 + 100));
  const CriticalPath path = ComputeCriticalPath(*made.model, made.graph);
  REQUIRE(path.valid);
  const auto matrix = std::find_if(path.slack.begin(), path.slack.end(),
                                   [](const OpSlack& op) { return op.unit == "matrix"; });
  REQUIRE(matrix != path.slack.end());
  CHECK(Near(matrix->least_ns, 400));
  CHECK(matrix->critical == 0);
}

TEST_CASE("the causes on the path add up to the run") {
  const Made made = Make(Two{});
  const CriticalPath path = ComputeCriticalPath(*made.model, made.graph);
  REQUIRE(path.valid);
  double sum_ns = 0;
  for (const PathShare& share : path.causes) sum_ns += share.ns;
  CHECK(std::abs(sum_ns - path.run_ns) < 0.5);
  const PathShare* wake = Find(path.causes, CauseName(kByWake));
  REQUIRE(wake != nullptr);
  CHECK(Near(wake->ns, 1100));
  const PathShare* driver = Find(path.causes, CauseName(kByDriver));
  REQUIRE(driver != nullptr);
  CHECK(Near(driver->ns, 100));
  const PathShare* stalled = Find(path.causes, "in stalled by link");
  REQUIRE(stalled != nullptr);
  CHECK(Near(stalled->ns, 800));
  CHECK(Find(path.causes, "matrix busy") != nullptr);
}

TEST_CASE("the limiter is what gains most") {
  Two two;
  two.matmul_ns = 20000;
  const Made made = Make(two);
  Verdict whole;
  const Limiter limiter = ComputeLimiter(made.graph, made.breakdown, whole);
  REQUIRE(limiter.standing == Limiter::Standing::kNamed);
  CHECK(limiter.gains[0].resource == kMatrixRate);
  CHECK(Near(limiter.gains[0].gain_ns, 4000));
  CHECK(limiter.text.find("accounts for") == std::string::npos);
}

TEST_CASE("what accounts for nearly all of the run is said to") {
  Two two;
  two.matmul_ns = 200'000;
  const Made made = Make(two);
  const Limiter limiter = ComputeLimiter(made.graph, made.breakdown, Verdict());
  CHECK(limiter.of_run() > Limiter::kNearlyAll);
  CHECK(limiter.text.find("it accounts for 98 % of the run") != std::string::npos);
}

TEST_CASE("what is missing takes the answer away where it could change it") {
  Two two;
  two.matmul_ns = 20000;
  const Made made = Make(two);
  Verdict verdict;
  verdict.standing = Verdict::Standing::kHolds;
  verdict.caveats = {{"loss", "17 events lost", true}};
  for (int c = 0; c < kNumClasses; ++c) verdict.possible[c] = made.breakdown.time[c];
  CHECK(!ComputeLimiter(made.graph, made.breakdown, verdict).withheld());
  verdict.possible[kTransferring].hi_ns += 22000;
  const Limiter limiter = ComputeLimiter(made.graph, made.breakdown, verdict);
  CHECK(limiter.withheld());
  CHECK(limiter.text.starts_with("inconclusive: "));
  verdict.standing = Verdict::Standing::kInconclusive;
  CHECK(ComputeLimiter(made.graph, made.breakdown, verdict).withheld());
}

// The same work twice, 30 us apart. In between, its thread computes, sleeps for a time, sleeps
// until another thread lets it continue, or waits while that thread has the CPU. With kWokenLate it
// computes, but got no CPU for 700 ns of the first wake-up.
enum class Between { kComputes, kSleeps, kLetGoOn, kWaits, kWokenLate };
Made MakeTwice(Between between, bool recorded) {
  constexpr int64_t kApart = 30'000;
  TraceBuilder builder;
  builder.AddDevice();
  for (int64_t i = 0; i < 2; ++i) {
    JobSpec job = JobOf(Two{});
    const auto call = static_cast<uint64_t>(2 * i + 1);
    job.job = static_cast<uint32_t>(i + 1), job.sequence = static_cast<uint64_t>(i + 1);
    job.correlation = call, job.wait_correlation = call + 1;
    for (int64_t* at :
         {&job.submit_ns, &job.doorbell_ns, &job.submit_end_ns, &job.device_doorbell_ns,
          &job.fetched_ns, &job.completion_ns, &job.device_irq_ns, &job.irq_ns, &job.complete_ns,
          &job.wait_ns, &job.wake_ns}) {
      *at += i * kApart;
    }
    for (CommandSpec& command : job.commands) {
      for (int64_t* at :
           {&command.fetched_ns, &command.head_ns, &command.start_ns, &command.end_ns}) {
        *at += i * kApart;
      }
    }
    builder.AddJob(job);
    const int64_t base_ns = kBase + i * kApart;
    builder.AddApi("Launch", 100, call, base_ns, base_ns + 350);
    builder.AddApi("Wait", 100, call + 1, base_ns + 360, job.wake_ns + 100);
  }
  Made made;
  made.model = builder.Model();
  model::ThreadRuns& runs = made.model->system.runs;
  const bool waits = between == Between::kWaits;
  uint32_t thread = 100, waker = between == Between::kLetGoOn ? 200 : 0;
  const auto add = [&](int64_t away_ns, int64_t begin_ns, int64_t end_ns, uint64_t ready_ns = 0) {
    using Row = proto::ThreadRunBatch;
    const auto state = waits ? Row::STATE_RUNNABLE : Row::STATE_SLEEPING;
    const auto off_ns = static_cast<uint64_t>(begin_ns - away_ns);
    runs.begin_ns.push_back(kBase + begin_ns), runs.end_ns.push_back(kBase + end_ns);
    runs.pid.push_back(100), runs.tid.push_back(thread), runs.cpu.push_back(0);
    runs.away.push_back(state), runs.left.push_back(state);
    runs.away_ns.push_back(off_ns), runs.ready_ns.push_back(waits ? off_ns : ready_ns);
    runs.waker_tid.push_back(waker);
    for (auto* column : {&runs.waker_pid, &runs.wait}) column->push_back(0);
    for (auto* column : {&runs.waker_irq, &runs.began_before}) column->push_back(0);
    for (auto* column : {&runs.charged_ns, &runs.minor_faults, &runs.major_faults, &runs.migrations,
                         &runs.voluntary, &runs.involuntary}) {
      column->push_back(0);
    }
  };
  if (recorded && between == Between::kWokenLate) {
    add(-2'000, -1'000, 500), add(500, 3'600, 40'000, 700);
  } else if (recorded && between != Between::kComputes) {
    add(-2'000, -1'000, 5'000), add(5'000, 29'000, 40'000);
  } else if (recorded) {
    add(-2'000, -1'000, 40'000);
  }
  if (between == Between::kLetGoOn) {
    thread = 200, waker = 0;
    add(-2'000, -1'000, 4'000), add(5'000, 5'500, 35'000);
  }
  made.breakdown = ComputeBreakdown(*made.model);
  made.graph = BuildGraph(*made.model, TracerWork(*made.model), made.breakdown.begin_ns,
                          made.breakdown.end_ns);
  return made;
}

TEST_CASE("sleep is not work where it was recorded, and else it is said that it may be") {
  const auto limiter_of = [](const Made& made) {
    CHECK(Near(Replay(made.graph, {}), made.graph.RunNs()));
    Verdict verdict;
    verdict.standing = Verdict::Standing::kCertain;
    return ComputeLimiter(made.graph, made.breakdown, verdict);
  };
  const Limiter computes = limiter_of(MakeTwice(Between::kComputes, true));
  CHECK(computes.gains[0].resource == kHostSpeed);
  CHECK(computes.confidence > 0.95);
  const Made made = MakeTwice(Between::kSleeps, true);
  const Limiter sleeps = limiter_of(made);
  CHECK(sleeps.gains[0].resource != kHostSpeed);
  // All but the 24 us in which it slept.
  CHECK(made.graph.RunNs() - With(made.graph, kHostSpeed, 2) < 3'000);
  CHECK(MakeTwice(Between::kComputes, true).graph.RunNs() -
            With(MakeTwice(Between::kComputes, true).graph, kHostSpeed, 2) >
        12'000);
  const Limiter unknown = limiter_of(MakeTwice(Between::kSleeps, false));
  CHECK(unknown.gains[0].resource == kHostSpeed);
  CHECK(unknown.confidence < 0.9);
  CHECK(unknown.text.find("--sources sched") != std::string::npos);
}

TEST_CASE("who was let go on by another thread goes on earlier where that one computes faster") {
  Made made = MakeTwice(Between::kLetGoOn, true);
  CHECK(Near(Replay(made.graph, {}), made.graph.RunNs()));
  // The thread computes from its beginning in the trace, with a sleep of 1.5 us, until it lets the
  // other one continue.
  const double saved_ns = made.graph.RunNs() - With(made.graph, kHostSpeed, 2);
  CHECK(saved_ns > 10'000);
  CHECK(saved_ns < 15'000);
  // The time belongs to that thread, also on the critical path.
  const CriticalPath path = ComputeCriticalPath(*made.model, made.graph);
  REQUIRE(path.valid);
  double program_ns = 0;
  for (const PathShare& cause : path.causes) program_ns += cause.name == "program" ? cause.ns : 0;
  CHECK(program_ns > 20'000);
}

TEST_CASE("who waits for a CPU goes on earlier where the others compute faster, and has no work") {
  Made made = MakeTwice(Between::kWaits, true);
  CHECK(Near(Replay(made.graph, {}), made.graph.RunNs()));
  CHECK(made.graph.RunNs() - With(made.graph, kHostSpeed, 2) > 12'000);
  Editor editor(*made.model, &made.graph);
  editor.RemoveProgram();
  CHECK(made.graph.RunNs() - Replay(made.graph, {}) < 6'000);
}

TEST_CASE("polling does not spare a waiter the wait for a CPU") {
  const auto saved_ns = [](Between between) {
    Made made = MakeTwice(between, true);
    CHECK(Near(Replay(made.graph, {}), made.graph.RunNs()));
    Editor editor(*made.model, &made.graph);
    editor.WakeAtOnce();
    return made.graph.RunNs() - Replay(made.graph, {});
  };
  CHECK(Near(saved_ns(Between::kComputes) - saved_ns(Between::kWokenLate), 700));
}

TEST_CASE("what threads do on one CPU takes as long as all of it") {
  GraphBuilder builder(0, 150);
  for (const uint32_t tid : {1u, 2u}) {
    const uint32_t begin = builder.HostPoint(tid, model::kNoRow, 0);
    builder.SetCause(begin, kByProgram);
    // The first thread computes and sleeps in between; the second one waits for the CPU half of the
    // time.
    const uint32_t middle = builder.HostPoint(tid, model::kNoRow, 50);
    const uint32_t end = builder.HostPoint(tid, model::kNoRow, 150);
    builder.Edge(begin, middle, 50, tid == 1 ? kByOutside : kByProgram);
    builder.Edge(middle, end, 100, kByProgram);
  }
  Graph graph = builder.Finish();
  CHECK(Replay(graph, {}) == Approx(150));
  graph.cpu_scale = 0.5;
  CHECK(Replay(graph, {}) == Approx(150));
  graph.cpu_scale = 1;
  CHECK(Replay(graph, {}) == Approx(250));
  CHECK(Replay(graph, Scales::Faster(kHostSpeed, 2)) == Approx(125));
}

TEST_CASE("two that use the memory at once share it") {
  Sharing device(2);
  Use use;
  use.memory_ns = 100;
  REQUIRE(device.Add(0, 1, use));
  REQUIRE(device.Add(50, 2, use));
  // The first one has half of it left, at half the speed.
  CHECK(device.next_ns() == Approx(150));
  CHECK(device.Remove() == 1);
  CHECK(device.next_ns() == Approx(200));
  // A command that the memory does not limit leaves the rest to the others.
  Use slow;
  slow.memory_ns = 100, slow.alone_ns = 400;
  Sharing other(2);
  REQUIRE(other.Add(0, 1, slow));
  REQUIRE(other.Add(0, 2, use));
  CHECK(other.next_ns() == Approx(100 / 0.75));
}

TEST_CASE("a factor is read, or what is wrong with it is reported") {
  Scales scales;
  CHECK(ParseScale("dram.rowcost=x2.5", &scales).empty());
  CHECK(scales.speed[kDramRowCost] == 2.5);
  CHECK(ParseScale("dispatch=4", &scales).empty());
  CHECK(ParseScale("nothing=x2", &scales).find("pcie.bandwidth") != std::string::npos);
  for (const char* wrong : {"dispatch", "dispatch=", "dispatch=x", "dispatch=x0", "dispatch=-1",
                            "dispatch=nan", "dispatch=x2y", "dispatch=1e9"}) {
    CHECK(!ParseScale(wrong, &scales).empty());
  }
}

TEST_CASE("a trace without work has no path and no limiter") {
  TraceBuilder builder;
  builder.AddDevice();
  const auto model = builder.Model();
  const Report report = ComputeReport(*model);
  CHECK(report.limiter.gains.empty());
  const Graph graph = BuildGraph(*model, TracerWork(*model), 0, 0);
  CHECK(!ComputeCriticalPath(*model, graph).valid);
  CHECK(!Predict(graph, {}).valid);
}

}  // namespace
}  // namespace acceltrace::analysis
