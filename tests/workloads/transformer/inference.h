// SPDX-License-Identifier: Apache-2.0
//
// The model on the accelerator. Each layer of each step is one graph, hence one job: its matmuls
// run in tiles of columns on the matrix engine, the rest on the vector engine, and meanwhile the
// next layer's weights arrive by DMA in the other of two buffers. A second stream copies tokens and
// logits back while the next step runs.
#ifndef TESTS_WORKLOADS_TRANSFORMER_INFERENCE_H_
#define TESTS_WORKLOADS_TRANSFORMER_INFERENCE_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/base/result.h"
#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/common/region.h"
#include "tests/workloads/transformer/config.h"
#include "tests/workloads/transformer/reference.h"
#include "tests/workloads/transformer/weights.h"

namespace acceltrace::workloads {

struct RunOptions {
  bool stream_weights = true;   // false: all weights stay in device memory
  bool sync_each_step = false;  // true: wait for each token before submitting the next step
  bool rebuild_graphs = false;  // true: build each graph when it is needed, not beforehand
  uint32_t tile = 192;          // columns of a matmul command
};

struct RunStats {
  uint64_t jobs = 0;
  uint64_t commands = 0;  // without the joins that libaxl adds
  Region region;          // from the first submission to the last token
  double device_ms = -1;  // by the device's clock; negative = the driver cannot say
  bool weights_on_chip = false;
};

class Inference {
 public:
  static Result<std::unique_ptr<Inference>> Create(const Config& config, const RunOptions& options);

  const Weights& weights() const { return *weights_; }
  Result<Generation> Run(const std::vector<uint32_t>& prompt);
  const RunStats& stats() const { return stats_; }

 private:
  using Deps = GraphBuilder::Deps;
  struct LayerNames {
    std::string range, attn_norm, q, k, v, rope_q, rope_k, scores, softmax, context, out, ffn_norm,
        gate, up, silu, down;
    std::array<std::string, 4> copies;
  };
  // A layer's weights in device memory.
  struct Block {
    const float *attn_norm, *qkv, *out, *ffn_norm, *gate, *up, *down;
  };

  Inference(const Config& config, const RunOptions& options);
  Status Allocate();
  Status Take(float** pointer, size_t floats, bool on_chip);
  Status Build();
  Status Upload(const std::vector<uint32_t>& prompt);
  Status Step(uint32_t step);
  // A step's graphs: its layers, the head, the read-back.
  Status RunGraph(uint32_t step, uint32_t index, axlStream_t stream);
  Status BuildGraph(uint32_t step, uint32_t index);
  Status FetchResults(uint32_t step);
  Status Launch(axlStream_t stream);

  void AddLayer(uint32_t step, uint32_t layer);
  void AddHead(uint32_t step);
  void AddReadBack(uint32_t step);
  void AddWeightCopies(uint32_t layer, float* to);
  Deps AddAttention(uint32_t layer, const Block& w, uint32_t first, uint32_t rows,
                    const Deps& start);
  Deps AddSoftmax(const std::string& op, uint32_t first, uint32_t rows, const Deps& deps);
  void AddFeedForward(uint32_t layer, const Block& w, uint32_t rows, const Deps& start);
  Deps AddTiles(const std::string& op, axlMatmul args, const Deps& deps);
  Block BlockAt(const float* memory) const;

  uint32_t GraphsPerStep() const { return config_.layers + 2; }
  uint32_t HeadIndex() const { return config_.layers; }
  uint32_t ReadBackIndex() const { return config_.layers + 1; }
  uint32_t FirstOf(uint32_t step) const { return step ? config_.prompt + step - 1 : 0; }
  uint32_t RowsOf(uint32_t step) const { return step ? 1 : config_.prompt; }
  float* WeightsOf(uint64_t layer_run) const;

  const Config config_;
  const RunOptions options_;
  const LayerLayout layout_;
  std::vector<LayerNames> names_;
  RunStats stats_;

  HostMemory host_weights_, host_results_;
  std::unique_ptr<Weights> weights_;
  std::vector<DeviceMemory> memory_;
  // Device pointers. Activations have a row for each position of a step.
  float *embedding_ = nullptr, *final_ = nullptr, *logits_ = nullptr, *keys_ = nullptr,
        *values_ = nullptr;
  uint32_t* tokens_ = nullptr;  // by position
  float *x_ = nullptr, *h_ = nullptr, *q_ = nullptr, *k_ = nullptr, *scores_ = nullptr,
        *context_ = nullptr, *gate_ = nullptr, *up_ = nullptr;
  std::array<float*, 2> buffers_ = {};  // for streamed weights
  float* resident_ = nullptr;           // all layers, if not streamed

  Stream compute_, copy_;
  Event step_done_, begin_, end_;
  std::array<Event, 2> fetched_;
  std::vector<GraphBuilder> graphs_;  // by step and index; the last one is the upload
  GraphBuilder* graph_ = nullptr;     // under construction, or just built
};

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_TRANSFORMER_INFERENCE_H_
