// SPDX-License-Identifier: Apache-2.0
//
// A random program over streams, events, graphs, batches and copies whose result is known: each
// cell of memory contains one small integer, and every access to a cell is ordered after the
// previous one, by its stream or by an event. Wrong order, lost work or corrupted memory makes a
// wrong number.
#ifndef TESTS_WORKLOADS_STRESS_PROGRAM_H_
#define TESTS_WORKLOADS_STRESS_PROGRAM_H_

#include <cstdint>
#include <random>
#include <vector>

#include "libtrace/base/result.h"
#include "tests/workloads/common/axl_cc.h"

namespace acceltrace::workloads {

struct StressOptions {
  uint32_t streams = 3;
  uint32_t calls = 200;
  bool priorities = false;  // streams of priority 0 as well
  uint32_t seed = 1;
};

struct StressStats {
  uint64_t calls = 0;
  uint64_t commands = 0;
  uint64_t checked = 0;  // cells compared
  uint64_t wrong = 0;
};

// Runs on the calling thread's device.
class StressProgram {
 public:
  explicit StressProgram(const StressOptions& options) : options_(options), random_(options.seed) {}
  Status Run();
  const StressStats& stats() const { return stats_; }

 private:
  static constexpr uint32_t kCells = 6;
  static constexpr uint32_t kSide = 16;  // a cell is a kSide x kSide matrix of equal numbers
  static constexpr uint32_t kFloats = kSide * kSide;
  static constexpr uint64_t kCellBytes = kFloats * sizeof(float);
  static constexpr uint32_t kReadBacks = 8;
  static constexpr uint32_t kEvents = 4;

  struct ReadBack {
    bool open = false;
    float expected = 0;
  };

  Status SetUp();
  Status Call();
  Status Order(uint32_t cell, uint32_t stream);
  Status Vector(uint32_t cell, axlStream_t stream);
  Status Matrix(uint32_t cell, axlStream_t stream);
  Status CopyIn(uint32_t cell, axlStream_t stream);
  Status CopyOut(uint32_t cell, axlStream_t stream);
  Status CopyAcross(uint32_t from, uint32_t to, uint32_t stream);
  Status CopyPageable(uint32_t cell, axlStream_t stream);
  Status Batch(uint32_t cell, axlStream_t stream);
  Status Graph(uint32_t stream);
  Status Recreate(uint32_t stream);
  Status CreateStream(uint32_t stream);
  Status Settle();

  axlVector NextScale(uint32_t cell);
  axlMatmul NextIncrement(uint32_t cell);
  float* Cell(uint32_t i) const { return static_cast<float*>(cells_.get()) + i * kFloats; }
  float* OutCell(uint32_t i) const { return static_cast<float*>(out_.get()) + i * kFloats; }
  uint32_t Pick(uint32_t below) { return random_() % below; }
  void Check(const float* cell, float expected);

  const StressOptions options_;
  std::mt19937 random_;
  StressStats stats_;
  DeviceMemory cells_, identity_, ones_;
  HostMemory in_, out_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  GraphBuilder graph_;
  uint32_t next_event_ = 0, next_read_back_ = 0;
  float expected_[kCells] = {};
  uint32_t user_[kCells] = {};
  ReadBack read_backs_[kReadBacks];
};

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_STRESS_PROGRAM_H_
