// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/transformer/weights.h"

#include <bit>
#include <cmath>

namespace acceltrace::workloads {
namespace {

// xorshift32: a few instructions per number, since guests are slow.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435761u + 0x9e3779b9u) {
    if (!state_) state_ = 1;
  }
  uint32_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  // In [-1, 1): the mantissa of a float in [2, 4), less 3.
  float Uniform() { return std::bit_cast<float>(0x40000000u | Next() >> 9) - 3.0f; }

 private:
  uint32_t state_;
};

void Fill(Random& random, float* memory, size_t floats, float offset, float scale) {
  for (size_t i = 0; i < floats; ++i) memory[i] = offset + scale * random.Uniform();
}

// Keeps the variance of the signal: uniform numbers have variance 1/3.
float Scale(uint32_t inputs) { return std::sqrt(3.0f / static_cast<float>(inputs)); }

}  // namespace

size_t Weights::Floats(const Config& config) {
  const size_t d = config.dim, v = config.vocab;
  return v * d + config.layers * LayerLayout(config).floats + d + d * v;
}

Weights::Weights(const Config& config, float* memory)
    : memory_(memory),
      layers_(config.layers),
      dim_(config.dim),
      embedding_floats_(static_cast<size_t>(config.vocab) * config.dim),
      layer_floats_(LayerLayout(config).floats) {
  const LayerLayout at(config);
  const size_t d = config.dim, f = config.ffn;
  Random random(config.seed);
  float* next = memory;
  Fill(random, next, embedding_floats_, 0, std::sqrt(3.0f));
  next += embedding_floats_;
  // A block's contribution to the residual is kept small, as training would.
  const float residual = 1 / std::sqrt(2.0f * static_cast<float>(config.layers));
  for (uint32_t i = 0; i < config.layers; ++i, next += layer_floats_) {
    Fill(random, next + at.attn_norm, d, 1, 0.1f);
    Fill(random, next + at.qkv, d * 3 * d, 0, Scale(config.dim));
    Fill(random, next + at.out, d * d, 0, residual * Scale(config.dim));
    Fill(random, next + at.ffn_norm, d, 1, 0.1f);
    Fill(random, next + at.gate, d * f, 0, Scale(config.dim));
    Fill(random, next + at.up, d * f, 0, Scale(config.dim));
    Fill(random, next + at.down, f * d, 0, residual * Scale(config.ffn));
  }
  Fill(random, next, d, 1, 0.1f);
  Fill(random, next + d, d * config.vocab, 0, Scale(config.dim));
}

std::vector<uint32_t> MakePrompt(const Config& config) {
  Random random(config.seed ^ 0x70726f6d);
  std::vector<uint32_t> prompt(config.prompt);
  for (uint32_t& token : prompt) token = random.Next() % config.vocab;
  return prompt;
}

}  // namespace acceltrace::workloads
