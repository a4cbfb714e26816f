// SPDX-License-Identifier: Apache-2.0
//
// Ops and phases against ceilings, computed by hand. The clock is 1 GHz without drift.
#include "libtrace/analysis/usage/roofline.h"

#include "libtrace/analysis/report/report.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::analysis {
namespace {

using namespace acceltrace::test;

constexpr int64_t kBase = 20'000'000;

// The device does 1 T of work per second, and its memory has 10 GB/s.
std::unique_ptr<model::Model> TwoMatmuls() {
  TraceBuilder builder;
  builder.AddDevice();
  proto::Device* device = builder.device(0);
  device->set_memory_bytes_per_s(10'000'000'000);
  device->mutable_units(kMatrix)->set_peak_work_per_s(1e12);
  device->mutable_units(kMatrix)->set_work_unit("MACs");
  builder.AddOpName(100, 1, "near"), builder.AddOpName(100, 2, "far");
  for (uint32_t number : {1u, 2u}) {
    JobSpec job;
    const int64_t at_ns = kBase + 40'000 * number;
    job.job = job.sequence = job.correlation = number;
    job.submit_ns = at_ns + 100, job.doorbell_ns = at_ns + 200, job.submit_end_ns = at_ns + 300;
    job.device_doorbell_ns = at_ns + 250, job.fetched_ns = at_ns + 850;
    CommandSpec command;
    command.unit = kMatrix, command.opcode = 0x20, command.tag = number;
    command.fetched_ns = command.head_ns = command.start_ns = at_ns + 1'000;
    command.end_ns = at_ns + 21'000;
    // Each takes 20 us. The first has 10 us of work and 1 us of memory, the second 2 us and 16 us.
    command.work = number == 1 ? 10'000'000 : 2'000'000;
    command.memory_bytes = number == 1 ? 10'000 : 160'000;
    job.commands = {command};
    job.completion_ns = job.device_irq_ns = at_ns + 21'300;
    job.irq_ns = at_ns + 21'400, job.complete_ns = at_ns + 21'500;
    builder.AddJob(job);
    builder.AddApi("Launch", 100, number, at_ns, at_ns + 350);
  }
  builder.AddRange("step", 100, kBase + 40'000 - 10, kBase + 90'000, 0);
  return builder.Model();
}

const RoofUse& Find(const std::vector<RoofUse>& uses, std::string_view name) {
  for (const RoofUse& use : uses) {
    if (use.name == name) return use;
  }
  FAIL("no use " << name);
  return uses.front();
}

TEST_CASE("An op's roof is the ceiling by which it takes longest") {
  const auto model = TwoMatmuls();
  const Report report = ComputeReport(*model);
  REQUIRE(report.roofline.size() == 1);
  const DeviceRoofline& roofline = report.roofline[0];
  const RoofUse& near = Find(roofline.ops, "near");
  CHECK(near.roof == "matrix");
  CHECK(near.roof_ns == 10'000);
  CHECK(near.intensity == 1'000);
  CHECK(near.of_roof.mid == Approx(0.5).epsilon(1e-4));
  CHECK(near.of_roof.lo <= 0.5);
  CHECK(near.of_roof.hi >= 0.5);
  CHECK(near.per_s.mid == Approx(0.5e12).epsilon(1e-4));
  const RoofUse& far = Find(roofline.ops, "far");
  CHECK(far.roof == "memory");
  CHECK(far.roof_ns == 16'000);
  CHECK(far.intensity == 12.5);
  CHECK(far.of_roof.mid == Approx(0.8).epsilon(1e-4));
}

TEST_CASE("A phase has the work of all ops inside") {
  const auto model = TwoMatmuls();
  const Report report = ComputeReport(*model);
  const RoofUse& step = Find(report.roofline[0].phases, "step");
  CHECK(step.commands == 2);
  CHECK(step.work == 12'000'000);
  CHECK(step.memory_bytes == 170'000);
  CHECK(step.roof == "memory");
  CHECK(step.roof_ns == 17'000);
  CHECK(step.of_roof.mid == Approx(17.0 / 40).epsilon(1e-4));
}

TEST_CASE("What was measured replaces the device's figures") {
  const auto model = TwoMatmuls();
  Report report = ComputeReport(*model);
  const Ceiling slower{"matrix", "MACs", 0.6e12, true}, near{"scratchpad", "bytes", 1e11, true};
  const std::string name = model->devices[0].about.name();
  SECTION("of the device that they are of") {
    UseCeilings({{name, "", {slower, near}}}, &report);
    const RoofUse& use = Find(report.roofline[0].ops, "near");
    CHECK(use.roof == "matrix");
    CHECK(use.of_roof.mid == Approx(1 / 1.2).epsilon(1e-4));
    CHECK(report.roofline[0].ceilings.back().resource == "scratchpad");
  }
  SECTION("and of no other") {
    UseCeilings({{"another", "", {slower}}, {name, "0000:ff:1f.0", {slower}}}, &report);
    CHECK(Find(report.roofline[0].ops, "near").of_roof.mid == Approx(0.5).epsilon(1e-4));
  }
  SECTION("nor where they count something else") {
    UseCeilings({{name, "", {{"matrix", "bytes", 1, true}}}}, &report);
    CHECK(Find(report.roofline[0].ops, "near").roof_ns == 10'000);
  }
}

}  // namespace
}  // namespace acceltrace::analysis
