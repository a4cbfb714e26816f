// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/on_device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

void Check(const std::vector<CaseResult>& results) {
  REQUIRE(results.size() == 40);
  for (const CaseResult& r : results) {
    INFO(r.name << ": expected " << r.expected_ns << " ns, simulated " << r.simulated_ns << " ns");
    CHECK(r.error() <= 0.01);
    CHECK(r.counts_equal);
  }
}

}  // namespace

TEST_CASE("40 transfers take what TLP arithmetic says", "[model]") {
  Check(RunTransferCases(MakeDeviceBench));
}
TEST_CASE("40 matmul shapes take what the array and DRAM say", "[model]") {
  Check(RunMatmulCases(MakeDeviceBench));
}
TEST_CASE("40 access patterns take what rows and banks say", "[model]") {
  Check(RunAccessCases(MakeDeviceBench));
}

}  // namespace acceltrace::device
