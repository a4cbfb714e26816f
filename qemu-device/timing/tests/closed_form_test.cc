// SPDX-License-Identifier: Apache-2.0
//
// The cases of `make bench BENCH=model`, run on the timing model alone.
#include "qemu-device/timing/tests/model.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

void Check(const std::vector<CaseResult>& results) {
  REQUIRE(results.size() == 40);
  for (const CaseResult& r : results) {
    INFO(r.name << ": expected " << r.expected_ns << " ns, modelled " << r.simulated_ns << " ns");
    CHECK(r.error() <= 0.01);
    CHECK(r.counts_equal);
  }
}

}  // namespace

TEST_CASE("40 transfers take what TLP arithmetic says", "[model]") {
  Check(RunTransferCases(MakeModelBench));
}
TEST_CASE("40 matmul shapes take what the array and DRAM say", "[model]") {
  Check(RunMatmulCases(MakeModelBench));
}
TEST_CASE("40 access patterns take what rows and banks say", "[model]") {
  Check(RunAccessCases(MakeModelBench));
}

}  // namespace acceltrace::device
