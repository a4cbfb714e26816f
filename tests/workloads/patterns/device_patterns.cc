// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/patterns/bench.h"
#include "tests/workloads/patterns/patterns.h"

namespace acceltrace::workloads {
namespace {

// Operands in the scratchpad, so that only the array is heavily used.
Status Matrix(uint32_t scale, PatternStats* stats) {
  constexpr uint32_t kSide = 256;
  Bench bench;
  float *a, *b, *c;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Scratch(&a, kSide * kSide));
  STATUS_TRY(bench.Scratch(&b, kSide * kSide));
  STATUS_TRY(bench.Scratch(&c, kSide * kSide));
  bench.Fill(a, 0.5f, kSide * kSide);
  bench.Fill(b, 0.25f, kSide * kSide);
  for (int i = 0; i < 8; ++i) bench.graph().Matmul("big_matmul", Square(a, b, c, kSide), {});
  STATUS_TRY(bench.TimedGraph("matrix", stats, 20 * scale));
  return bench.Check(c, kSide * kSide, 0.125f * kSide, stats);
}

Status VectorEngine(uint32_t scale, PatternStats* stats) {
  constexpr uint32_t kRows = 128, kCols = 1024;
  Bench bench;
  float *x, *y;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Scratch(&x, kRows * kCols));
  STATUS_TRY(bench.Scratch(&y, kRows * kCols));
  bench.Fill(x, 0.75f, kRows * kCols);
  for (int i = 0; i < 8; ++i)
    bench.graph().Vector("big_softmax", axlVecSoftmax, Vector(x, nullptr, y, kRows, kCols), {});
  STATUS_TRY(bench.TimedGraph("vector", stats, 16 * scale));
  return bench.Check(y, kRows * kCols, 1.0f / kCols, stats);
}

// Twelve bytes of DRAM for each addition.
Status MemoryBandwidth(uint32_t scale, PatternStats* stats) {
  constexpr uint32_t kRows = 64, kCols = 4096;
  Bench bench;
  float *x, *y, *z;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Dram(&x, kRows * kCols));
  STATUS_TRY(bench.Dram(&y, kRows * kCols));
  STATUS_TRY(bench.Dram(&z, kRows * kCols));
  bench.Fill(x, 2, kRows * kCols);
  bench.Fill(y, 3, kRows * kCols);
  for (int i = 0; i < 4; ++i)
    bench.graph().Vector("stream_add", axlVecAdd, Vector(x, y, z, kRows, kCols), {});
  STATUS_TRY(bench.TimedGraph("memory-stream", stats, 8 * scale));
  return bench.Check(z, kRows * kCols, 5, stats);
}

// A few useful bytes from each of many rows of the same banks.
Status MemoryRows(uint32_t scale, PatternStats* stats) {
  constexpr uint32_t kRows = 512, kCols = 16, kStride = 32768;
  Bench bench;
  float *x, *y;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Dram(&x, static_cast<size_t>(kRows) * kStride));
  STATUS_TRY(bench.Scratch(&y, kRows * kCols));
  axlVector fill = Vector(nullptr, nullptr, x, kRows, kCols);
  fill.dstStride = kStride;
  fill.alpha = 7;
  bench.Prepare([&bench, fill] {
    return ToStatus(axlLaunchVector("prepare", axlVecFill, &fill, bench.stream()), "prepare");
  });
  axlVector gather = Vector(x, nullptr, y, kRows, kCols);
  gather.src0Stride = kStride;
  for (int i = 0; i < 8; ++i) bench.graph().Vector("strided_copy", axlVecCopy, gather, {});
  STATUS_TRY(bench.TimedGraph("memory-rows", stats, 16 * scale));
  return bench.Check(y, kRows * kCols, 7, stats);
}

Status Link(const char* name, axlMemcpyKind kind, uint32_t scale, PatternStats* stats) {
  constexpr size_t kFloats = 1 << 18;
  const bool in = kind == axlMemcpyHostToDevice;
  Bench bench;
  float *device, *host;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Dram(&device, kFloats));
  STATUS_TRY(bench.Host(&host, kFloats));
  for (size_t i = 0; i < kFloats; i += 1024) host[i] = 11;
  bench.Fill(device, 9, kFloats);
  for (int i = 0; i < 4; ++i)
    bench.graph().Copy(in ? "big_copy_in" : "big_copy_out", in ? device : host, in ? host : device,
                       kFloats * sizeof(float), kind, {});
  STATUS_TRY(bench.TimedGraph(name, stats, 10 * scale));
  if (in) return bench.Check(device + kFloats - 1024, 1, 11, stats);
  for (size_t i = 0; i < kFloats; i += 509) stats->wrong += host[i] != 9;
  return Status();
}

Status LinkIn(uint32_t scale, PatternStats* stats) {
  return Link("pcie-in", axlMemcpyHostToDevice, scale, stats);
}
Status LinkOut(uint32_t scale, PatternStats* stats) {
  return Link("pcie-out", axlMemcpyDeviceToHost, scale, stats);
}

