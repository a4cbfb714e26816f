// SPDX-License-Identifier: Apache-2.0
//
// Tiny commands that increment a counter in device memory, which shows how many have run.
#ifndef TESTS_WORKLOADS_OBSERVED_SMALL_H_
#define TESTS_WORKLOADS_OBSERVED_SMALL_H_

#include "tests/workloads/observed/programs.h"
#include "tests/workloads/patterns/bench.h"

namespace acceltrace::workloads {

inline constexpr uint32_t kSmall = 16;

struct Small {
  Bench bench;
  float* x = nullptr;
  axlVector increment = {};

  Status Create() {
    STATUS_TRY(bench.Create());
    STATUS_TRY(bench.Scratch(&x, kSmall));
    increment = Vector(x, nullptr, x, 1, kSmall);
    increment.beta = 1;
    return Status();
  }
  Status Zero() {
    AXL_TRY(axlMemsetD32Async(x, 0, kSmall, bench.stream()));
    AXL_TRY(axlStreamSynchronize(bench.stream()));
    return Status();
  }
  Status Launch() {
    AXL_TRY(axlLaunchVector("increment", axlVecScale, &increment, bench.stream()));
    return Status();
  }
  // `launches` is per repetition.
  Status Measure(Meter* meter, uint32_t launches, const std::function<Status()>& body) {
    STATUS_TRY(meter->Measure([this] { return Zero(); }, body));
    PatternStats stats;
    STATUS_TRY(bench.Check(x, kSmall, static_cast<float>(launches), &stats));
    meter->AddWrong(stats.wrong);
    return Status();
  }
};

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_OBSERVED_SMALL_H_
