// SPDX-License-Identifier: Apache-2.0
//
// Devices of third-party drivers, for which only the begin and end of jobs are known.
#include "libtrace/analysis/report/report.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;

// Twenty reads, one every 100 us, which are on the disk for job_ns and take 20 us more.
TraceBuilder ReadsOf(bool calls, bool inside, int64_t job_ns = 40'000) {
  TraceBuilder builder;
  builder.AddDevice();
  if (!inside) {
    const uint32_t number = builder.device(0)->device();
    builder.device(0)->Clear();
    builder.device(0)->set_device(number);
  }
  builder.device(0)->set_name("disk0");
  for (const char* name : {"tp:block:submit", calls ? "usdt:libx:api_begin" : "uprobe:x"}) {
    proto::Probe* probe = builder.info()->add_probes();
    probe->set_name(name);
    probe->set_attached(true);
  }
  for (uint32_t i = 0; i < 20; ++i) {
    const int64_t begin_ns = kBase + i * 100'000;
    if (calls) builder.AddApi("read", 100, i + 1, begin_ns, begin_ns + job_ns + 20'000, 4096);
    JobSpec job;
    job.job = i + 1, job.sequence = i + 1, job.correlation = calls ? i + 1 : 0;
    job.submit_ns = begin_ns + 10'000, job.complete_ns = begin_ns + 10'000 + job_ns;
    builder.AddJob(job);
  }
  return builder;
}

std::unique_ptr<model::Model> Reads(bool calls, bool inside, int64_t job_ns = 40'000) {
  return ReadsOf(calls, inside, job_ns).Model();
}

TEST_CASE("jobs on a device that is not seen inside are a class of time of their own") {
  const auto model = Reads(true, false);
  const Report report = ComputeReport(*model);
  const Breakdown& run = report.breakdown;
  CHECK(run.time[kUnseen].lo_ns == 20 * 40'000);
  CHECK(run.time[kUnseen].mid_ns == 20 * 40'000);
  CHECK(run.time[kUnseen].hi_ns == 20 * 40'000);
  CHECK(run.time[kRuntime].mid_ns == 20 * 10'000 + 19 * 10'000);  // until the last completion
  CHECK(run.time[kApplication].mid_ns == 19 * 40'000);
  CHECK(report.verdict.standing == Verdict::Standing::kCertain);  // 800 and 760 us
  CHECK(report.verdict.text.find("jobs were under way on devices that are not seen inside") == 0);
  // Nothing can be predicted.
  CHECK_FALSE(report.verdict.predicts());
  CHECK(report.advice.empty());
  CHECK(report.limiter.withheld());
  CHECK(report.limiter.text ==
        "not to be seen in what was recorded: what disk0 did with its jobs is not recorded");
  CHECK_FALSE(report.verdict.fails());
}

TEST_CASE("calls that were not recorded may have been all of the rest") {
  const auto model = Reads(false, false);
  const Report report = ComputeReport(*model);
  CHECK(report.breakdown.time[kUnseen].mid_ns == 20 * 40'000);
  CHECK(report.verdict.withheld());     // 1,140 us of 1,940
  CHECK_FALSE(report.verdict.fails());  // they were not recorded, but nothing is wrong
  CHECK(report.verdict.text.starts_with("not to be seen in what was recorded: "));
  CHECK(report.verdict.text.find("API calls were not recorded") != std::string::npos);
  const auto long_jobs = Reads(false, false, 80'000);
  const Verdict verdict = ComputeReport(*long_jobs).verdict;
  CHECK(verdict.standing == Verdict::Standing::kHolds);  // 380 us of 1,980
  CHECK(verdict.text.find("not seen inside (80.8 % of the run), whatever is missing") !=
        std::string::npos);
}

TEST_CASE("a device that writes records is missed when there are none") {
  const auto model = Reads(true, true);
  const Report report = ComputeReport(*model);
  CHECK(report.breakdown.time[kUnseen].hi_ns == 0);
  CHECK(report.verdict.withheld());
  CHECK(report.verdict.text.find("devices were not recorded") != std::string::npos);
  CHECK_FALSE(report.verdict.fails());
}

TEST_CASE("a verdict that is withheld for a probe that could not be attached is a fault") {
  TraceBuilder builder = ReadsOf(false, false);
  proto::Probe* probe = builder.info()->add_probes();
  probe->set_name("usdt:libx:api_begin");
  probe->set_reason("no such probe here");
  const Report report = ComputeReport(*builder.Model());
  CHECK(report.verdict.withheld());
  CHECK(report.verdict.fails());
  CHECK(report.verdict.text.starts_with("inconclusive: "));
}

TEST_CASE("a guest that waited for its host has a verdict that is close at best, and says so") {
  TraceBuilder builder = ReadsOf(true, false);
  builder.AddHop("host-file-waits", 0, 0, 0, 0);
  CHECK(ComputeReport(*builder.Model()).verdict.standing == Verdict::Standing::kCertain);
  builder.AddHop("host-file-waits", 7, 7, 0, 0);
  const Verdict verdict = ComputeReport(*builder.Model()).verdict;
  CHECK(verdict.standing == Verdict::Standing::kClose);
  CHECK(verdict.text.find("waited 7 times for files of its host") != std::string::npos);
  CHECK_FALSE(verdict.fails());
}

}  // namespace
}  // namespace acceltrace::analysis
