// SPDX-License-Identifier: Apache-2.0
//
// The model's weights and prompt, the same for the same seed everywhere.
#ifndef TESTS_WORKLOADS_TRANSFORMER_WEIGHTS_H_
#define TESTS_WORKLOADS_TRANSFORMER_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/workloads/transformer/config.h"

namespace acceltrace::workloads {

// A view on memory of the caller: embedding, layers, final norm, head.
class Weights {
 public:
  static size_t Floats(const Config& config);

  // memory has Floats() elements, which this fills.
  Weights(const Config& config, float* memory);

  const float* embedding() const { return memory_; }  // vocab x dim
  const float* layer(uint32_t i) const { return memory_ + embedding_floats_ + i * layer_floats_; }
  size_t layer_floats() const { return layer_floats_; }
  const float* final_norm() const { return layer(layers_); }  // dim
  const float* head() const { return final_norm() + dim_; }   // dim x vocab

 private:
  float* const memory_;
  const uint32_t layers_;
  const size_t dim_;
  const size_t embedding_floats_;
  const size_t layer_floats_;
};

std::vector<uint32_t> MakePrompt(const Config& config);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_TRANSFORMER_WEIGHTS_H_
