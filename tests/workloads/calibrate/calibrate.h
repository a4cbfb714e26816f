// SPDX-License-Identifier: Apache-2.0
//
// Measures the ceilings of an accelerator that programs can reach: the best of several back-to-back
// commands for each resource, timed by the device's clock at its nominal rate.
#ifndef TESTS_WORKLOADS_CALIBRATE_CALIBRATE_H_
#define TESTS_WORKLOADS_CALIBRATE_CALIBRATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/base/result.h"

namespace acceltrace::workloads {

struct CalibrateOptions {
  uint64_t copy_bytes = 4 << 20;     // of a copy, and of each operand in device memory
  uint64_t scratch_bytes = 1 << 20;  // of each operand in the scratchpad; less where it is small
  uint32_t repeat = 4;               // timed commands, after as many untimed
};

struct Ceiling {
  std::string resource;  // memory, scratchpad, or a unit's name in traces: h2d, d2h, matrix, vector
  std::string unit;      // what is counted: bytes, MACs, elements
  double per_s = 0;
  std::string by;  // the command that reached it
};

struct Ceilings {
  std::string device, address;  // axl0, 0000:00:04.0
  std::vector<Ceiling> rows;
};

// Measures the calling thread's device.
Result<Ceilings> MeasureCeilings(const CalibrateOptions& options);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_CALIBRATE_CALIBRATE_H_
