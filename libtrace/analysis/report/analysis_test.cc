// SPDX-License-Identifier: Apache-2.0
//
// Applies each analysis to a trace that is small enough to be computed by hand. The clock is 1 GHz
// without drift, so that a tick is a ns.
#include <cstdlib>
#include <limits>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/names.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;

CommandSpec Command(Unit unit, int64_t head, int64_t start, int64_t end) {
  CommandSpec command;
  command.unit = unit;
  command.fetched_ns = kBase + head;
  command.head_ns = kBase + head;
  command.start_ns = kBase + start;
  command.end_ns = kBase + end;
  command.opcode = unit == kIn ? 0x10 : unit == kOut ? 0x11 : unit == kMatrix ? 0x20 : 0x40;
  return command;
}

// A job within a call that waits for it, in which every stage has a different length:
//   call 0, submit 100, doorbell 300, device 600, fetch 1'000, start 1'500,
//   end 11'500, completion 12'100, interrupt 12'800, handler 13'600, consumed 14'500,
//   wake 15'500, return 16'600
JobSpec OneJob() {
  JobSpec job;
  job.submit_ns = kBase + 100, job.doorbell_ns = kBase + 300, job.submit_end_ns = kBase + 400;
  job.device_doorbell_ns = kBase + 600, job.fetched_ns = kBase + 1'000;
  job.completion_ns = kBase + 12'100, job.device_irq_ns = kBase + 12'800;
  job.irq_ns = kBase + 13'600, job.complete_ns = kBase + 14'500;
  job.wait_ns = kBase + 500, job.wake_ns = kBase + 15'500, job.wait_correlation = 1;
  job.commands = {Command(kIn, 1'000, 1'500, 3'500), Command(kMatrix, 1'200, 3'500, 11'500)};
  job.commands[0].bytes = 4'000;
  job.commands[0].memory_bytes = 4'096;
  job.commands[0].row_hits = 60, job.commands[0].row_misses = 4;
  job.commands[0].stall_ns[kStallLink] = 500;
  job.commands[1].work = 4'000'000;
  job.commands[1].stall_ns[kStallMemory] = 3'000;
  job.commands[1].limiter = 2;
  return job;
}

