// SPDX-License-Identifier: Apache-2.0
//
// Common parts of the patterns: memory, a stream, and the timed part in a range with the pattern's
// name.
#ifndef TESTS_WORKLOADS_PATTERNS_BENCH_H_
#define TESTS_WORKLOADS_PATTERNS_BENCH_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/patterns/patterns.h"

namespace acceltrace::workloads {

class Bench {
 public:
  Status Create() {
    AXL_TRY(axlStreamCreate(stream_.out()));
    return graph_.Create();
  }
  axlStream_t stream() const { return stream_.get(); }
  GraphBuilder& graph() { return graph_; }

  Status Dram(float** pointer, size_t floats) {
    AXL_TRY(axlMalloc(memory_.emplace_back().out(), floats * sizeof(float)));
    *pointer = static_cast<float*>(memory_.back().get());
    return Status();
  }
  Status Scratch(float** pointer, size_t floats) {
    AXL_TRY(axlMallocScratch(memory_.emplace_back().out(), floats * sizeof(float)));
    *pointer = static_cast<float*>(memory_.back().get());
    return Status();
  }
  Status Host(float** pointer, size_t floats) {
    AXL_TRY(axlHostAlloc(host_.emplace_back().out(), floats * sizeof(float)));
    *pointer = static_cast<float*>(host_.back().get());
    return Status();
  }
  // Adds a step to take when the timed part is about to start, so that as little as possible is
  // submitted before it.
  void Prepare(std::function<Status()> step) { prepare_.push_back(std::move(step)); }
  // Sets all of it to `value`.
  void Fill(float* pointer, float value, size_t floats) {
    Prepare([=, this] {
      uint32_t bits;
      static_assert(sizeof bits == sizeof value);
      __builtin_memcpy(&bits, &value, sizeof bits);
      return ToStatus(axlMemsetD32Async(pointer, bits, floats, stream()), "axlMemsetD32Async");
    });
  }
  void Put(float* pointer, std::vector<float> values) {
    Prepare([=, this, values = std::move(values)] {
      return ToStatus(axlMemcpyAsync(pointer, values.data(), values.size() * sizeof(float),
                                     axlMemcpyHostToDevice, stream()),
                      "axlMemcpyAsync");
    });
  }

  // Times the part that counts: from an idle device until it is idle again.
  Status Timed(const char* name, PatternStats* stats, const std::function<Status()>& body) {
    for (const auto& step : prepare_) STATUS_TRY(step());
    AXL_TRY(axlDeviceSynchronize());
    axlRange range(name);
    const auto start = std::chrono::steady_clock::now();
    STATUS_TRY(body());
    AXL_TRY(axlDeviceSynchronize());
    stats->host_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return Status();
  }
  // Times the graph, launched `times` times in a row.
  Status TimedGraph(const char* name, PatternStats* stats, uint32_t times) {
    stats->commands = graph_.nodes() * times;
    return Timed(name, stats, [&]() -> Status {
      for (uint32_t i = 0; i < times; ++i) STATUS_TRY(graph_.Launch(stream()));
      return Status();
    });
  }
  // Counts the numbers that are not `expected`, among the last ones.
  Status Check(const float* pointer, size_t floats, float expected, PatternStats* stats) {
    std::vector<float> values(std::min<size_t>(floats, 256));
    AXL_TRY(axlMemcpyAsync(values.data(), pointer + floats - values.size(),
                           values.size() * sizeof(float), axlMemcpyDeviceToHost, stream()));
    for (const float value : values) stats->wrong += value != expected;
    return Status();
  }

 private:
  Stream stream_;
  GraphBuilder graph_;
  std::vector<DeviceMemory> memory_;
  std::vector<HostMemory> host_;
  std::vector<std::function<Status()>> prepare_;
};

inline axlVector Vector(const void* src0, const void* src1, void* dst, uint32_t rows,
                        uint32_t cols) {
  axlVector vec = {};
  vec.src0 = src0;
  vec.src1 = src1;
  vec.dst = dst;
  vec.rows = rows;
  vec.cols = cols;
  vec.alpha = 1;
  return vec;
}

inline axlMatmul Square(const void* a, const void* b, void* c, uint32_t n) {
  axlMatmul mm = {};
  mm.a = a;
  mm.b = b;
  mm.c = c;
  mm.m = mm.n = mm.k = n;
  mm.alpha = 1;
  return mm;
}

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_PATTERNS_BENCH_H_
