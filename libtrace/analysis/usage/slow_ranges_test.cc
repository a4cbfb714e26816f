// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/slow_ranges.h"

#include "libtrace/analysis/report/report.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000, kApart = 100'000;

// Ranges that each launch a job and wait for it. Every tenth one also copies, and computes 5 us
// longer between its calls.
std::unique_ptr<model::Model> Made(uint32_t count) {
  TraceBuilder builder;
  builder.AddDevice();
  uint64_t call = 0;
  uint32_t number = 0;
  const auto job_at = [&](int64_t at_ns, uint64_t bytes, int64_t device_ns) {
    JobSpec job;
    job.job = job.sequence = ++number, job.correlation = call;
    job.submit_ns = at_ns + 100, job.doorbell_ns = at_ns + 200, job.submit_end_ns = at_ns + 250;
    job.device_doorbell_ns = at_ns + 300, job.fetched_ns = at_ns + 400;
    CommandSpec command;
    command.bytes = bytes;
    command.fetched_ns = command.head_ns = command.start_ns = job.fetched_ns;
    command.end_ns = command.start_ns + device_ns;
    job.commands = {command};
    job.completion_ns = job.device_irq_ns = command.end_ns + 50;
    job.irq_ns = command.end_ns + 100, job.complete_ns = command.end_ns + 200;
    builder.AddJob(job);
  };
  for (uint32_t i = 0; i < count; ++i) {
    const bool slow = i % 10 == 3;
    int64_t now_ns = kBase + i * kApart;
    const int64_t begin_ns = now_ns;
    now_ns += 1'000;
    builder.AddApi("Launch", 100, ++call, now_ns, now_ns + 500);
    job_at(now_ns, 0, 2'000);
    now_ns += 500 + (slow ? 6'000 : 1'000);
    if (slow) {
      builder.AddApi("Copy", 100, ++call, now_ns, now_ns + 20'000);
      job_at(now_ns, 65'536, 15'000);
      now_ns += 20'000;
    }
    builder.AddApi("Wait", 100, ++call, now_ns, now_ns + 3'000);
    now_ns += 3'000 + 500;
    builder.AddRange("request" + std::to_string(i), 100, begin_ns, now_ns);
  }
  return builder.Model();
}

TEST_CASE("what slow ranges have that others have not") {
  const auto model = Made(60);
  const auto all = FindSlowRanges(*model);
  REQUIRE(all.size() == 1);
  const SlowRanges& slow = all[0];
  CHECK(slow.count == 60);
  CHECK(slow.slow == 3);
  CHECK(slow.median_ns == 6'000);
  CHECK(slow.slow_ns == 31'000);
  REQUIRE(slow.host.size() == 2);
  CHECK(slow.host[0].name == "Copy");
  CHECK(slow.host[0].MoreNs() == Approx(20'000));
  CHECK(slow.host[0].count == 1);
  CHECK(slow.host[0].usual_count == 0);
  CHECK(slow.host[1].name == "computing between calls");
  CHECK(slow.host[1].MoreNs() == Approx(5'000));
  REQUIRE(slow.device.size() == 1);
  CHECK(slow.device[0].bytes - slow.device[0].usual_bytes == Approx(65'536));
  CHECK(ComputeReport(*model).slow_ranges.size() == 1);
}

TEST_CASE("few ranges, and ranges that are alike, have no slow ones") {
  CHECK(FindSlowRanges(*Made(19)).empty());
  TraceBuilder builder;
  for (int64_t i = 0; i < 40; ++i) {
    builder.AddRange("alike", 100, kBase + i * kApart, kBase + i * kApart + 5'000 + i);
  }
  CHECK(FindSlowRanges(*builder.Model()).empty());
}

}  // namespace
}  // namespace acceltrace::analysis
