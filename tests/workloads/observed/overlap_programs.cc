// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <thread>

#include "tests/workloads/observed/small.h"

namespace acceltrace::workloads {
namespace {

// Tiles go in, through a matmul and out again, on three streams tied by events: while one is
// computed, the next is on its way in and the one before on its way out.
class Pipeline {
 public:
  Status Create(uint32_t tiles) {
    tiles_ = tiles;
    STATUS_TRY(bench_.Create());
    AXL_TRY(axlStreamCreate(in_.out()));
    AXL_TRY(axlStreamCreate(out_.out()));
    STATUS_TRY(bench_.Scratch(&weights_, kFloats));
    for (Buffer& buffer : buffers_) {
      STATUS_TRY(bench_.Scratch(&buffer.in, kFloats));
      STATUS_TRY(bench_.Scratch(&buffer.out, kFloats));
      for (Event* event : {&buffer.loaded, &buffer.computed, &buffer.stored})
        AXL_TRY(axlEventCreateWithFlags(event->out(), axlEventDisableTiming));
    }
    STATUS_TRY(bench_.Host(&host_in_, kFloats));
    STATUS_TRY(bench_.Host(&host_out_, kFloats));
    for (size_t i = 0; i < kFloats; ++i) host_in_[i] = 0.5f;
    return Status();
  }
  Status Prepare() {
    AXL_TRY(axlMemsetD32Async(weights_, 0x3f800000, kFloats, bench_.stream()));  // 1.0
    AXL_TRY(axlStreamSynchronize(bench_.stream()));
    return Status();
  }
  Status Run() {
    for (uint32_t tile = 0; tile < tiles_; ++tile) {
      Buffer& buffer = buffers_[tile % kBuffers];
      const bool used = tile >= kBuffers;
      // A tile goes in once the one before in its buffer has been computed, and is computed
      // once that one's result has been stored.
      if (used) AXL_TRY(axlStreamWaitEvent(in_.get(), buffer.computed.get()));
      AXL_TRY(axlMemcpyAsync(buffer.in, host_in_, kBytes, axlMemcpyHostToDevice, in_.get()));
      AXL_TRY(axlEventRecord(buffer.loaded.get(), in_.get()));
      AXL_TRY(axlStreamWaitEvent(bench_.stream(), buffer.loaded.get()));
      if (used) AXL_TRY(axlStreamWaitEvent(bench_.stream(), buffer.stored.get()));
      const axlMatmul product = Square(buffer.in, weights_, buffer.out, kSide);
      AXL_TRY(axlLaunchMatmul("tile", &product, bench_.stream()));
      AXL_TRY(axlEventRecord(buffer.computed.get(), bench_.stream()));
      AXL_TRY(axlStreamWaitEvent(out_.get(), buffer.computed.get()));
      AXL_TRY(axlMemcpyAsync(host_out_, buffer.out, kBytes, axlMemcpyDeviceToHost, out_.get()));
      AXL_TRY(axlEventRecord(buffer.stored.get(), out_.get()));
    }
    return Status();
  }
  uint64_t Wrong() const {
    uint64_t wrong = 0;
    for (size_t i = 0; i < kFloats; i += 101) wrong += host_out_[i] != 0.5f * kSide;
    return wrong;
  }

 private:
  static constexpr uint32_t kSide = 128, kBuffers = 2;
  static constexpr size_t kFloats = kSide * kSide, kBytes = kFloats * sizeof(float);
  struct Buffer {
    float *in = nullptr, *out = nullptr;
    Event loaded, computed, stored;
  };

  Bench bench_;  // its stream computes
  Stream in_, out_;
  std::array<Buffer, kBuffers> buffers_;
  float *weights_ = nullptr, *host_in_ = nullptr, *host_out_ = nullptr;
  uint32_t tiles_ = 0;
};

Status RunPipeline(Meter* meter) {
  Pipeline pipeline;
  STATUS_TRY(pipeline.Create(meter->CountOr(120)));
  STATUS_TRY(meter->Measure([&] { return pipeline.Prepare(); }, [&] { return pipeline.Run(); }));
  meter->AddWrong(pipeline.Wrong());
  return Status();
}

// Launches in turn on eight streams; all are waited for now and then.
Status Streams(Meter* meter) {
  constexpr uint32_t kStreams = 8;
  std::array<Small, kStreams> lanes;
  for (Small& lane : lanes) STATUS_TRY(lane.Create());
  const uint32_t count = meter->CountOr(800) / kStreams;
  const auto prepare = [&]() -> Status {
    for (Small& lane : lanes) STATUS_TRY(lane.Zero());
    return Status();
  };
  STATUS_TRY(meter->Measure(prepare, [&]() -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      for (Small& lane : lanes) STATUS_TRY(lane.Launch());
      if (i % 16 != 15) continue;
      for (Small& lane : lanes) AXL_TRY(axlStreamSynchronize(lane.bench.stream()));
    }
    return Status();
  }));
  PatternStats stats;
  for (Small& lane : lanes)
    STATUS_TRY(lane.bench.Check(lane.x, kSmall, static_cast<float>(count), &stats));
  meter->AddWrong(stats.wrong);
  return Status();
}

// Threads that launch and wait, each on a stream of its own.
Status Threads(Meter* meter) {
  constexpr uint32_t kThreads = 4;
  std::array<Small, kThreads> lanes;
  for (Small& lane : lanes) STATUS_TRY(lane.Create());
  const uint32_t count = meter->CountOr(400) / kThreads;
  const auto work = [count](Small* lane) -> Status {
    for (uint32_t i = 0; i < count; ++i) {
      STATUS_TRY(lane->Launch());
      if (i % 4 == 3) AXL_TRY(axlStreamSynchronize(lane->bench.stream()));
    }
    return Status();
  };
  const auto prepare = [&]() -> Status {
    for (Small& lane : lanes) STATUS_TRY(lane.Zero());
    return Status();
  };
  STATUS_TRY(meter->Measure(prepare, [&]() -> Status {
    std::array<Status, kThreads> results;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] { results[i] = work(&lanes[i]); });
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) STATUS_TRY(result);
    return Status();
  }));
  PatternStats stats;
  for (Small& lane : lanes)
    STATUS_TRY(lane.bench.Check(lane.x, kSmall, static_cast<float>(count), &stats));
  meter->AddWrong(stats.wrong);
  return Status();
}

constexpr ObservedProgram kPrograms[] = {
    {"pipeline", "double-buffered tiles: copies in, matmul, copies out on three streams",
     RunPipeline},
    {"streams", "launches in turn on eight streams", Streams},
    {"threads", "four threads that launch and wait", Threads},
};

}  // namespace

std::span<const ObservedProgram> OverlapPrograms() { return kPrograms; }

}  // namespace acceltrace::workloads
