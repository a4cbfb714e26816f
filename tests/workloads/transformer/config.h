// SPDX-License-Identifier: Apache-2.0
//
// The model's shape.
#ifndef TESTS_WORKLOADS_TRANSFORMER_CONFIG_H_
#define TESTS_WORKLOADS_TRANSFORMER_CONFIG_H_

#include <cstddef>
#include <cstdint>

#include "libtrace/base/result.h"

namespace acceltrace::workloads {

inline constexpr float kNormEpsilon = 1e-5f;
inline constexpr float kRopeTheta = 10000.0f;

struct Config {
  uint32_t layers = 4;
  uint32_t dim = 128;
  uint32_t heads = 4;
  uint32_t ffn = 384;
  uint32_t vocab = 256;
  uint32_t prompt = 16;  // tokens given
  uint32_t tokens = 16;  // tokens generated one at a time after the prompt's own next one
  uint32_t seed = 1;

  uint32_t head_dim() const { return dim / heads; }
  // The number of positions that get a key and a value.
  uint32_t max_positions() const { return prompt + tokens; }
  // Forward passes: one for the prompt and one for each decoded token.
  uint32_t steps() const { return 1 + tokens; }

  Status Check() const;
};

// Offsets of a layer's tensors in its block, in floats. Row-major, inputs x outputs.
struct LayerLayout {
  explicit LayerLayout(const Config& config);
  size_t attn_norm, qkv, out, ffn_norm, gate, up, down;
  size_t floats;
};

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_TRANSFORMER_CONFIG_H_
