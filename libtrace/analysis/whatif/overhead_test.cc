// SPDX-License-Identifier: Apache-2.0
//
// Simulates a program on one CPU and one device with and without a tracer. The length of the run
// without it must follow from the trace of the run with it.
#include "libtrace/analysis/whatif/overhead.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "libtrace/analysis/report/report.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;
constexpr int64_t kBusNs = 300, kFetchNs = 700, kNoticeNs = 400, kWakeNs = 900;
constexpr int64_t kCallNs = 500, kDriverNs = 400;

struct Program {
  uint32_t jobs = 50;
  int64_t think_ns = 1'000;   // of the application before each launch
  int64_t device_ns = 2'000;  // of each job
  uint32_t wait_every = 0;    // 0 = only the last one
};

struct Tracer {
  int64_t api_ns = 0, driver_ns = 0;
  // The recorder takes the CPU for work_ns whenever the host's time reaches a multiple of every_ns.
  int64_t every_ns = 0, work_ns = 0;
};

// The host's clock, which the tracer's work advances.
class Host {
 public:
  Host(const Tracer& tracer, TraceBuilder* builder) : tracer_(tracer), builder_(builder) {}
  int64_t now() const { return now_ns_; }
  void Spend(int64_t ns) {
    if (tracer_.every_ns > 0 && (now_ns_ + ns) / tracer_.every_ns != now_ns_ / tracer_.every_ns) {
      Record();
    }
    now_ns_ += ns;
  }
  void Api() {
    now_ns_ += tracer_.api_ns;
    ++api_events_;
  }
  void Driver() {
    now_ns_ += tracer_.driver_ns;
    ++driver_events_;
  }
  void SleepUntil(int64_t at_ns) {
    // The recorder gets the time that the program leaves.
    if (tracer_.every_ns > 0 && at_ns - now_ns_ > 2 * tracer_.work_ns) {
      const int64_t before_ns = now_ns_;
      Record();
      now_ns_ = before_ns;
    }
    now_ns_ = std::max(now_ns_, at_ns);
  }
  void AddCosts() {
    if (builder_ == nullptr) return;
    builder_->info()->set_num_cpus(1);
    AddCost("shared-memory", tracer_.api_ns, api_events_);
    AddCost("tracepoint", tracer_.driver_ns, driver_events_);
  }

 private:
  void AddCost(const char* kind, int64_t ns, uint64_t events) {
    auto* cost = builder_->accounts()->add_event_costs();
    cost->set_kind(kind);
    cost->set_cost_ps(static_cast<uint64_t>(ns) * 1000);
    cost->set_error_ps(static_cast<uint64_t>(ns) * 100);
    cost->set_events(events);
  }

  void Record() {
    if (builder_ != nullptr) {
      proto::Accounts* accounts = builder_->accounts();
      accounts->add_work_begin_ns_delta(now_ns_ - last_work_ns_);
      accounts->add_work_ns(static_cast<uint64_t>(tracer_.work_ns));
      accounts->add_work_cpu_ns(static_cast<uint64_t>(tracer_.work_ns));
      last_work_ns_ = now_ns_;
    }
    now_ns_ += tracer_.work_ns;
  }

  const Tracer& tracer_;
  TraceBuilder* builder_;
  int64_t now_ns_ = kBase, last_work_ns_ = 0;
  uint64_t api_events_ = 0, driver_events_ = 0;
};

