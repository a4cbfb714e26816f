// SPDX-License-Identifier: Apache-2.0
//
// Graphs that were computed by hand: what waits for what, what is on the path, and what a faster
// resource would make of the run.
#include "libtrace/analysis/graph.h"

#include <algorithm>
#include <cmath>

#include "libtrace/analysis/critical_path.h"
#include "libtrace/analysis/limiter.h"
#include "libtrace/analysis/report.h"
#include "libtrace/analysis/sharing.h"
#include "libtrace/analysis/whatif.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;

// One job: a copy of 1000 ns, then a matmul of 500 ns that waits for it.
struct Two {
  int64_t copy_ns = 1000, copy_link_ns = 800, matmul_ns = 500, matmul_memory_ns = 0;
  // The second copy ends later than the matmul by so much; 0 = there is none.
  int64_t beside_ns = 0;
};

// Host: API call at 0, submit at 100, doorbell at 200, back at 300 and waiting at 400.
// Device: doorbell at 250, fetched at 850, copy from 900, completion 300 after the last end.
// Woken 1000 after the completion.
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

// Host times of the device are known to some ns only.
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
  // The copy: 600 of latency, as the fetch takes; 400 of bytes, 200 of them hidden by its own work.
  CHECK(Near(With(made.graph, kPcieBandwidth, 2), 3800 - 200));
  CHECK(Near(With(made.graph, kPcieBandwidth, 4), 3800 - 200));
  // Fetch, copy, and half a round trip to complete.
  CHECK(Near(With(made.graph, kPcieLatency, 2), 3800 - 300 - 300 - 150));
  // Up to the doorbell.
  CHECK(Near(With(made.graph, kHostSubmit, 2), 3800 - 100));
  // Of 1000, 200 until the driver takes the completion, and 100 to return.
  CHECK(Near(With(made.graph, kHostWake, 2), 3800 - 350));
}

TEST_CASE("what has slack gains nothing until the path moves") {
  Two two;
  two.beside_ns = 400;
  const Made made = Make(two);
  CHECK(Near(made.graph.RunNs(), 4200));
  CHECK(Near(With(made.graph, kMatrixRate, 2), 4200));
  // 500 more, of which 400 was slack.
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

TEST_CASE("two that use the memory at once share it") {
  Sharing device(2);
  Use use;
  use.memory_ns = 100;
  REQUIRE(device.Add(0, 1, use));
  REQUIRE(device.Add(50, 2, use));
  // The first has half of it left, at half the speed.
  CHECK(device.next_ns() == Approx(150));
  CHECK(device.Remove() == 1);
  CHECK(device.next_ns() == Approx(200));
  // One that the memory does not hold up leaves the rest to the others.
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
