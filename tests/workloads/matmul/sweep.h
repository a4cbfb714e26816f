// SPDX-License-Identifier: Apache-2.0
//
// Matmuls of many shapes, timed by the device's clock and checked against the CPU.
#ifndef TESTS_WORKLOADS_MATMUL_SWEEP_H_
#define TESTS_WORKLOADS_MATMUL_SWEEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/base/result.h"

namespace acceltrace::workloads {

struct Shape {
  uint32_t m, n, k;
};

// Parses M x N x K, such as "32x64x128".
Result<Shape> ParseShape(const std::string& text);
// Shapes around the array's size, tall, wide, deep, and single rows.
std::vector<Shape> DefaultShapes();

struct SweepOptions {
  std::vector<Shape> shapes = DefaultShapes();
  uint32_t repeat = 32;  // timed, after as many untimed ones
  bool bf16 = false;     // inputs
  bool transpose_b = false;
  bool scratch = false;  // operands in the scratchpad instead of DRAM
};

struct SweepRow {
  Shape shape;
  double seconds;  // of one matmul; 0 = the driver could not give the time
  double macs_per_s;
  double share_of_peak;
  double max_rel_error;
};

Result<std::vector<SweepRow>> RunSweep(const SweepOptions& options);
bool SweepOk(const std::vector<SweepRow>& rows);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_MATMUL_SWEEP_H_
