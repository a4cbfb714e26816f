// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/matmul/sweep.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "tests/workloads/common/axl_cc.h"

namespace acceltrace::workloads {
namespace {

constexpr double kSweepTolerance = 1e-4;
constexpr uint32_t kMaxDim = 1u << 16;

// Small integers divided by a power of two are exact in bf16, too, so that one tolerance is enough.
float Value(uint64_t i) {
  return static_cast<float>(static_cast<int>(i * 2654435761u >> 7 & 63) - 32) / 64;
}

void Store(std::vector<uint8_t>* bytes, uint64_t i, float value, bool bf16) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (bf16) {
    const uint16_t half = static_cast<uint16_t>(bits >> 16);
    std::memcpy(bytes->data() + i * 2, &half, 2);
  } else {
    std::memcpy(bytes->data() + i * 4, &bits, 4);
  }
}

class Case {
 public:
  Case(const SweepOptions& options, Shape shape) : options_(options), shape_(shape) {}

  Status Run(axlStream_t stream, const axlDeviceProp& prop, SweepRow* row) {
    const uint64_t m = shape_.m, n = shape_.n, k = shape_.k;
    const size_t input = options_.bf16 ? 2 : 4;
    STATUS_TRY(Take(&a_, m * k * input));
    STATUS_TRY(Take(&b_, k * n * input));
    STATUS_TRY(Take(&c_, m * n * 4));
    std::vector<uint8_t> a(m * k * input), b(k * n * input);
    for (uint64_t i = 0; i < m * k; ++i) Store(&a, i, Value(i), options_.bf16);
    for (uint64_t i = 0; i < k * n; ++i) Store(&b, i, Value(i + 17), options_.bf16);
    AXL_TRY(axlMemcpyAsync(a_.get(), a.data(), a.size(), axlMemcpyHostToDevice, stream));
    AXL_TRY(axlMemcpyAsync(b_.get(), b.data(), b.size(), axlMemcpyHostToDevice, stream));
    STATUS_TRY(Time(stream, &row->seconds));
    row->shape = shape_;
    const double macs = static_cast<double>(m * n) * static_cast<double>(k);
    const double peak = static_cast<double>(prop.matrixRows) * prop.matrixCols *
                        static_cast<double>(prop.engineClockHz);
    row->macs_per_s = row->seconds > 0 ? macs / row->seconds : 0;
    row->share_of_peak = peak > 0 ? row->macs_per_s / peak : 0;
    std::vector<float> c(m * n);
    AXL_TRY(axlMemcpyAsync(c.data(), c_.get(), c.size() * 4, axlMemcpyDeviceToHost, stream));
    AXL_TRY(axlStreamSynchronize(stream));
    row->max_rel_error = Error(c);
    return Status();
  }

 private:
  Status Take(DeviceMemory* memory, size_t bytes) {
    if (options_.scratch)
      AXL_TRY(axlMallocScratch(memory->out(), bytes));
    else
      AXL_TRY(axlMalloc(memory->out(), bytes));
    return Status();
  }

  Status Time(axlStream_t stream, double* seconds) {
    axlMatmul mm = {};
    mm.a = a_.get();
    mm.b = b_.get();
    mm.c = c_.get();
    mm.m = shape_.m;
    mm.n = shape_.n;
    mm.k = shape_.k;
    mm.alpha = 1;
    mm.flags = (options_.bf16 ? axlMatmulBf16A | axlMatmulBf16B : 0) |
               (options_.transpose_b ? axlMatmulTransposeB : 0);
    char name[48];
    std::snprintf(name, sizeof name, "mm_%ux%ux%u", shape_.m, shape_.n, shape_.k);
    axlRange range(name);
    Event begin, end;
    AXL_TRY(axlEventCreate(begin.out()));
    AXL_TRY(axlEventCreate(end.out()));
    // The first round only keeps the device busy while the host submits the timed one.
    for (const bool timed : {false, true}) {
      if (timed) AXL_TRY(axlEventRecord(begin.get(), stream));
      AXL_TRY(axlBatchBegin(stream));
      for (uint32_t i = 0; i < options_.repeat; ++i) AXL_TRY(axlLaunchMatmul(name, &mm, stream));
      AXL_TRY(axlBatchEnd(stream));
    }
    AXL_TRY(axlEventRecord(end.get(), stream));
    AXL_TRY(axlEventSynchronize(end.get()));
    float ms = 0;
    *seconds = axlEventElapsedTime(&ms, begin.get(), end.get()) == axlSuccess
                   ? ms * 1e-3 / options_.repeat
                   : 0;
    return Status();
  }

