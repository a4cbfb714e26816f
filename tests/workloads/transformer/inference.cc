// SPDX-License-Identifier: Apache-2.0
//
// Set-up and the order of jobs; layer.cc has the contents of a layer's job.
#include "tests/workloads/transformer/inference.h"

#include <cstring>

namespace acceltrace::workloads {
Inference::Inference(const Config& config, const RunOptions& options)
    : config_(config), options_(options), layout_(config) {
  for (uint32_t i = 0; i < config.layers; ++i) {
    const std::string range = "layer" + std::to_string(i);
    const std::string dot = range + ".";
    names_.push_back(
        {range,
         dot + "attn_norm",
         dot + "q",
         dot + "k",
         dot + "v",
         dot + "rope_q",
         dot + "rope_k",
         dot + "scores",
         dot + "softmax",
         dot + "context",
         dot + "out",
         dot + "ffn_norm",
         dot + "gate",
         dot + "up",
         dot + "silu",
         dot + "down",
         {dot + "load_qkv", dot + "load_out", dot + "load_gate_up", dot + "load_down"}});
  }
}

Result<std::unique_ptr<Inference>> Inference::Create(const Config& config,
                                                     const RunOptions& options) {
  STATUS_TRY(config.Check());
  if (options.tile == 0) return Status::Error("--tile must be at least 1");
  std::unique_ptr<Inference> inference(new Inference(config, options));
  STATUS_TRY(inference->Allocate());
  return inference;
}

// Takes scratchpad if requested and available, else DRAM.
Status Inference::Take(float** pointer, size_t floats, bool on_chip) {
  void** const out = memory_.emplace_back().out();
  const size_t bytes = floats * sizeof(float);
  axlError_t error = on_chip ? axlMallocScratch(out, bytes) : axlErrorOutOfDeviceMemory;
  if (error == axlErrorOutOfDeviceMemory) error = axlMalloc(out, bytes);
  *pointer = static_cast<float*>(*out);
  return ToStatus(error, "allocating device memory");
}

Status Inference::Allocate() {
  axlRange range("allocate");
  const size_t d = config_.dim, v = config_.vocab, p = config_.prompt, f = config_.ffn;
  const size_t positions = config_.max_positions();
  AXL_TRY(axlHostAlloc(host_weights_.out(), Weights::Floats(config_) * sizeof(float)));
  AXL_TRY(axlHostAlloc(host_results_.out(), config_.steps() * (v + 1) * sizeof(float) +
                                                config_.prompt * sizeof(uint32_t)));
  weights_ = std::make_unique<Weights>(config_, static_cast<float*>(host_weights_.get()));

  STATUS_TRY(Take(&embedding_, v * d, false));
  STATUS_TRY(Take(&final_, d + d * v, false));
  STATUS_TRY(Take(&logits_, config_.steps() * v, false));
  STATUS_TRY(Take(&keys_, config_.layers * positions * d, false));
  STATUS_TRY(Take(&values_, config_.layers * positions * d, false));
  float* tokens = nullptr;
  STATUS_TRY(Take(&tokens, positions + 1, false));
  tokens_ = reinterpret_cast<uint32_t*>(tokens);
  for (float** const rows_of_dim : {&x_, &h_, &q_, &k_, &context_})
    STATUS_TRY(Take(rows_of_dim, p * d, true));
  STATUS_TRY(Take(&scores_, config_.heads * p * positions, true));
  STATUS_TRY(Take(&gate_, p * f, true));
  STATUS_TRY(Take(&up_, p * f, true));
  if (options_.stream_weights) {
    for (float*& buffer : buffers_) STATUS_TRY(Take(&buffer, layout_.floats, true));
  } else {
    STATUS_TRY(Take(&resident_, config_.layers * layout_.floats, false));
  }

  AXL_TRY(axlStreamCreate(compute_.out()));
  AXL_TRY(axlStreamCreate(copy_.out()));
  AXL_TRY(axlEventCreate(begin_.out()));
  AXL_TRY(axlEventCreate(end_.out()));
  AXL_TRY(axlEventCreateWithFlags(step_done_.out(), axlEventDisableTiming));
  for (Event& event : fetched_)
    AXL_TRY(axlEventCreateWithFlags(event.out(), axlEventDisableTiming));
  graphs_.resize(config_.steps() * GraphsPerStep() + 1);
  for (GraphBuilder& graph : graphs_) STATUS_TRY(graph.Create());
  return Status();
}

// Positions and hence sizes differ from step to step, so each step has its own graphs; they are
// built beforehand, so that the run only launches them.
Status Inference::Build() {
  if (options_.rebuild_graphs) return Status();
  axlRange range("build");
  for (uint32_t step = 0; step < config_.steps(); ++step) {
    for (uint32_t index = 0; index < GraphsPerStep(); ++index) STATUS_TRY(BuildGraph(step, index));
  }
  return Status();
}

Status Inference::BuildGraph(uint32_t step, uint32_t index) {
  graph_ = &graphs_[step * GraphsPerStep() + index];
  graph_->Clear();
  if (index == HeadIndex()) {
    AddHead(step);
  } else if (index == ReadBackIndex()) {
    AddReadBack(step);
  } else {
    AddLayer(step, index);
  }
  return graph_->status();
}

Status Inference::RunGraph(uint32_t step, uint32_t index, axlStream_t stream) {
  const char* const name = index == HeadIndex()       ? "head"
                           : index == ReadBackIndex() ? "fetch"
                                                      : names_[index].range.c_str();
  axlRange range(name);
  if (options_.rebuild_graphs) STATUS_TRY(BuildGraph(step, index));
  graph_ = &graphs_[step * GraphsPerStep() + index];
  return Launch(stream);
}

float* Inference::WeightsOf(uint64_t layer_run) const {
  if (options_.stream_weights) return buffers_[layer_run % 2];
  return resident_ + layer_run % config_.layers * layout_.floats;
}

Status Inference::Launch(axlStream_t stream) {
  ++stats_.jobs;
  stats_.commands += graph_->nodes();
  return graph_->Launch(stream);
}

// Uploads everything that the first layer needs, as one job.
Status Inference::Upload(const std::vector<uint32_t>& prompt) {
  axlRange range("upload");
  const size_t d = config_.dim, v = config_.vocab;
  auto* const ids = reinterpret_cast<uint32_t*>(static_cast<float*>(host_results_.get()) +
                                                config_.steps() * (v + 1));
  std::memcpy(ids, prompt.data(), prompt.size() * sizeof(uint32_t));
  graph_ = &graphs_.back();
  graph_->Clear();
  const auto copy = [&](const char* op, void* to, const void* from, size_t bytes) {
    graph_->Copy(op, to, from, bytes, axlMemcpyHostToDevice, {});
  };
  copy("load_prompt", tokens_, ids, prompt.size() * sizeof(uint32_t));
  copy("load_embedding", embedding_, weights_->embedding(), v * d * sizeof(float));
  copy("load_head", final_, weights_->final_norm(), (d + d * v) * sizeof(float));
  if (options_.stream_weights) {
    AddWeightCopies(0, buffers_[0]);
  } else {
    for (uint32_t i = 0; i < config_.layers; ++i) AddWeightCopies(i, WeightsOf(i));
  }
  return Launch(compute_.get());
}

Status Inference::Step(uint32_t step) {
  const std::string name = step ? "decode " + std::to_string(step) : "prefill";
  axlRange range(name.c_str());
  for (uint32_t index = 0; index <= HeadIndex(); ++index)
    STATUS_TRY(RunGraph(step, index, compute_.get()));
  return FetchResults(step);
}

// Tokens and logits are copied back on another stream while the next step computes.
Status Inference::FetchResults(uint32_t step) {
  AXL_TRY(axlEventRecord(step_done_.get(), compute_.get()));
  AXL_TRY(axlStreamWaitEvent(copy_.get(), step_done_.get()));
  STATUS_TRY(RunGraph(step, ReadBackIndex(), copy_.get()));
  AXL_TRY(axlEventRecord(fetched_[step % 2].get(), copy_.get()));
  return Status();
}

Result<Generation> Inference::Run(const std::vector<uint32_t>& prompt) {
  axlRange range("inference");
  STATUS_TRY(Build());
  SleepUntilStart();
  stats_.region.Begin();
  STATUS_TRY(Upload(prompt));
  AXL_TRY(axlEventRecord(begin_.get(), compute_.get()));
  for (uint32_t step = 0; step < config_.steps(); ++step) {
    STATUS_TRY(Step(step));
    // One step ahead: the device continues while the host takes the previous token.
    if (options_.sync_each_step)
      AXL_TRY(axlEventSynchronize(fetched_[step % 2].get()));
    else if (step > 0)
      AXL_TRY(axlEventSynchronize(fetched_[(step - 1) % 2].get()));
    axlMark("token");
  }
  AXL_TRY(axlEventRecord(end_.get(), compute_.get()));
  AXL_TRY(axlEventSynchronize(end_.get()));
  AXL_TRY(axlDeviceSynchronize());
  stats_.jobs += 2;
  stats_.commands += 2;
  stats_.region.End();
  float device_ms;
  if (axlEventElapsedTime(&device_ms, begin_.get(), end_.get()) == axlSuccess)
    stats_.device_ms = device_ms;

  const float* const results = static_cast<const float*>(host_results_.get());
  const size_t floats = config_.steps() * static_cast<size_t>(config_.vocab);
  Generation generation;
  generation.logits.assign(results, results + floats);
  generation.tokens.resize(config_.steps());
  std::memcpy(generation.tokens.data(), results + floats, config_.steps() * sizeof(uint32_t));
  return generation;
}

}  // namespace acceltrace::workloads
