// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <thread>

#include "tests/workloads/observed/small.h"

namespace acceltrace::workloads {
namespace {

// Tiles are copied in, multiplied and copied out on three streams linked by events: while one is
// computed, the next is copied in and the previous one is copied out.
class Pipeline {
 public:
  Pipeline(uint32_t tiles, uint32_t side)
      : tiles_(tiles), side_(side), floats_(size_t{side} * side), bytes_(floats_ * sizeof(float)) {}

  Status Create() {
    STATUS_TRY(bench_.Create());
    AXL_TRY(axlStreamCreate(in_.out()));
    AXL_TRY(axlStreamCreate(out_.out()));
    STATUS_TRY(bench_.Scratch(&weights_, floats_));
    for (Buffer& buffer : buffers_) {
      STATUS_TRY(bench_.Scratch(&buffer.in, floats_));
      STATUS_TRY(bench_.Scratch(&buffer.out, floats_));
      for (Event* event : {&buffer.loaded, &buffer.computed, &buffer.stored})
        AXL_TRY(axlEventCreateWithFlags(event->out(), axlEventDisableTiming));
    }
    STATUS_TRY(bench_.Host(&host_in_, floats_));
    STATUS_TRY(bench_.Host(&host_out_, floats_));
    for (size_t i = 0; i < floats_; ++i) host_in_[i] = 0.5f;
    return Status();
  }
  Status Prepare() {
    AXL_TRY(axlMemsetD32Async(weights_, 0x3f800000, floats_, bench_.stream()));  // 1.0
    AXL_TRY(axlStreamSynchronize(bench_.stream()));
    return Status();
  }
  Status Run() {
    for (uint32_t tile = 0; tile < tiles_; ++tile) {
      Buffer& buffer = buffers_[tile % kBuffers];
      const bool used = tile >= kBuffers;
      // A tile is copied in once the previous one in its buffer has been computed, and computed
      // once that one's result has been stored.
      if (used) AXL_TRY(axlStreamWaitEvent(in_.get(), buffer.computed.get()));
      AXL_TRY(axlMemcpyAsync(buffer.in, host_in_, bytes_, axlMemcpyHostToDevice, in_.get()));
      AXL_TRY(axlEventRecord(buffer.loaded.get(), in_.get()));
      AXL_TRY(axlStreamWaitEvent(bench_.stream(), buffer.loaded.get()));
      if (used) AXL_TRY(axlStreamWaitEvent(bench_.stream(), buffer.stored.get()));
      const axlMatmul product = Square(buffer.in, weights_, buffer.out, side_);
      AXL_TRY(axlLaunchMatmul("tile", &product, bench_.stream()));
      AXL_TRY(axlEventRecord(buffer.computed.get(), bench_.stream()));
      AXL_TRY(axlStreamWaitEvent(out_.get(), buffer.computed.get()));
      AXL_TRY(axlMemcpyAsync(host_out_, buffer.out, bytes_, axlMemcpyDeviceToHost, out_.get()));
      AXL_TRY(axlEventRecord(buffer.stored.get(), out_.get()));
    }
    return Status();
  }
  uint64_t Wrong() const {
    uint64_t wrong = 0;
    for (size_t i = 0; i < floats_; i += 101)
      wrong += host_out_[i] != 0.5f * static_cast<float>(side_);
    return wrong;
  }

 private:
  static constexpr uint32_t kBuffers = 2;
  struct Buffer {
    float *in = nullptr, *out = nullptr;
    Event loaded, computed, stored;
  };

  const uint32_t tiles_, side_;
  const size_t floats_, bytes_;
  Bench bench_;  // its stream computes
  Stream in_, out_;
  std::array<Buffer, kBuffers> buffers_;
  float *weights_ = nullptr, *host_in_ = nullptr, *host_out_ = nullptr;
};

Status RunPipeline(Meter* meter, uint32_t tiles, uint32_t side) {
  Pipeline pipeline(meter->CountOr(tiles), side);
  STATUS_TRY(pipeline.Create());
  STATUS_TRY(meter->Measure([&] { return pipeline.Prepare(); }, [&] { return pipeline.Run(); }));
  meter->AddWrong(pipeline.Wrong());
  return Status();
}

// The link is never idle.
Status LargeTiles(Meter* meter) { return RunPipeline(meter, 60, 256); }
// So small that the host cannot submit fast enough: nothing overlaps.
Status SmallTiles(Meter* meter) { return RunPipeline(meter, 120, 128); }

// Launches in turn on eight streams, with a wait for all of them now and then.
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

// Threads that launch and wait, each on its own stream.
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
     LargeTiles},
    {"small-tiles", "the same, bound by the host's submitting", SmallTiles},
    {"streams", "launches in turn on eight streams", Streams},
    {"threads", "four threads that launch and wait", Threads},
};

}  // namespace

std::span<const ObservedProgram> OverlapPrograms() { return kPrograms; }

}  // namespace acceltrace::workloads
