// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/stretches.h"

#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/golden/temporary_file.h"
#include "tests/golden/trace_builder.h"
#include "tests/golden/trace_builder_split.h"

namespace acceltrace::analysis {
namespace {

constexpr int64_t kBegin = 50'000'000, kEach = 30'000;

// Successive jobs that each take `copy_ns` of copying and `matrix_ns` of computing; in the second
// half copying takes `later_ns`.
test::TraceBuilder Run(uint32_t jobs, int64_t copy_ns, int64_t matrix_ns, int64_t later_ns) {
  test::TraceBuilder builder;
  builder.AddDevice();
  for (uint32_t n = 1; n <= jobs; ++n) {
    const int64_t at = kBegin + n * kEach;
    test::CommandSpec copy, matrix;
    copy.unit = test::kIn, copy.bytes = 4096;
    copy.fetched_ns = at + 3'000, copy.head_ns = copy.start_ns = at + 3'500;
    copy.end_ns = copy.start_ns + (2 * n > jobs ? later_ns : copy_ns);
    copy.stall_ns[test::kStallLink] = (copy.end_ns - copy.start_ns) / 2;
    matrix.unit = test::kMatrix, matrix.work = 1'000;
    matrix.fetched_ns = at + 3'000, matrix.head_ns = at + 3'500;
    matrix.start_ns = copy.end_ns, matrix.end_ns = copy.end_ns + matrix_ns;
    test::JobSpec job = test::JobOfCall(at, n, matrix.end_ns + 300);
    job.commands = {copy, matrix};
    job.wait_ns = at + 2'900, job.wake_ns = job.complete_ns + 1'500;
    job.wait_correlation = job.correlation + 1'000'000;
    builder.AddJob(job);
    builder.AddApi("launch", 100, job.correlation, at, at + 2'800);
    builder.AddApi("wait", 100, job.wait_correlation, at + 2'850, job.wake_ns + 500);
  }
  return builder;
}

Stretches Of(test::TraceBuilder builder, size_t count, uint64_t events) {
  const test::TemporaryFile file(test::Encode(test::Split(builder.Packets(), 256)));
  const auto trace = model::PartialTrace::Open(file.path());
  REQUIRE(trace != nullptr);
  auto stretches = ComputeStretches(*trace, count, events);
  REQUIRE(stretches.ok());
  return std::move(stretches).value();
}

TEST_CASE("stretches give the shares of the whole within their intervals") {
  test::TraceBuilder builder = Run(2'000, 9'000, 4'000, 12'000);
  const auto model = builder.Model();
  const Report whole = ComputeReport(*model);
  const Stretches stretches = Of(std::move(builder), 8, 800);
  REQUIRE(stretches.each.size() == 8);
  CHECK(stretches.read < stretches.events / 2);
  double sum = 0;
  for (int c = 0; c < kNumClasses; ++c) {
    const Ratio share = whole.breakdown.Share(whole.breakdown.time[c]);
    INFO(ClassName(static_cast<Class>(c)));
    CHECK(stretches.classes[c].lo <= share.mid + 0.002);
    CHECK(stretches.classes[c].hi >= share.mid - 0.002);
    CHECK(std::abs(stretches.classes[c].mid - share.mid) < 0.02);
    sum += stretches.classes[c].mid;
  }
  CHECK(sum == Approx(1).margin(0.001));
  INFO(stretches.text);
  CHECK(!stretches.withheld);
  REQUIRE(!stretches.gains.empty());
  REQUIRE(!whole.limiter.gains.empty());
  CHECK(stretches.gains[0].resource == whole.limiter.gains[0].resource);
  CHECK(stretches.gains[0].share.mid == Approx(whole.limiter.gains[0].share).margin(0.01));
  CHECK(stretches.latency.count > 500);
}

TEST_CASE("what differs between stretches widens the interval") {
  const Stretches even = Of(Run(2'000, 9'000, 4'000, 9'000), 8, 800);
  const Stretches uneven = Of(Run(2'000, 3'000, 4'000, 15'000), 8, 800);
  const auto width = [](const Stretches& stretches) {
    return stretches.classes[kTransferring].hi - stretches.classes[kTransferring].lo;
  };
  CHECK(width(even) < 0.01);
  CHECK(width(uneven) > 10 * width(even));
}

TEST_CASE("losses are caveats, and the answer is withheld where they could be any resource's") {
  test::TraceBuilder builder = Run(1'000, 9'000, 4'000, 9'000);
  builder.AddLoss("device-ring", 3'000, kBegin, kBegin + 1'000 * kEach);
  builder.AddHop("device-ring", 3'000, 0, 3'000, 0);
  std::vector<proto::Packet> packets = test::Split(builder.Packets(), 256);
  std::erase_if(packets,
                [](const auto& packet) { return packet.has_commands() || packet.has_jobs(); });
  const test::TemporaryFile file(test::Encode(std::move(packets)));
  const auto trace = model::PartialTrace::Open(file.path());
  REQUIRE(trace != nullptr);
  const auto stretches = ComputeStretches(*trace, 4, 800);
  REQUIRE(stretches.ok());
  REQUIRE(!stretches->caveats.empty());
  INFO(stretches->text);
  CHECK(stretches->withheld);
  CHECK(stretches->text.rfind("inconclusive", 0) == 0);
}

TEST_CASE("an estimate of equal shares has no width, of one it has its own") {
  SampledShare estimate;
  CHECK(!estimate.any());
  CHECK(estimate.Value().hi == 0);
  estimate.Add(2, {0.2, 0.25, 0.3});
  CHECK(estimate.Value().lo == 0.2);
  CHECK(estimate.Value().hi == 0.3);
  estimate.Add(1, {0.2, 0.25, 0.3});
  CHECK(estimate.Value().mid == Approx(0.25));
  CHECK(estimate.Value().hi == Approx(0.3));
  estimate.Add(3, {0.5, 0.5, 0.5});
  CHECK(estimate.Value().mid == Approx(0.375));
  CHECK(estimate.Value().hi > 0.7);
}

}  // namespace
}  // namespace acceltrace::analysis