  double Element(uint64_t row, uint64_t column) const {
    double sum = 0;
    for (uint64_t i = 0; i < shape_.k; ++i) {
      const uint64_t at_b =
          options_.transpose_b ? column * shape_.k + i : i * uint64_t{shape_.n} + column;
      sum += static_cast<double>(Value(row * shape_.k + i)) * static_cast<double>(Value(at_b + 17));
    }
    return sum;
  }

  // Checks every element of small results, some thousand spread ones of large results.
  double Error(const std::vector<float>& c) const {
    const uint64_t work = c.size() * shape_.k;
    const uint64_t step = work > 2000000 ? (work / 2000000) | 1 : 1;
    double error = 0;
    for (uint64_t i = 0; i < c.size(); i += step) {
      const double expected = Element(i / shape_.n, i % shape_.n);
      const double scale = std::max(1.0, std::abs(expected));
      const double difference = std::abs(static_cast<double>(c[i]) - expected) / scale;
      error = std::isnan(difference) ? HUGE_VAL : std::max(error, difference);
    }
    return error;
  }

  const SweepOptions& options_;
  const Shape shape_;
  DeviceMemory a_, b_, c_;
};

}  // namespace

Result<Shape> ParseShape(const std::string& text) {
  Shape shape;
  int used = 0;
  if (std::sscanf(text.c_str(), "%ux%ux%u%n", &shape.m, &shape.n, &shape.k, &used) != 3 ||
      static_cast<size_t>(used) != text.size() || !shape.m || !shape.n || !shape.k ||
      std::max({shape.m, shape.n, shape.k}) > kMaxDim)
    return Status::Error("'" + text + "' is not a shape: write MxNxK, as 32x64x128, each at most " +
                         std::to_string(kMaxDim));
  return shape;
}

std::vector<Shape> DefaultShapes() {
  return {{1, 64, 64},    {1, 256, 256},  {16, 64, 64},   {31, 33, 32},
          {32, 32, 32},   {33, 31, 65},   {64, 64, 64},   {128, 128, 32},
          {128, 32, 128}, {32, 128, 128}, {128, 128, 128}};
}

Result<std::vector<SweepRow>> RunSweep(const SweepOptions& options) {
  if (!options.repeat || options.repeat > 1000) return Status::Error("give 1 to 1000 for --repeat");
  int device = 0;
  axlDeviceProp prop;
  AXL_TRY(axlGetDevice(&device));
  AXL_TRY(axlGetDeviceProperties(&prop, device));
  if (options.bf16 && !prop.bf16) return Status::Error("this device takes no bf16 inputs");
  Stream stream;
  AXL_TRY(axlStreamCreate(stream.out()));
  std::vector<SweepRow> rows;
  for (const Shape& shape : options.shapes) {
    SweepRow row;
    STATUS_TRY(Case(options, shape).Run(stream.get(), prop, &row));
    rows.push_back(row);
  }
  return rows;
}

bool SweepOk(const std::vector<SweepRow>& rows) {
  return !rows.empty() && std::all_of(rows.begin(), rows.end(), [](const SweepRow& row) {
    return row.max_rel_error <= kSweepTolerance;
  });
}

}  // namespace acceltrace::workloads
