// SPDX-License-Identifier: Apache-2.0
//
// Two ranges with known limits: one copies, the other one computes.
#include "libtrace/analysis/report/part_limits.h"

#include <cmath>

#include "libtrace/analysis/report/report.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;

// A job that is submitted at at_ns and on its unit from begin_ns to end_ns.
JobSpec Job(uint32_t number, int64_t at_ns, Unit unit, int64_t begin_ns, int64_t end_ns) {
  JobSpec job;
  job.job = number, job.sequence = number, job.correlation = number;
  job.submit_ns = at_ns + 100, job.doorbell_ns = at_ns + 200, job.submit_end_ns = at_ns + 300;
  job.device_doorbell_ns = at_ns + 250, job.fetched_ns = at_ns + 850;
  CommandSpec command;
  command.unit = unit, command.opcode = unit == kIn ? 0x10 : 0x20;
  command.tag = unit == kIn ? 1 : 2;
  command.fetched_ns = at_ns + 850;
  command.head_ns = command.start_ns = begin_ns, command.end_ns = end_ns;
  if (unit == kIn) {
    command.stall_ns[kStallLink] = end_ns - begin_ns - 200;
    command.bytes = 20000, command.work = 80;
  }
  job.commands = {command};
  job.completion_ns = job.device_irq_ns = end_ns + 300;
  job.irq_ns = end_ns + 400, job.complete_ns = end_ns + 500;
  return job;
}

// Both are submitted at once; the second one begins to compute when the copy has ended.
std::unique_ptr<model::Model> CopyThenCompute(uint32_t depth) {
  TraceBuilder builder;
  builder.AddDevice();
  for (const auto kind :
       {proto::Device::STALL_WAIT, proto::Device::STALL_MEMORY, proto::Device::STALL_LINK}) {
    builder.device(0)->add_stall_kinds(kind);
  }
  builder.AddOpName(100, 1, "copy"), builder.AddOpName(100, 2, "compute");
  const int64_t copied = kBase + 21'000, computed = kBase + 61'000;
  builder.AddJob(Job(1, kBase, kIn, kBase + 900, copied));
  JobSpec second = Job(2, kBase + 1000, kMatrix, copied, computed);
  second.wait_correlation = 3;
  second.wait_ns = kBase + 2000, second.wake_ns = computed + 1000;
  builder.AddJob(second);
  builder.AddApi("Launch", 100, 1, kBase, kBase + 350);
  builder.AddApi("Launch", 100, 2, kBase + 1000, kBase + 1350);
  builder.AddApi("Wait", 100, 3, kBase + 1900, computed + 1100);
  builder.AddRange("load", 100, kBase - 10, kBase + 400, depth);
  builder.AddRange("run", 100, kBase + 900, computed + 1200, depth);
  return builder.Model();
}

const PartLimit* Find(const std::vector<RangeUse>& ranges, const std::vector<PartLimit>& limits,
                      const std::string& name) {
  for (size_t i = 0; i < ranges.size() && i < limits.size(); ++i) {
    if (ranges[i].name == name) return &limits[i];
  }
  return nullptr;
}

TEST_CASE("each range and op has the limit of its own work") {
  const auto model = CopyThenCompute(0);
  const Report report = ComputeReport(*model);
  const PartLimit* load = Find(report.ranges, report.part_limits.ranges, "load");
  const PartLimit* run = Find(report.ranges, report.part_limits.ranges, "run");
  REQUIRE(load != nullptr);
  REQUIRE(run != nullptr);
  // The copy continues after its range has ended, and the next range waits for it.
  CHECK(std::abs(load->ns - 21'300) < 50);
  CHECK(load->first.resource == kPcieBandwidth);
  CHECK(run->first.resource == kMatrixRate);
  CHECK(std::abs(run->first.share * run->ns - 8'000) < 50);
  // The gain of the copy does not belong to the second range.
  CHECK(run->second.resource != kPcieBandwidth);
  REQUIRE(report.part_limits.ops.size() == 2);
  for (size_t i = 0; i < report.ops.size(); ++i) {
    const Resource expected = report.ops[i].name == "copy" ? kPcieBandwidth : kMatrixRate;
    CHECK(report.part_limits.ops[i].first.resource == expected);
  }
  CHECK(std::abs(report.part_limits.op_groups[0].first.share - 0.2) < 0.01);
}

TEST_CASE("parts without predictions have no limits") {
  const auto model = CopyThenCompute(3);
  const Report report = ComputeReport(*model, nullptr, Predictions::kNone);
  CHECK(report.part_limits.ranges.empty());
  CHECK(report.part_limits.ops.empty());
}

}  // namespace
}  // namespace acceltrace::analysis
