// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/synth/synth.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/patterns/bench.h"
#include "tests/workloads/synth/submit_knob.h"

namespace acceltrace::workloads {
namespace {

constexpr uint32_t kSide = 128, kCols = 1024, kVectorRows = 32, kDramRows = 16;
constexpr uint32_t kStrided = 128, kStride = 32768, kStridedCols = 16;
constexpr size_t kCopyBytes = 64 << 10;
// The duration of one command of each part with the device's default properties; for the host's
// parts, that of one iteration under icount.
constexpr double kCommandUs[kNumParts] = {2.3, 6.6,  6.3,  6.3, 1.0, 5.3, 5.3,
                                          0.8, 0.45, 0.39, 0,   4,   6};

uint32_t Times(double us, Part part) {
  return us <= 0 ? 0 : std::max<uint32_t>(1, static_cast<uint32_t>(us / kCommandUs[part] + 0.5));
}

class Program {
 public:
  explicit Program(const SynthOptions& options) : options_(options), submit_(options.submit_cost) {}

  Status Create() {
    AXL_TRY(axlSetDevice(options_.device));
    STATUS_TRY(Memory());
    for (int p = 0; p < kHostPart; ++p) {
      const uint32_t times = Times(options_.us[p], static_cast<Part>(p));
      if (times == 0) continue;
      if (graphs_.empty() || options_.overlap) {
        graphs_.push_back(std::make_unique<GraphBuilder>());
        STATUS_TRY(graphs_.back()->Create());
        AXL_TRY(axlStreamCreate(streams_.emplace_back().out()));
        any_ = false;
      }
      for (uint32_t i = 0; i < times; ++i) Add(static_cast<Part>(p), graphs_.back().get());
      STATUS_TRY(graphs_.back()->status());
    }
    if (streams_.empty()) AXL_TRY(axlStreamCreate(streams_.emplace_back().out()));
    return Status();
  }

  Status Run(Region* region) {
    SleepUntilStart();
    region->Begin();
    for (uint32_t round = 0; round < options_.rounds; ++round) {
      STATUS_TRY(Round());
      if (options_.sync_every > 0 && (round + 1) % options_.sync_every == 0) {
        STATUS_TRY(WaitForAll());
      }
    }
    STATUS_TRY(WaitForAll());
    region->End();
    return Status();
  }

 private:
  Status Memory() {
    const auto scratch = [this](float** pointer, size_t floats) {
      AXL_TRY(axlMallocScratch(memory_.emplace_back().out(), floats * sizeof(float)));
      *pointer = static_cast<float*>(memory_.back().get());
      return Status();
    };
    const auto dram = [this](float** pointer, size_t floats) {
      AXL_TRY(axlMalloc(memory_.emplace_back().out(), floats * sizeof(float)));
      *pointer = static_cast<float*>(memory_.back().get());
      return Status();
    };
    for (float*& matrix : square_) STATUS_TRY(scratch(&matrix, kSide * kSide));
    for (float*& vector : vector_) STATUS_TRY(scratch(&vector, kVectorRows * kCols));
    STATUS_TRY(scratch(&small_, kStrided * kStridedCols));
    for (float*& vector : dram_) STATUS_TRY(dram(&vector, kDramRows * kCols));
    for (float*& copied : copied_) STATUS_TRY(dram(&copied, kCopyBytes / sizeof(float)));
    if (options_.us[kRowsPart] > 0) STATUS_TRY(dram(&strided_, size_t{kStrided} * kStride));
    for (void*& host : host_) {
      AXL_TRY(axlHostAlloc(host_memory_.emplace_back().out(), kCopyBytes));
      host = host_memory_.back().get();
    }
    tiny_ = Vector(small_, nullptr, small_, 1, 16);
    return Status();
  }

