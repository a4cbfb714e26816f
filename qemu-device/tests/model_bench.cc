// SPDX-License-Identifier: Apache-2.0
//
// The closed-form table as text for tests/bench/model: one line a case,
// `GROUP <tab> NAME <tab> EXPECTED_NS <tab> SIMULATED_NS <tab> COUNTS_EQUAL`.
#include <cstdio>

#include "qemu-device/tests/cases.h"

namespace {

void Print(const char* group, const std::vector<acceltrace::device::CaseResult>& results) {
  for (const auto& r : results) {
    std::printf("%s\t%s\t%.3f\t%.0f\t%d\n", group, r.name.c_str(), r.expected_ns, r.simulated_ns,
                r.counts_equal);
  }
}

}  // namespace

int main() {
  Print("transfer", acceltrace::device::RunTransferCases());
  Print("matmul", acceltrace::device::RunMatmulCases());
  Print("access", acceltrace::device::RunAccessCases());
  return 0;
}
