// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/transformer/reference.h"

#include <algorithm>
#include <cmath>

namespace acceltrace::workloads {
namespace {

using Row = std::vector<float>;

Row Norm(const Row& x, const float* gain) {
  float sum = 0;
  for (const float value : x) sum += value * value;
  const float scale = 1 / std::sqrt(sum / static_cast<float>(x.size()) + kNormEpsilon);
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * gain[i];
  return y;
}

// y = x * w, w row-major with x.size() rows of `cols`.
Row Times(const Row& x, const float* w, size_t cols) {
  Row y(cols);
  float* const out = y.data();
  for (size_t k = 0; k < x.size(); ++k) {
    const float scale = x[k];
    const float* const row = w + k * cols;
    for (size_t c = 0; c < cols; ++c) out[c] += scale * row[c];
  }
  return y;
}

void Add(Row* x, const Row& y) {
  for (size_t i = 0; i < y.size(); ++i) (*x)[i] += y[i];
}

class Model {
 public:
  Model(const Config& config, const Weights& weights)
      : config_(config),
        weights_(weights),
        at_(config),
        keys_(config.layers),
        values_(config.layers) {
    for (uint32_t i = 0; i < config.head_dim() / 2; ++i)
      turn_.push_back(std::pow(static_cast<double>(kRopeTheta),
                               -2.0 * static_cast<double>(i) / config.head_dim()));
  }

  // The hidden state after position number `position`, which holds `token`.
  Row Step(uint32_t token, uint32_t position) {
    const float* const embedding = weights_.embedding() + static_cast<size_t>(token) * config_.dim;
    Row x(embedding, embedding + config_.dim);
    for (uint32_t layer = 0; layer < config_.layers; ++layer) {
      const float* const w = weights_.layer(layer);
      Add(&x, Attention(layer, w, Norm(x, w + at_.attn_norm), position));
      const Row h = Norm(x, w + at_.ffn_norm);
      Row gate = Times(h, w + at_.gate, config_.ffn);
      const Row up = Times(h, w + at_.up, config_.ffn);
      for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
      Add(&x, Times(gate, w + at_.down, config_.dim));
    }
    return x;
  }

  Row Logits(const Row& x) const {
    return Times(Norm(x, weights_.final_norm()), weights_.head(), config_.vocab);
  }

 private:
  Row Attention(uint32_t layer, const float* w, const Row& h, uint32_t position) {
    const size_t d = config_.dim, hd = config_.head_dim();
    const Row qkv = Times(h, w + at_.qkv, 3 * d);
    Row q(qkv.begin(), qkv.begin() + static_cast<long>(d));
    Row k(qkv.begin() + static_cast<long>(d), qkv.begin() + static_cast<long>(2 * d));
    Rotate(&q, position);
    Rotate(&k, position);
    keys_[layer].push_back(std::move(k));
    values_[layer].emplace_back(qkv.begin() + static_cast<long>(2 * d), qkv.end());
    Row mixed(d);
    Row score(position + 1);
    for (size_t head = 0; head < d; head += hd) {
      for (uint32_t p = 0; p <= position; ++p) {
        float dot = 0;
        for (size_t i = 0; i < hd; ++i) dot += q[head + i] * keys_[layer][p][head + i];
        score[p] = dot / std::sqrt(static_cast<float>(hd));
      }
      const float max = *std::max_element(score.begin(), score.end());
      float sum = 0;
      for (float& s : score) sum += s = std::exp(s - max);
      for (uint32_t p = 0; p <= position; ++p) {
        for (size_t i = 0; i < hd; ++i)
          mixed[head + i] += score[p] / sum * values_[layer][p][head + i];
      }
    }
    return Times(mixed, w + at_.out, d);
  }

  void Rotate(Row* x, uint32_t position) const {
    const size_t hd = config_.head_dim();
    for (size_t i = 0; i < hd / 2; ++i) {
      const double angle = position * turn_[i];
      const float s = static_cast<float>(std::sin(angle)), c = static_cast<float>(std::cos(angle));
      for (size_t at = 2 * i; at < x->size(); at += hd) {
        const float a = (*x)[at], b = (*x)[at + 1];
        (*x)[at] = a * c - b * s;
        (*x)[at + 1] = a * s + b * c;
      }
    }
  }

  const Config& config_;
  const Weights& weights_;
  const LayerLayout at_;
  std::vector<double> turn_;
  std::vector<std::vector<Row>> keys_, values_;  // by layer, by position
};

}  // namespace

Generation RunReference(const Config& config, const Weights& weights,
                        const std::vector<uint32_t>& prompt) {
  Model model(config, weights);
  Generation result;
  Row x;
  for (uint32_t p = 0; p < prompt.size(); ++p) x = model.Step(prompt[p], p);
  for (uint32_t step = 0; step < config.steps(); ++step) {
    if (step > 0) x = model.Step(result.tokens.back(), config.prompt + step - 1);
    const Row logits = model.Logits(x);
    result.logits.insert(result.logits.end(), logits.begin(), logits.end());
    result.tokens.push_back(
        static_cast<uint32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
  }
  return result;
}

}  // namespace acceltrace::workloads