  void Add(Part part, GraphBuilder* graph) {
    const auto after = any_ ? std::vector{last_} : std::vector<axlNode>();
    any_ = true;
    switch (part) {
      case kMatrixPart:
        last_ = graph->Matmul("matrix", Square(square_[0], square_[1], square_[2], kSide), after);
        return;
      case kVectorPart:
        last_ = graph->Vector("vector", axlVecSoftmax,
                              Vector(vector_[0], nullptr, vector_[1], kVectorRows, kCols), after);
        return;
      case kDramPart:
        last_ = graph->Vector("dram", axlVecAdd,
                              Vector(dram_[0], dram_[1], dram_[2], kDramRows, kCols), after);
        return;
      case kRowsPart: {
        axlVector rows = Vector(strided_, nullptr, small_, kStrided, kStridedCols);
        rows.src0Stride = kStride;
        last_ = graph->Vector("rows", axlVecCopy, rows, after);
        return;
      }
      case kScratchPart:
        last_ = graph->Vector("scratch", axlVecAdd,
                              Vector(vector_[0], vector_[1], vector_[2], 16, kCols), after);
        return;
      case kCopyInPart:
        last_ =
            graph->Copy("copy_in", copied_[0], host_[0], kCopyBytes, axlMemcpyHostToDevice, after);
        return;
      case kCopyOutPart:
        last_ =
            graph->Copy("copy_out", host_[1], copied_[1], kCopyBytes, axlMemcpyDeviceToHost, after);
        return;
      case kLatencyPart:
        last_ = graph->Copy("latency", small_, host_[2], 64, axlMemcpyHostToDevice, after);
        return;
      case kFirstPart:
        last_ = graph->Vector("dram-latency", axlVecCopy,
                              Vector(dram_[0], nullptr, dram_[2], 1, 16), after);
        return;
      default:
        last_ = graph->Vector("dispatch", axlVecScale, tiny_, after);
        return;
    }
  }

  Status Round() {
    submit_.BeginRound();
    for (size_t g = 0; g < graphs_.size(); ++g) {
      axlStream_t to = streams_[options_.overlap ? g : 0].get();
      STATUS_TRY(submit_.Submit([&] { return graphs_[g]->Launch(to); }));
    }
    if (options_.us[kHostPart] > 0) Think(options_.us[kHostPart]);
    axlStream_t stream = streams_.front().get();
    for (uint32_t i = Times(options_.us[kSubmitPart], kSubmitPart); i > 0; --i) {
      AXL_TRY(Small("submit", stream));
    }
    for (uint32_t i = Times(options_.us[kSyncPart], kSyncPart); i > 0; --i) {
      AXL_TRY(Small("sync", stream));
      AXL_TRY(options_.poll ? Poll(stream) : axlStreamSynchronize(stream));
    }
    return Status();
  }

  axlError_t Small(const char* name, axlStream_t stream) {
    return submit_.Submit([&] { return axlLaunchVector(name, axlVecScale, &tiny_, stream); });
  }

  // Without sleeping, so that no wake-up is needed.
  static axlError_t Poll(axlStream_t stream) {
    axlError_t state;
    while ((state = axlStreamQuery(stream)) == axlErrorNotReady) {
    }
    return state;
  }

  Status WaitForAll() {
    if (options_.poll) {
      for (const Stream& stream : streams_) AXL_TRY(Poll(stream.get()));
    } else {
      AXL_TRY(axlDeviceSynchronize());
    }
    return Status();
  }

  const SynthOptions options_;
  SubmitKnob submit_;
  std::vector<DeviceMemory> memory_;
  std::vector<HostMemory> host_memory_;
  float *square_[3], *vector_[3], *dram_[3], *copied_[2], *small_ = nullptr, *strided_ = nullptr;
  void* host_[3];
  axlVector tiny_ = {};
  std::vector<std::unique_ptr<GraphBuilder>> graphs_;
  std::vector<Stream> streams_;
  axlNode last_ = 0;
  bool any_ = false;
};

}  // namespace

Status RunSynth(const SynthOptions& options, Region* region) {
  Program program(options);
  STATUS_TRY(program.Create());
  return program.Run(region);
}

}  // namespace acceltrace::workloads