// Runs from the first launch to the return of the last wait, and records it in the builder if there
// is one.
int64_t Simulate(const Program& program, const Tracer& tracer, TraceBuilder* builder,
                 bool with_costs = true) {
  Host host(tracer, builder);
  int64_t free_ns = 0;
  uint64_t correlation = 0;
  for (uint32_t i = 1; i <= program.jobs; ++i) {
    if (i > 1) host.Spend(program.think_ns);
    JobSpec job;
    job.job = i, job.sequence = i, job.correlation = ++correlation;
    const int64_t begin_ns = host.now();
    host.Api();
    host.Spend(kCallNs);
    job.submit_ns = host.now();
    host.Driver();
    host.Spend(kDriverNs);
    job.doorbell_ns = host.now();
    job.device_doorbell_ns = job.doorbell_ns + kBusNs;
    job.fetched_ns = job.device_doorbell_ns + kFetchNs;
    const int64_t start_ns = std::max(job.fetched_ns, free_ns);
    free_ns = start_ns + program.device_ns;
    job.completion_ns = free_ns;
    host.Driver();
    CommandSpec command;
    command.fetched_ns = command.head_ns = job.fetched_ns;
    command.start_ns = start_ns, command.end_ns = free_ns;
    job.commands = {command};
    const int64_t end_ns = host.now();
    host.Api();
    if (builder != nullptr) builder->AddApi("Launch", 100, job.correlation, begin_ns, end_ns);
    const bool waits = i == program.jobs || (program.wait_every > 0 && i % program.wait_every == 0);
    if (waits) {
      const int64_t wait_begin_ns = host.now();
      job.wait_correlation = ++correlation;
      host.Api();
      host.Spend(kCallNs);
      if (host.now() < free_ns) {
        job.wait_ns = host.now();
        host.Driver();
        host.SleepUntil(free_ns + kNoticeNs);
        job.complete_ns = host.now();
        host.Driver();
        host.Spend(kWakeNs);
        job.wake_ns = host.now();
        host.Driver();
      }
      const int64_t wait_end_ns = host.now();
      host.Api();
      if (builder != nullptr) {
        builder->AddApi("Wait", 100, job.wait_correlation, wait_begin_ns, wait_end_ns);
      }
    }
    if (builder != nullptr) builder->AddJob(job);
  }
  if (with_costs) host.AddCosts();
  return host.now() - kBase;
}

struct Outcome {
  int64_t true_ns, run_ns;
  Overhead reported;
  std::string verdict;
};

Outcome Compare(const Program& program, const Tracer& tracer) {
  TraceBuilder builder;
  builder.device(builder.AddDevice())->set_queue_window(64);
  const int64_t with_ns = Simulate(program, tracer, &builder);
  const int64_t without_ns = Simulate(program, {}, nullptr);
  const auto model = builder.Model();
  const Report report = ComputeReport(*model);
  REQUIRE(report.overhead.calibrated);
  return {with_ns - without_ns, with_ns, report.overhead, report.breakdown.verdict};
}

void RequireClose(const Outcome& outcome) {
  INFO("truth " << outcome.true_ns << " of " << outcome.run_ns << ", reported "
                << outcome.reported.run.lo_ns << " " << outcome.reported.run.mid_ns << " "
                << outcome.reported.run.hi_ns);
  const double allowed = std::max(0.05 * static_cast<double>(outcome.true_ns),
                                  0.005 * static_cast<double>(outcome.run_ns));
  REQUIRE(std::abs(outcome.reported.run.mid_ns - outcome.true_ns) <= allowed);
}

}  // namespace

