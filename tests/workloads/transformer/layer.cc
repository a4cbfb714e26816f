// SPDX-License-Identifier: Apache-2.0
//
// The contents of the graphs: a layer, the head, the read-back.
#include <algorithm>
#include <cmath>

#include "tests/workloads/transformer/inference.h"

namespace acceltrace::workloads {
namespace {

axlMatmul Mm(const float* a, const float* b, float* c, uint32_t m, uint32_t n, uint32_t k) {
  axlMatmul mm = {};
  mm.a = a;
  mm.b = b;
  mm.c = c;
  mm.m = m;
  mm.n = n;
  mm.k = k;
  mm.lda = k;
  mm.ldb = n;
  mm.ldc = n;
  mm.batch = 1;
  mm.alpha = 1;
  return mm;
}

axlVector Vec(const void* src0, const void* src1, float* dst, uint32_t rows, uint32_t cols) {
  axlVector vec = {};
  vec.src0 = src0;
  vec.src1 = src1;
  vec.dst = dst;
  vec.rows = rows;
  vec.cols = cols;
  return vec;
}

}  // namespace

Inference::Block Inference::BlockAt(const float* memory) const {
  return {memory + layout_.attn_norm, memory + layout_.qkv,  memory + layout_.out,
          memory + layout_.ffn_norm,  memory + layout_.gate, memory + layout_.up,
          memory + layout_.down};
}

// In the order of their use. They depend on nothing in their job, since earlier work in the stream
// no longer uses the buffer.
void Inference::AddWeightCopies(uint32_t layer, float* to) {
  const size_t begins[] = {layout_.attn_norm, layout_.out, layout_.gate, layout_.down,
                           layout_.floats};
  for (size_t i = 0; i < 4; ++i)
    graph_->Copy(names_[layer].copies[i], to + begins[i], weights_->layer(layer) + begins[i],
                 (begins[i + 1] - begins[i]) * sizeof(float), axlMemcpyHostToDevice, {});
}

// One command for each `tile` columns of the result.
GraphBuilder::Deps Inference::AddTiles(const std::string& op, axlMatmul args, const Deps& deps) {
  Deps nodes;
  const uint32_t columns = args.n;
  const float* const b = static_cast<const float*>(args.b);
  float* const c = static_cast<float*>(args.c);
  for (uint32_t at = 0; at < columns; at += options_.tile) {
    args.n = std::min(options_.tile, columns - at);
    args.b = b + at;
    args.c = c + at;
    nodes.push_back(graph_->Matmul(op, args, deps));
  }
  return nodes;
}

// Rows of one head are consecutive, so the causal mask needs one command per head; a single row
// sees all positions and needs no mask.
GraphBuilder::Deps Inference::AddSoftmax(const std::string& op, uint32_t first, uint32_t rows,
                                         const Deps& deps) {
  const uint32_t stride = config_.max_positions();
  const uint32_t heads = rows == 1 ? 1 : config_.heads;
  Deps nodes;
  for (uint32_t head = 0; head < heads; ++head) {
    float* const scores = scores_ + static_cast<size_t>(head) * rows * stride;
    axlVector vec = Vec(scores, nullptr, scores, rows == 1 ? config_.heads : rows, first + rows);
    vec.src0Stride = vec.dstStride = stride;
    vec.alpha = 1;
    if (rows > 1) {
      vec.flags = axlVecCausal;
      vec.arg0 = first;
    }
    nodes.push_back(graph_->Vector(op, axlVecSoftmax, vec, deps));
  }
  return nodes;
}

GraphBuilder::Deps Inference::AddAttention(uint32_t layer, const Block& w, uint32_t first,
                                           uint32_t rows, const Deps& start) {
  const LayerNames& name = names_[layer];
  const uint32_t d = config_.dim, hd = config_.head_dim(), positions = config_.max_positions();
  float* const keys = keys_ + static_cast<size_t>(layer) * positions * d;
  float* const values = values_ + static_cast<size_t>(layer) * positions * d;

  axlVector norm = Vec(x_, w.attn_norm, h_, rows, d);
  norm.alpha = kNormEpsilon;
  const Deps normed = {graph_->Vector(name.attn_norm, axlVecRmsNorm, norm, start)};

  // Values are copied to the cache unchanged; keys and queries are rotated first.
  axlMatmul mm = Mm(h_, w.qkv, q_, rows, d, d);
  mm.ldb = 3 * d;
  const Deps q = AddTiles(name.q, mm, normed);
  mm.b = w.qkv + d;
  mm.c = k_;
  const Deps k = AddTiles(name.k, mm, normed);
  mm.b = w.qkv + 2 * d;
  mm.c = values + static_cast<size_t>(first) * d;
  Deps v = AddTiles(name.v, mm, normed);
  axlVector rope = Vec(q_, nullptr, q_, rows, d);
  rope.alpha = kRopeTheta;
  rope.arg0 = first;
  rope.arg1 = hd;
  const axlNode rope_q = graph_->Vector(name.rope_q, axlVecRope, rope, q);
  rope.src0 = k_;
  rope.dst = keys + static_cast<size_t>(first) * d;
  const axlNode rope_k = graph_->Vector(name.rope_k, axlVecRope, rope, k);

  // All heads in one command: head h is columns h * hd and up.
  const uint32_t seen = first + rows;
  axlMatmul scores = Mm(q_, keys, scores_, rows, seen, hd);
  scores.lda = scores.ldb = d;
  scores.ldc = positions;
  scores.batch = config_.heads;
  scores.batchStrideA = scores.batchStrideB = hd;
  scores.batchStrideC = rows * positions;
  scores.alpha = 1 / std::sqrt(static_cast<float>(hd));
  scores.flags = axlMatmulTransposeB;
  const axlNode scored = graph_->Matmul(name.scores, scores, {rope_q, rope_k});
  Deps ready = AddSoftmax(name.softmax, first, rows, {scored});
  ready.insert(ready.end(), v.begin(), v.end());

  axlMatmul mix = Mm(scores_, values, context_, rows, hd, seen);
  mix.lda = positions;
  mix.ldb = mix.ldc = d;
  mix.batch = config_.heads;
  mix.batchStrideA = rows * positions;
  mix.batchStrideB = mix.batchStrideC = hd;
  const axlNode mixed = graph_->Matmul(name.context, mix, ready);
  axlMatmul out = Mm(context_, w.out, x_, rows, d, d);
  out.flags = axlMatmulAccumulate;
  return AddTiles(name.out, out, {mixed});
}

// In tiles of the hidden columns: while the vector engine computes one tile's activation, the
// matrix engine computes the next one's products.
void Inference::AddFeedForward(uint32_t layer, const Block& w, uint32_t rows, const Deps& start) {
  const LayerNames& name = names_[layer];
  const uint32_t d = config_.dim, f = config_.ffn;
  axlVector norm = Vec(x_, w.ffn_norm, h_, rows, d);
  norm.alpha = kNormEpsilon;
  const Deps normed = {graph_->Vector(name.ffn_norm, axlVecRmsNorm, norm, start)};

  std::vector<axlNode> active;
  for (uint32_t at = 0; at < f; at += options_.tile) {
    const uint32_t columns = std::min(options_.tile, f - at);
    axlMatmul mm = Mm(h_, w.gate + at, gate_ + at, rows, columns, d);
    mm.ldb = mm.ldc = f;
    const axlNode gate = graph_->Matmul(name.gate, mm, normed);
    mm.b = w.up + at;
    mm.c = up_ + at;
    const axlNode up = graph_->Matmul(name.up, mm, normed);
    axlVector silu = Vec(gate_ + at, up_ + at, gate_ + at, rows, columns);
    silu.src0Stride = silu.src1Stride = silu.dstStride = f;
    active.push_back(graph_->Vector(name.silu, axlVecSiluMul, silu, {gate, up}));
  }
  for (uint32_t at = 0, i = 0; at < f; at += options_.tile, ++i) {
    axlMatmul down = Mm(gate_ + at, w.down + static_cast<size_t>(at) * d, x_, rows, d,
                        std::min(options_.tile, f - at));
    down.lda = f;
    down.flags = axlMatmulAccumulate;
    AddTiles(name.down, down, {active[i]});
  }
}

void Inference::AddLayer(uint32_t step, uint32_t layer) {
  const uint32_t first = FirstOf(step), rows = RowsOf(step);
  const uint64_t run = static_cast<uint64_t>(step) * config_.layers + layer;
  const bool last = run + 1 == static_cast<uint64_t>(config_.steps()) * config_.layers;
  if (options_.stream_weights && !last)
    AddWeightCopies((layer + 1) % config_.layers, WeightsOf(run + 1));
  Deps start;
  if (layer == 0) {
    axlVector gather = Vec(tokens_ + first, embedding_, x_, rows, config_.dim);
    gather.arg0 = config_.vocab;
    start.push_back(graph_->Vector("embed", axlVecGather, gather, {}));
  }
  const Block w = BlockAt(WeightsOf(run));
  const Deps attended = AddAttention(layer, w, first, rows, start);
  AddFeedForward(layer, w, rows, attended);
}

// Only the token of the last position is needed.
void Inference::AddHead(uint32_t step) {
  const uint32_t d = config_.dim, v = config_.vocab, rows = RowsOf(step);
  float* const logits = logits_ + static_cast<size_t>(step) * v;
  axlVector norm = Vec(x_ + static_cast<size_t>(rows - 1) * d, final_, h_, 1, d);
  norm.alpha = kNormEpsilon;
  const axlNode normed = graph_->Vector("final_norm", axlVecRmsNorm, norm, {});
  axlMatmul mm = Mm(h_, final_ + d, logits, 1, v, d);
  const Deps scored = AddTiles("logits", mm, {normed});
  axlVector argmax = Vec(logits, nullptr, nullptr, 1, v);
  argmax.dst = tokens_ + FirstOf(step) + rows;
  graph_->Vector("argmax", axlVecArgmax, argmax, scored);
}

void Inference::AddReadBack(uint32_t step) {
  const size_t v = config_.vocab;
  float* const logits = static_cast<float*>(host_results_.get());
  float* const tokens = logits + config_.steps() * v;
  graph_->Copy("fetch_token", tokens + step, tokens_ + FirstOf(step) + RowsOf(step),
               sizeof(uint32_t), axlMemcpyDeviceToHost, {});
  graph_->Copy("fetch_logits", logits + step * v, logits_ + step * v, v * sizeof(float),
               axlMemcpyDeviceToHost, {});
}

}  // namespace acceltrace::workloads
