// SPDX-License-Identifier: Apache-2.0
//
// The same model on the CPU, one position at a time, in plain loops. It only shares the weights
// with the device version.
#ifndef TESTS_WORKLOADS_TRANSFORMER_REFERENCE_H_
#define TESTS_WORKLOADS_TRANSFORMER_REFERENCE_H_

#include <cstdint>
#include <vector>

#include "tests/workloads/transformer/config.h"
#include "tests/workloads/transformer/weights.h"

namespace acceltrace::workloads {

// The result of an inference: by step, the chosen token and the scores.
struct Generation {
  std::vector<uint32_t> tokens;  // one for each step
  std::vector<float> logits;     // steps x vocab
};

Generation RunReference(const Config& config, const Weights& weights,
                        const std::vector<uint32_t>& prompt);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_TRANSFORMER_REFERENCE_H_
