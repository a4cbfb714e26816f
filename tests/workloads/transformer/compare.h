// SPDX-License-Identifier: Apache-2.0
//
// Compares the device with the reference.
#ifndef TESTS_WORKLOADS_TRANSFORMER_COMPARE_H_
#define TESTS_WORKLOADS_TRANSFORMER_COMPARE_H_

#include <cstdint>

#include "tests/workloads/transformer/reference.h"

namespace acceltrace::workloads {

// Sums of a few hundred float32 products in another order differ by some 1e-6.
inline constexpr double kTolerance = 1e-4;

struct Comparison {
  uint32_t steps = 0;
  uint32_t equal_tokens = 0;
  // The error of the logits, up to the first step whose token differs, since later steps have
  // different inputs.
  double max_abs_error = 0;
  double max_rel_error = 0;  // against the largest logit of the step
  bool ok() const { return steps > 0 && equal_tokens == steps && max_rel_error <= kTolerance; }
};

Comparison Compare(const Generation& device, const Generation& reference, uint32_t vocab);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_TRANSFORMER_COMPARE_H_