TraceBuilder OneJobTrace() {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddTrueCounters(0, kBase - 1'000);
  builder.AddApi("Copy", 100, 1, kBase, kBase + 16'600);
  builder.AddJob(OneJob());
  builder.AddTrueCounters(0, kBase + 20'000);
  return builder;
}

const Stage& Find(const Latency& latency, const std::string& name) {
  for (const Stage& stage : latency.stages) {
    if (stage.name == name) return stage;
  }
  FAIL("no stage " << name);
  return latency.stages.front();
}

TEST_CASE("The stages of a job have the lengths that they had") {
  const auto model = OneJobTrace().Model();
  const Latency latency = ComputeLatency(*model);
  CHECK(latency.jobs == 1);
  CHECK(latency.whole == 1);
  CHECK(latency.waits == 1);
  CHECK(latency.blocked == 1);
  const std::pair<const char*, int64_t> exact[] = {{"api_to_submit", 100},
                                                   {"submit_to_doorbell", 200},
                                                   {"handler_to_consumed", 900},
                                                   {"consumed_to_wake", 1'000},
                                                   {"wake_to_return", 1'100}};
  for (const auto& [name, ns] : exact) {
    CHECK(Find(latency, name).stats.p50.mid_ns == ns);
    CHECK(Find(latency, name).stats.p50.ErrorNs() == 0);
  }
  const std::pair<const char*, int64_t> bounded[] = {
      {"doorbell_to_device", 300},  {"doorbell_to_fetch", 400}, {"fetch_to_start", 500},
      {"start_to_end", 10'000},     {"end_to_completion", 600}, {"completion_to_interrupt", 700},
      {"interrupt_to_handler", 800}};
  for (const auto& [name, ns] : bounded) {
    const Stats& stats = Find(latency, name).stats;
    CHECK(stats.count == 1);
    CHECK(stats.max.lo_ns <= ns);
    CHECK(stats.max.hi_ns >= ns);
    // The bracket of a clock sample is 400 ns wide.
    CHECK(stats.max.hi_ns - stats.max.lo_ns <= 800);
  }
  CHECK(latency.end_to_end.p50.mid_ns == 14'500);
  CHECK(latency.until_returned.p50.mid_ns == 16'600);
}

TEST_CASE(
    "Of a job whose device reported nothing there is the time from submission to completion") {
  TraceBuilder builder = OneJobTrace();
  CHECK(Find(ComputeLatency(*builder.Model()), "submit_to_consumed").stats.count == 0);
  JobSpec job;
  job.job = job.sequence = 9;
  job.correlation = 0;
  job.submit_ns = kBase + 50'000, job.complete_ns = kBase + 57'500;
  builder.AddJob(job);
  const Latency latency = ComputeLatency(*builder.Model());
  CHECK(latency.jobs == 2);
  CHECK(latency.whole == 1);
  const Stats& stats = Find(latency, "submit_to_consumed").stats;
  CHECK(stats.count == 1);
  CHECK(stats.max.mid_ns == 7'500);
  CHECK(stats.max.ErrorNs() == 0);
}

TEST_CASE("A thread that comes after the completion has no wake-up latency") {
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec job = OneJob();
  job.wait_ns = kBase + 15'000;  // the driver had consumed it at 14'500
  builder.AddApi("Copy", 100, 1, kBase, kBase + 16'600);
  builder.AddJob(job);
  const Latency latency = ComputeLatency(*builder.Model());
  CHECK(latency.waits == 1);
  CHECK(latency.blocked == 0);
  CHECK(Find(latency, "consumed_to_wake").stats.count == 0);
  CHECK(Find(latency, "wake_to_return").stats.count == 0);
}

TEST_CASE("Percentiles are by nearest rank and bounds are those of the ranks") {
  std::vector<Span> spans;
  for (int64_t i = 100; i >= 1; --i) spans.push_back({i * 10 - 5, i * 10, i * 10 + 7});
  const Stats stats = Summarise(spans);
  CHECK(stats.count == 100);
  CHECK(stats.min.mid_ns == 10);
  CHECK(stats.p50.mid_ns == 500);
  CHECK(stats.p50.lo_ns == 495);
  CHECK(stats.p50.hi_ns == 507);
  CHECK(stats.p90.mid_ns == 900);
  CHECK(stats.p99.mid_ns == 990);
  CHECK(stats.max.mid_ns == 1'000);
  CHECK(stats.mean.mid_ns == 505);
  CHECK(stats.total.mid_ns == 50'500);
  CHECK(Summarise({}).count == 0);
}

TEST_CASE("Unbounded intervals do not overflow") {
  constexpr int64_t kFar = int64_t{1} << 61;
  const model::Interval nowhere{-kFar, 5, kFar};
  const Span span = Between(nowhere, nowhere);
  CHECK(span.mid_ns == 0);
  CHECK(span.hi_ns == 2 * kFar);
  const Stats stats = Summarise({span, span, span, span});
  CHECK(stats.total.hi_ns == std::numeric_limits<int64_t>::max());
}

TEST_CASE("A unit's time is busy, stalled by a cause, or idle") {
  const auto model = OneJobTrace().Model();
  const auto devices = ComputeUtilisation(*model);
  REQUIRE(devices.size() == 1);
  // First fetch at 1'000, completion at 12'100.
  CHECK(devices[0].window.mid == Approx(11'100).margin(1));
  const auto holds = [](const Amount& amount, double ns, double wide_ns) {
    CHECK(amount.lo <= ns);
    CHECK(amount.hi >= ns);
    CHECK(amount.hi - amount.lo <= wide_ns);
  };
  CHECK(devices[0].overlapping_commands == 0);
  const UnitUse& in = devices[0].units[kIn];
  CHECK(in.commands == 1);
  CHECK(in.stall_ticks[kStallSemaphore] == 500);
  CHECK(in.stall_ticks[kStallLink] == 500);
  CHECK(in.busy_ticks == 1'500);
  holds(in.busy, 1'500, 20);
  holds(in.idle, 11'100 - 2'500, 80);
  const UnitUse& matrix = devices[0].units[kMatrix];
  CHECK(matrix.stall_ticks[kStallSemaphore] == 2'300);
  CHECK(matrix.stall_ticks[kStallMemory] == 3'000);
  CHECK(matrix.busy_ticks == 5'000);
  holds(matrix.idle, 800, 100);
  CHECK(matrix.limiters[2] == 1);
  CHECK(matrix.busy_share.mid == Approx(5'000.0 / 11'100));
  CHECK(matrix.busy_share.lo < matrix.busy_share.mid);
  CHECK(matrix.busy_share.hi > matrix.busy_share.mid);
  holds(devices[0].units[kVector].idle, 11'100, 60);
}

TEST_CASE("Counters and commands are compared to the tick") {
  const auto model = OneJobTrace().Model();
  const UnitUse matrix = ComputeUtilisation(*model)[0].units[kMatrix];
  REQUIRE(matrix.check.available);
  CHECK(matrix.check.straddling == 0);
  CHECK(matrix.check.busy_ticks == 5'000);
  CHECK(matrix.check.Agrees());
  CHECK(matrix.check.has_law);
  CHECK(matrix.check.law_error_ticks == 0);
}

TEST_CASE("A command across a snapshot makes the comparison impossible, not wrong") {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddTrueCounters(0, kBase + 2'000);
  builder.AddApi("Copy", 100, 1, kBase, kBase + 16'600);
  builder.AddJob(OneJob());
  builder.AddTrueCounters(0, kBase + 20'000);
  const auto model = builder.Model();
  const Report report = ComputeReport(*model);
  CHECK(report.utilisation[0].units[kIn].check.straddling == 1);
  for (const Law& law : report.laws) {
    // Only that unit is excluded from the comparison.
    if (law.name == "counters_and_commands") CHECK(law.state == Law::State::kHolds);
  }
}

TEST_CASE("Commands that overlap on an in-order unit are found") {
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec job = OneJob();
  job.commands.push_back(Command(kMatrix, 11'000, 11'200, 11'800));
  builder.AddJob(job);
  CHECK(ComputeUtilisation(*builder.Model())[0].overlapping_commands == 1);
}

TEST_CASE("The classes of the breakdown add up to the run") {
  const auto model = OneJobTrace().Model();
  const Breakdown breakdown = ComputeBreakdown(*model);
  CHECK(breakdown.begin_ns == kBase);
  CHECK(breakdown.end_ns == kBase + 16'600);
  int64_t sum = 0;
  for (const Span& span : breakdown.time) sum += span.mid_ns;
  CHECK(sum == breakdown.RunNs());
  const auto near = [&](Class c, int64_t ns) {
    INFO(ClassName(c));
    CHECK(breakdown.time[c].lo_ns <= ns);
    CHECK(breakdown.time[c].hi_ns >= ns);
    CHECK(std::abs(breakdown.time[c].mid_ns - ns) <= 4);
  };
  near(kComputing, 8'000);     // 3'500 to 11'500
  near(kTransferring, 2'000);  // 1'500 to 3'500
  near(kHolding, 900 + 600);   // 600 to 1'500, 11'500 to 12'100
  near(kNotifying, 3'400);     // 12'100 to the wake at 15'500
  near(kRinging, 300);         // 300 to 600
  near(kDriver, 200);          // 100 to 300: then the doorbell is on its way
  near(kRuntime, 100 + 1'100);
  CHECK(breakdown.time[kApplication].mid_ns == 0);
  CHECK(breakdown.largest == kComputing);
  CHECK(breakdown.certain);
  CHECK(breakdown.limiters.front().first == "memory");
}

TEST_CASE("A verdict that lies within the bounds says so") {
  // Computing takes 6'000 and notifying 5'400. If the clock is read within 40 us, it is not certain
  // which is longer.
  JobSpec job = OneJob();
  job.commands[1].end_ns = kBase + 9'500, job.completion_ns = kBase + 10'100;
  job.device_irq_ns = kBase + 10'800;
  for (const int64_t width_ns : {400, 40'000}) {
    TraceBuilder builder;
    ClockSpec clock;
    clock.sample_width_ns = width_ns;
    builder.AddDevice(clock);
    builder.AddApi("Copy", 100, 1, kBase, kBase + 16'600);
    builder.AddJob(job);
    const Breakdown breakdown = ComputeBreakdown(*builder.Model());
    const bool certain = width_ns == 400;
    CAPTURE(width_ns, breakdown.verdict);
    CHECK(breakdown.certain == certain);
    const bool says = breakdown.verdict.find("within its bounds") != std::string::npos;
    CHECK(says == !certain);
  }
}

TEST_CASE("Overlap and gaps carry the bounds of their edges") {
  TraceBuilder builder = OneJobTrace();
  JobSpec job = OneJob();
  job.job = 2, job.sequence = 2, job.correlation += 1;
  // Two copies during the first job's computing and one after it, with a gap of 1 us before that.
  job.commands = {Command(kIn, 4'000, 5'000, 6'000), Command(kIn, 6'000, 7'000, 8'500),
                  Command(kOut, 12'000, 12'500, 13'000)};
  builder.AddJob(job);
  const Breakdown breakdown = ComputeBreakdown(*builder.Model());
  const auto holds = [](const Span& span, int64_t ns) {
    CHECK(span.lo_ns <= ns);
    CHECK(span.hi_ns >= ns);
    CHECK(std::abs(span.mid_ns - ns) <= 4);
    // Values derived from device times are not exact.
    CHECK(span.hi_ns > span.lo_ns);
  };
  holds(breakdown.overlap, 2'500);
  CHECK(breakdown.gaps == 1);
  holds(breakdown.gap_total, 1'000);
  holds(breakdown.gap_longest, 1'000);
}

TEST_CASE("What a program did before and after its jobs is kept apart") {
  TraceBuilder builder = OneJobTrace();
  builder.AddRange("load", 100, kBase - 50'000, kBase - 10'000);
  builder.AddRange("check", 100, kBase + 18'000, kBase + 90'000);
  const Breakdown breakdown = ComputeBreakdown(*builder.Model());
  CHECK(breakdown.RunNs() == 16'600);
  CHECK(breakdown.before_ns == 50'000);
  CHECK(breakdown.after_ns == 90'000 - 16'600);
}

TEST_CASE("Without jobs there is no run") {
  TraceBuilder builder;
  builder.AddApi("Init", 100, 1, kBase, kBase + 10);
  const Breakdown breakdown = ComputeBreakdown(*builder.Model());
  CHECK(breakdown.RunNs() == 0);
  CHECK(breakdown.verdict.find("no device was used") == 0);
}

TEST_CASE("Link bandwidth follows generation, width and line coding") {
  CHECK(LinkBytesPerSecond(1, 1) == Approx(250e6));
  CHECK(LinkBytesPerSecond(2, 4) == Approx(2e9));
  CHECK(LinkBytesPerSecond(3, 16) == Approx(15.7538e9).epsilon(1e-5));
  CHECK(LinkBytesPerSecond(5, 16) == Approx(63.0154e9).epsilon(1e-5));
  CHECK(LinkBytesPerSecond(6, 16) == Approx(118e9));
  CHECK(LinkBytesPerSecond(0, 16) == 0);
  CHECK(LinkBytesPerSecond(7, 16) == 0);
  CHECK(LinkBytesPerSecond(3, 0) == 0);
  // A packet has 256 bytes of data, 12 or 16 bytes of header (completion or write) and 8 bytes of
  // framing.
  CHECK(PayloadEfficiency(256, true) == Approx(256.0 / 276));
  CHECK(PayloadEfficiency(256, false) == Approx(256.0 / 280));
  CHECK(PayloadEfficiency(0, true) == 1);
}

TEST_CASE("Transfers are listed by direction and size") {
  const auto model = OneJobTrace().Model();
  const auto transfers = ComputeTransfers(*model);
  REQUIRE(transfers.size() == 1);
  REQUIRE(transfers[0].directions.size() == 2);
  const Direction& in = transfers[0].directions[0];
  CHECK(in.to_device);
  CHECK(in.all.count == 1);
  CHECK(in.all.bytes == 4'000);
  CHECK(in.all.bytes_per_s.mid == Approx(2e9).epsilon(0.01));  // 4'000 bytes in 2 µs
  REQUIRE(in.sizes.size() == 1);
  CHECK(in.sizes[0].up_to_bytes == 4096);
  CHECK(transfers[0].directions[1].all.count == 0);
}

TEST_CASE("Memory is listed by unit") {
  const auto model = OneJobTrace().Model();
  const auto memory = ComputeMemory(*model, ComputeUtilisation(*model));
  REQUIRE(memory.size() == 1);
  CHECK(memory[0].units[kIn].moved_bytes == 4'096);
  CHECK(memory[0].units[kIn].HitRate() == Approx(60.0 / 64));
  CHECK(memory[0].units[kMatrix].moved_bytes == 0);
  CHECK(memory[0].all.moved_bytes == 4'096);
  CHECK_FALSE(memory[0].counters.available);  // this device has no such counters
}

TEST_CASE("Ops are named by the runtime, else by opcode, and folded by number") {
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec job = OneJob();
  job.commands[0].tag = 1, job.commands[1].tag = 2;
  job.commands.push_back(Command(kMatrix, 11'500, 11'500, 11'700));
  job.commands.back().tag = 3;
  builder.AddOpName(100, 2, "layer0.q");
  builder.AddOpName(100, 3, "layer1.q");
  builder.AddJob(job);
  const auto model = builder.Model();
  const auto ops = ComputeOps(*model).by_name;
  REQUIRE(ops.size() == 3);
  CHECK(ops[0].name == "layer0.q");
  CHECK(ops[0].limiter == "memory");
  CHECK(ops[0].peak_share.mid == Approx(4'000'000 / 8e-6 / 1e12).epsilon(0.01));
  CHECK(ops[1].name == "copy-in");
  CHECK(ops[2].name == "layer1.q");
  const auto folded = ComputeOps(*model).by_group;
  REQUIRE(folded.size() == 2);
  CHECK(folded[0].name == "layer[0-1].q");
  CHECK(folded[0].count == 2);
}

TEST_CASE("Only consecutive numbers make one name of many") {
  const NameGroups folded(
      true, {"l0.h0", "l0.h1", "l1.h0", "l1.h1", "l1.h1", "fp16", "fp32", "one", "step 007", "x9"});
  CHECK(folded.Of("l0.h1") == "l[0-1].h[0-1]");
  CHECK(folded.Of("fp16") == "fp16");
  CHECK(folded.Of("one") == "one");
  CHECK(folded.Of("step 007") == "step 007");
  CHECK(folded.Of("x9") == "x9");
  CHECK(NameGroups(false, {"l0", "l1"}).Of("l0") == "l0");
}

TEST_CASE("Names may hold the bytes that patterns are made of") {
  const NameGroups groups(true, {"a1\x01", "a\x01", "a2\x01", "a\x01n", "a1n", "a2n", "\x01\x01t",
                                 "3\x01n4", "4\x01n4"});
  CHECK(groups.Of("a1\x01") == "a[1-2]\x01");
  CHECK(groups.Of("a\x01") == "a\x01");
  CHECK(groups.Of("a\x01n") == "a\x01n");
  CHECK(groups.Of("a1n") == "a[1-2]n");
  CHECK(groups.Of("\x01\x01t") == "\x01\x01t");
  CHECK(groups.Of("4\x01n4") == "[3-4]\x01n4");
}

TEST_CASE("A range owns the work of the calls that began inside it") {
  TraceBuilder builder = OneJobTrace();
  builder.AddRange("outer", 100, kBase - 100, kBase + 17'000, 0);
  builder.AddRange("inner", 100, kBase - 50, kBase + 50, 1);
  builder.AddRange("elsewhere", 200, kBase - 50, kBase + 50, 0);
  builder.AddRange("later", 100, kBase + 18'000, kBase + 19'000, 0);
  const auto ranges = ComputeRanges(*builder.Model(), false);
  REQUIRE(ranges.size() == 4);
  CHECK(ranges[0].name == "outer");
  CHECK(ranges[0].commands == 2);
  CHECK(ranges[0].host_ns == 17'100);
  CHECK(ranges[1].name == "inner");
  CHECK(ranges[1].parent == 0);
  CHECK(ranges[1].jobs == 1);
  CHECK(ranges[1].device.mid == Approx(10'000).margin(2));
  CHECK(ranges[2].jobs + ranges[3].jobs == 0);
}

// Returns the tree as text, with each range preceded by its ancestors.
std::vector<std::string> Paths(const std::vector<RangeUse>& ranges) {
  std::vector<std::string> paths;
  for (const RangeUse& range : ranges) {
    paths.push_back((range.parent == model::kNoRow ? "" : paths[range.parent] + "/") + range.name);
  }
  return paths;
}

TEST_CASE("Ranges nest by thread, not by time or depth alone") {
  TraceBuilder builder = OneJobTrace();
  // Two processes do different things at the same times.
  builder.AddRange("train", 100, 1'000, 9'000, 0);
  builder.AddRange("load", 200, 1'000, 9'000, 0);
  builder.AddRange("step", 100, 1'000, 4'000, 1);
  builder.AddRange("read", 200, 1'000, 3'000, 1);
  builder.AddRange("step", 100, 4'000, 8'500, 1);
  builder.AddRange("forward", 100, 4'000, 5'000, 2);
  builder.AddRange("parse", 200, 4'000, 5'000, 1);
  // Ranges that begin and end at the same time: the one that took no time has no children.
  builder.AddRange("tiny", 100, 9'000, 9'000, 0);
  builder.AddRange("after", 100, 9'000, 9'900, 0);
  builder.AddRange("inside", 100, 9'000, 9'500, 1);
  CHECK(Paths(ComputeRanges(*builder.Model(), false)) ==
        std::vector<std::string>{"load", "load/read", "load/parse", "train", "train/step",
                                 "train/step/forward", "after", "after/inside", "tiny"});
}

TEST_CASE("A range whose parent was lost lies in the next one outside") {
  TraceBuilder builder = OneJobTrace();
  builder.AddRange("outer", 100, 1'000, 9'000, 0);
  builder.AddRange("inner", 100, 2'000, 3'000, 2);
  builder.AddRange("begun before", 200, 1'000, 3'000, 4);
  CHECK(Paths(ComputeRanges(*builder.Model(), false)) ==
        std::vector<std::string>{"outer", "outer/inner", "begun before"});
}

TEST_CASE("An op is limited by what took its time, not by what did so most often") {
  TraceBuilder builder;
  builder.AddDevice();
  JobSpec job = OneJob();
  job.commands = {};
  for (int i = 0; i < 5; ++i) {
    job.commands.push_back(Command(kMatrix, 3'000 + 100 * i, 3'000 + 100 * i, 3'050 + 100 * i));
    job.commands.back().limiter = 2;
  }
  job.commands.push_back(Command(kMatrix, 4'000, 8'000, 8'100));
  job.commands.back().limiter = 0;
  builder.AddJob(job);
  const auto ops = ComputeOps(*builder.Model()).by_name;
  REQUIRE(ops.size() == 1);
  CHECK(ops[0].limiter == "compute");
  CHECK(ops[0].limiter_time.mid == Approx(4'100).margin(2));
  CHECK(ops[0].held.mid == Approx(4'100 + 250).margin(2));
}

TEST_CASE("API calls are summed by name") {
  const auto calls = ComputeCalls(*OneJobTrace().Model());
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].name == "Copy");
  CHECK(calls[0].jobs == 1);
  CHECK(calls[0].time.total.mid_ns == 16'600);
}

}  // namespace
}  // namespace acceltrace::analysis