// Commands that are so small that only their start takes time.
Status Dispatch(uint32_t scale, PatternStats* stats) {
  constexpr uint32_t kTimes = 4;
  Bench bench;
  float* x;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Scratch(&x, 16));
  axlVector tiny = Vector(x, nullptr, x, 1, 16);
  bench.Fill(x, 0, 16);
  tiny.beta = 1;
  for (int i = 0; i < 1000; ++i) bench.graph().Vector("tiny", axlVecScale, tiny, {});
  STATUS_TRY(bench.TimedGraph("dispatch", stats, kTimes * scale));
  return bench.Check(x, 16, static_cast<float>(1000 * kTimes * scale), stats);
}

// Two engines that always wait for each other.
Status Dependency(uint32_t scale, PatternStats* stats) {
  constexpr uint32_t kSide = 16, kTimes = 5;
  Bench bench;
  float *x, *one;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Scratch(&x, kSide * kSide));
  STATUS_TRY(bench.Scratch(&one, kSide * kSide));
  std::vector<float> identity(kSide * kSide);
  for (uint32_t i = 0; i < kSide; ++i) identity[i * kSide + i] = 1;
  bench.Put(one, identity);
  bench.Fill(x, 0, kSide * kSide);
  axlVector add = Vector(x, nullptr, x, kSide, kSide);
  add.beta = 1;
  axlMatmul keep = Square(one, one, x, kSide);  // += identity
  keep.flags = axlMatmulAccumulate;
  axlNode node = 0;
  for (int i = 0; i < 300; ++i) {
    node = bench.graph().Vector("ping", axlVecScale, add,
                                i ? std::vector{node} : std::vector<axlNode>());
    node = bench.graph().Matmul("pong", keep, {node});
  }
  STATUS_TRY(bench.TimedGraph("dependency", stats, kTimes * scale));
  return bench.Check(x + 1, 1, static_cast<float>(300 * kTimes * scale), stats);
}

// Load, compute, store: of one tile at a time, or of three at once.
Status Tiles(const char* name, bool overlap, uint32_t scale, PatternStats* stats) {
  constexpr uint32_t kSide = 128, kTiles = 24, kBuffers = 3;
  constexpr size_t kFloats = kSide * kSide;
  Bench bench;
  float *weights, *in[kBuffers], *out[kBuffers], *host_in, *host_out;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Scratch(&weights, kFloats));
  for (uint32_t i = 0; i < kBuffers; ++i) {
    STATUS_TRY(bench.Scratch(&in[i], kFloats));
    STATUS_TRY(bench.Scratch(&out[i], kFloats));
  }
  STATUS_TRY(bench.Host(&host_in, kFloats));
  STATUS_TRY(bench.Host(&host_out, kTiles * kFloats));
  for (size_t i = 0; i < kFloats; ++i) host_in[i] = 0.5f;
  bench.Fill(weights, 1, kFloats);
  std::vector<axlNode> stored;
  for (uint32_t tile = 0; tile < kTiles; ++tile) {
    const uint32_t buffer = overlap ? tile % kBuffers : 0;
    // The buffer is free once its previous tile has been stored.
    const uint32_t back = overlap ? kBuffers : 1;
    const auto free = tile < back ? std::vector<axlNode>() : std::vector{stored[tile - back]};
    const axlNode load = bench.graph().Copy("load", in[buffer], host_in, kFloats * sizeof(float),
                                            axlMemcpyHostToDevice, free);
    const axlNode compute =
        bench.graph().Matmul("compute", Square(in[buffer], weights, out[buffer], kSide), {load});
    stored.push_back(bench.graph().Copy("store", host_out + tile * kFloats, out[buffer],
                                        kFloats * sizeof(float), axlMemcpyDeviceToHost, {compute}));
  }
  STATUS_TRY(bench.TimedGraph(name, stats, 10 * scale));
  for (size_t i = 0; i < kTiles * kFloats; i += 101) stats->wrong += host_out[i] != 0.5f * kSide;
  return Status();
}

Status Serial(uint32_t scale, PatternStats* stats) { return Tiles("serial", false, scale, stats); }
Status Pipeline(uint32_t scale, PatternStats* stats) {
  return Tiles("pipeline", true, scale, stats);
}

constexpr Pattern kPatterns[] = {
    {"matrix", "matrix", "matmuls of 256 x 256 x 256 in the scratchpad", Matrix},
    {"vector", "vector", "softmax over the scratchpad", VectorEngine},
    {"memory-stream", "memory", "additions over DRAM, in order", MemoryBandwidth},
    {"memory-rows", "memory", "64 bytes from each of many DRAM rows", MemoryRows},
    {"pcie-in", "pcie-in", "1 MiB copies to the device", LinkIn},
    {"pcie-out", "pcie-out", "1 MiB copies from the device", LinkOut},
    {"dispatch", "dispatch", "a thousand vector ops of 16 elements", Dispatch},
    {"dependency", "dependency", "two engines that take turns", Dependency},
    {"serial", "dependency", "load, compute, store, one tile at a time", Serial},
    {"pipeline", "pcie-in", "load, compute, store, three tiles at once", Pipeline},
};

}  // namespace

std::span<const Pattern> DevicePatterns() { return kPatterns; }

}  // namespace acceltrace::workloads
