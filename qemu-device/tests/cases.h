// SPDX-License-Identifier: Apache-2.0
//
// The model against closed form: 40 transfers, 40 matmul shapes, 40 access
// patterns, each run alone on the device and compared with expect.h. Used by
// the test suite and by the benchmark.
//
#ifndef QEMU_DEVICE_TESTS_CASES_H_
#define QEMU_DEVICE_TESTS_CASES_H_

#include <string>
#include <vector>

namespace acceltrace::device {

struct CaseResult {
  std::string name;
  double expected_ns = 0;
  double simulated_ns = 0;
  bool counts_equal = true;  // TLPs, wire bytes, bursts, row hits: exact
  double error() const;      // relative, of the time
};

std::vector<CaseResult> RunTransferCases();
std::vector<CaseResult> RunMatmulCases();
std::vector<CaseResult> RunAccessCases();

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_CASES_H_
