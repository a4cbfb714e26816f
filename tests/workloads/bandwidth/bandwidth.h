// SPDX-License-Identifier: Apache-2.0
//
// Copies of many sizes in both directions, timed by the device's clock and checked.
#ifndef TESTS_WORKLOADS_BANDWIDTH_BANDWIDTH_H_
#define TESTS_WORKLOADS_BANDWIDTH_BANDWIDTH_H_

#include <cstdint>
#include <vector>

#include "libtrace/base/result.h"

namespace acceltrace::workloads {

struct BandwidthOptions {
  uint64_t min_bytes = 4096;
  uint64_t max_bytes = 4 << 20;
  uint32_t repeat = 8;  // timed copies of a size in sequence, after as many untimed ones
  bool both = true;     // also both directions at once
};

// Bytes per second; 0 = the driver did not provide the time.
struct BandwidthRow {
  uint64_t bytes;
  double to_device, from_device, both;
};

struct BandwidthResult {
  std::vector<BandwidthRow> rows;
  uint64_t wrong_bytes = 0;
};

Result<BandwidthResult> MeasureBandwidth(const BandwidthOptions& options);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_BANDWIDTH_BANDWIDTH_H_
