// SPDX-License-Identifier: Apache-2.0
//
// Compares the model with closed form: 40 transfers, 40 matmul shapes and 40 access
// patterns, each run alone and compared with expect.h, on the device through qtest
// (on_device.h, also for the benchmark) and on the timing model without QEMU
// (qemu-device/timing/tests).
//
#ifndef QEMU_DEVICE_TESTS_CASES_H_
#define QEMU_DEVICE_TESTS_CASES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kmod/uapi/axl_hw.h"

namespace acceltrace::device {

struct CaseResult {
  std::string name;
  double expected_ns = 0;
  double simulated_ns = 0;
  bool counts_equal = true;  // TLPs, wire bytes, bursts, row hits: exact
  double error() const;      // relative, of the time
};

// An idle accelerator that runs single commands.
class Bench {
 public:
  struct Outcome {
    double ns = 0;      // from start to end
    uint64_t work = 0;  // TLPs of a copy
    uint64_t row_hits = 0, row_misses = 0, row_conflicts = 0;
    uint64_t dram_bytes = 0, useful_bytes = 0;
  };
  virtual ~Bench() = default;
  virtual bool Set(const std::string& property, int64_t value) = 0;
  virtual uint64_t HostMemory(uint64_t bytes) = 0;  // an address, aligned to 4 KiB
  virtual Outcome Run(axl_desc d) = 0;
};
// The properties are as on QEMU's command line, each preceded by a comma.
using MakeBench = std::function<std::unique_ptr<Bench>(const std::string& properties)>;

std::vector<CaseResult> RunTransferCases(const MakeBench& make);
std::vector<CaseResult> RunMatmulCases(const MakeBench& make);
std::vector<CaseResult> RunAccessCases(const MakeBench& make);

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_CASES_H_