TEST_CASE("What the tracer added to a run is reported whatever sets its pace") {
  const Tracer events{300, 500, 0, 0};
  SECTION("the host") { RequireClose(Compare({80, 1'000, 200, 0}, events)); }
  SECTION("the host, with a short wait now and then") {
    RequireClose(Compare({80, 1'000, 900, 10}, events));
  }
  SECTION("each job is waited for") { RequireClose(Compare({80, 1'000, 2'000, 1}, events)); }
  SECTION("host and device in balance") { RequireClose(Compare({80, 1'000, 1'950, 0}, events)); }
  SECTION("the device: the tracer's time was there to be had") {
    const Outcome outcome = Compare({80, 1'000, 9'000, 0}, events);
    RequireClose(outcome);
    REQUIRE(outcome.reported.run.mid_ns < outcome.reported.events.mid_ns / 5);
  }
}

TEST_CASE("The recorder's work counts where a thread wanted the CPU") {
  const Tracer recorder{0, 0, 20'000, 3'000};
  SECTION("the host sets the pace") {
    const Outcome outcome = Compare({200, 1'000, 200, 0}, recorder);
    REQUIRE(outcome.true_ns > 40'000);
    RequireClose(outcome);
  }
  SECTION("it works while the program waits") {
    const Outcome outcome = Compare({20, 0, 30'000, 1}, recorder);
    REQUIRE(outcome.reported.recorder.mid_ns > 0);
    RequireClose(outcome);
  }
}

TEST_CASE("A tracer that takes much is named in the verdict, one that does not is not") {
  const Outcome much = Compare({80, 1'000, 200, 0}, {300, 500, 0, 0});
  REQUIRE(much.reported.share > kMuchOverhead);
  REQUIRE(much.verdict.find("the tracer took") != std::string::npos);
  REQUIRE(much.verdict.find("--probes") != std::string::npos);
  const Outcome little = Compare({80, 1'000, 200, 0}, {10, 15, 0, 0});
  REQUIRE(little.reported.share < kMuchOverhead);
  REQUIRE(little.verdict.find("the tracer took") == std::string::npos);
}

TEST_CASE("What is taken off the host's classes adds up to what the run is longer by") {
  const Outcome outcome = Compare({80, 1'000, 200, 0}, {300, 500, 0, 0});
  int64_t sum_ns = 0;
  for (const Span& span : outcome.reported.in_class) {
    REQUIRE(span.lo_ns <= span.mid_ns);
    REQUIRE(span.mid_ns <= span.hi_ns);
    sum_ns += span.mid_ns;
  }
  REQUIRE(std::abs(sum_ns - outcome.reported.run.mid_ns) <= kNumClasses);
  REQUIRE(outcome.reported.run.lo_ns < outcome.reported.run.mid_ns);
  REQUIRE(outcome.reported.run.hi_ns > outcome.reported.run.mid_ns);
}

TEST_CASE("Without a device the calls' events are what the tracer cost, or less") {
  TraceBuilder builder;
  const uint32_t cpus = GENERATE(1u, 2u);
  builder.info()->set_num_cpus(cpus);
  // Every fourth call belongs to another process.
  for (int i = 0; i < 100; ++i) {
    builder.AddApi("Launch", i % 4 == 0 ? 200 : 100, static_cast<uint64_t>(i + 1),
                   kBase + i * 1'000, kBase + i * 1'000 + 500);
  }
  auto* cost = builder.accounts()->add_event_costs();
  cost->set_kind("shared-memory");
  cost->set_cost_ps(40'000);
  cost->set_events(200);
  const auto model = builder.Model();
  const Report report = ComputeReport(*model);
  REQUIRE(report.overhead.run.lo_ns == -std::llround(Overhead::IndirectNs(99'500)));
  REQUIRE(report.overhead.run.mid_ns == (cpus == 1 ? 200 : 150) * 40);
  REQUIRE(report.overhead.share > 0.05);
}

TEST_CASE(
    "Where nothing is known of waits, the recorder's work beside a job is taken for no delay") {
  TraceBuilder builder;
  builder.AddDevice();
  builder.info()->set_num_cpus(1);
  // Reads of a disk that take 100 us each, 80 of them in the device, followed by 10 of the program
  // itself.
  for (uint32_t i = 0; i < 50; ++i) {
    const int64_t begin_ns = kBase + i * 110'000;
    builder.AddApi("read", 100, i + 1, begin_ns, begin_ns + 100'000);
    JobSpec job;
    job.job = i + 1, job.sequence = i + 1, job.correlation = i + 1;
    job.submit_ns = begin_ns + 10'000, job.complete_ns = begin_ns + 90'000;
    builder.AddJob(job);
  }
  auto* cost = builder.accounts()->add_event_costs();
  cost->set_kind("system-call");
  cost->set_cost_ps(500'000);
  cost->set_events(100);
  // The recorder works for 2 us during the job of every tenth read, and once in the program's own
  // time.
  for (int i = 0; i < 6; ++i) {
    const int64_t delta_ns = i == 0 ? kBase + 20'000 : i == 5 ? 302'000 : 1'100'000;
    builder.accounts()->add_work_begin_ns_delta(delta_ns);
    builder.accounts()->add_work_ns(2'000);
    builder.accounts()->add_work_cpu_ns(2'000);
  }
  const auto model = builder.Model();
  const Report report = ComputeReport(*model);
  const Span run = report.overhead.run;
  const double indirect_ns = Overhead::IndirectNs(static_cast<double>(report.breakdown.RunNs()));
  CHECK(run.lo_ns == -std::llround(indirect_ns));
  CHECK(run.mid_ns == 99 * 500 + 2'000);  // the last call's end is no longer part of the run
  CHECK(run.hi_ns == 99 * 500 + 6 * 2'000 + std::llround(indirect_ns));
}

TEST_CASE("Without calibrated costs nothing is claimed") {
  TraceBuilder builder;
  builder.AddDevice();
  Simulate({20, 1'000, 200, 0}, {300, 500, 0, 0}, &builder, false);
  const auto model = builder.Model();
  const Report report = ComputeReport(*model);
  REQUIRE_FALSE(report.overhead.calibrated);
  REQUIRE(report.overhead.run.hi_ns == 0);
}

TEST_CASE("The recorder is taken to have worked while nobody else wanted to") {
  TraceBuilder builder;
  builder.AddApi("Launch", 100, 1, kBase, kBase + 100);
  proto::Accounts* accounts = builder.accounts();
  auto* cost = accounts->add_event_costs();
  cost->set_kind("shared-memory");
  cost->set_events(1);
  // 6 us of CPU time within 10 us.
  accounts->add_work_begin_ns_delta(kBase);
  accounts->add_work_ns(10'000);
  accounts->add_work_cpu_ns(6'000);
  const auto model = builder.Model();
  const TracerWork work(*model);
  const auto in = [&](const Period& within, const std::vector<Period>& asleep, int64_t from_ns,
                      int64_t to_ns) {
    return WorkSum(work, WorkSum::kEvery, kMid, within, asleep)
        .Between(kBase + from_ns, kBase + to_ns, WorkSum::kEvery);
  };
  const Period all{kBase, kBase + 10'000};
  // The lane never slept, so the work is spread over the whole time.
  CHECK(in(all, {}, 0, 10'000) == Approx(6'000));
  CHECK(in(all, {}, 0, 5'000) == Approx(3'000));
  // The lane slept for 4 us: 2 us remain for the 6 us in which it ran.
  CHECK(in(all, {{kBase + 2'000, kBase + 6'000}}, 6'000, 9'000) == Approx(1'000));
  // If the whole period is requested, the time in which it slept does not count.
  CHECK(in(all, {{kBase + 2'000, kBase + 6'000}}, 0, 9'000) == Approx(5'000. / 3));
  // There is more than enough sleep.
  CHECK(in(all, {{kBase + 1'000, kBase + 8'000}}, 8'000, 10'000) == 0);
  // Only a part is examined: the recorder may have worked outside of it.
  CHECK(in({kBase, kBase + 3'000}, {}, 0, 3'000) == 0);
  CHECK(in({kBase, kBase + 6'000}, {}, 0, 6'000) == Approx(2'000));
  // This part has its proportion of the work, 3.6 us, of which 2 are within the sleep.
  CHECK(in({kBase + 2'000, kBase + 8'000}, {{kBase + 3'000, kBase + 5'000}}, 5'000, 7'000) ==
        Approx(800));
}

}  // namespace acceltrace::analysis
