// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/calibrate/calibrate.h"

#include <algorithm>

#include "tests/workloads/common/axl_cc.h"

namespace acceltrace::workloads {
namespace {

// Three operands of the same size, in one kind of memory.
struct Operands {
  DeviceMemory a, b, c;
  uint64_t bytes = 0;

  Status Take(uint64_t wanted_bytes, axlError_t (*take)(void**, size_t)) {
    bytes = wanted_bytes;
    for (DeviceMemory* memory : {&a, &b, &c}) {
      const axlError_t error = take(memory->out(), bytes);
      if (error != axlSuccess) return ToStatus(error, "an operand");
    }
    return Status();
  }
};

class Meter {
 public:
  explicit Meter(const CalibrateOptions& options) : options_(options) {}

  Status Create() {
    AXL_TRY(axlStreamCreate(stream_.out()));
    AXL_TRY(axlEventCreate(begin_.out()));
    AXL_TRY(axlEventCreate(end_.out()));
    return graph_.Create();
  }

  // add(name) adds one independent command of `amount` to the graph.
  template <typename Add>
  Status Run(const std::string& name, double amount, Ceiling* best, Add&& add) {
    graph_.Clear();
    for (uint32_t i = 0; i < options_.repeat; ++i) add(name);
    // The first launch keeps the device busy while the host submits the timed one.
    STATUS_TRY(graph_.Launch(stream_.get()));
    AXL_TRY(axlEventRecord(begin_.get(), stream_.get()));
    STATUS_TRY(graph_.Launch(stream_.get()));
    AXL_TRY(axlEventRecord(end_.get(), stream_.get()));
    AXL_TRY(axlEventSynchronize(end_.get()));
    float ms = 0;
    AXL_TRY(axlEventElapsedTime(&ms, begin_.get(), end_.get()));
    const double per_s = ms > 0 ? amount * options_.repeat / (ms * 1e-3) : 0;
    if (per_s > best->per_s) best->per_s = per_s, best->by = name;
    return Status();
  }

  Status Copies(std::vector<Ceiling>* rows) {
    HostMemory host;
    DeviceMemory there;
    const uint64_t bytes = options_.copy_bytes;
    AXL_TRY(axlHostAlloc(host.out(), bytes));
    AXL_TRY(axlMalloc(there.out(), bytes));
    Ceiling in{"h2d", "bytes", 0, ""}, out{"d2h", "bytes", 0, ""};
    const auto amount = static_cast<double>(bytes);
    STATUS_TRY(Run("copy_in", amount, &in, [&](const std::string& name) {
      graph_.Copy(name, there.get(), host.get(), bytes, axlMemcpyHostToDevice, {});
    }));
    STATUS_TRY(Run("copy_out", amount, &out, [&](const std::string& name) {
      graph_.Copy(name, host.get(), there.get(), bytes, axlMemcpyDeviceToHost, {});
    }));
    rows->insert(rows->end(), {in, out});
    return Status();
  }

  // Writing only, reading and writing, reading two and writing; bytes and elements of each.
  Status Streams(const std::string& where, const Operands& operands, Ceiling* bytes,
                 Ceiling* elements) {
    struct Kind {
      const char* name;
      axlVectorOp code;
      int operands;
    };
    for (const Kind& kind :
         {Kind{"fill", axlVecFill, 1}, Kind{"copy", axlVecCopy, 2}, Kind{"add", axlVecAdd, 3}}) {
      axlVector args = {};
      args.src0 = kind.operands > 1 ? operands.a.get() : nullptr;
      args.src1 = kind.operands > 2 ? operands.b.get() : nullptr;
      args.dst = operands.c.get();
      args.rows = 1;
      args.cols = static_cast<uint32_t>(operands.bytes / sizeof(float));
      Ceiling rate{"", "", 0, ""};
      const std::string name = std::string(kind.name) + "_" + where;
      STATUS_TRY(Run(name, 1, &rate,
                     [&](const std::string& op) { graph_.Vector(op, kind.code, args, {}); }));
      const double moved = rate.per_s * kind.operands * static_cast<double>(operands.bytes);
      if (moved > bytes->per_s) bytes->per_s = moved, bytes->by = name;
      const double done = rate.per_s * args.cols;
      if (done > elements->per_s) elements->per_s = done, elements->by = name;
    }
    return Status();
  }

  // Long ones, so that filling and draining the array hardly matters; in either memory.
  Status Matmuls(const std::string& where, const Operands& operands, const axlDeviceProp& prop,
                 Ceiling* best) {
    const uint64_t elements = operands.bytes / sizeof(float);
    axlMatmul args = {};
    args.a = operands.a.get(), args.b = operands.b.get(), args.c = operands.c.get();
    args.k = prop.matrixRows, args.n = prop.matrixCols;
    args.alpha = 1;
    if (uint64_t{args.k} * args.n > elements) return Status();
    for (uint32_t tiles : {1u, 2u, 4u}) {
      args.k = prop.matrixRows * tiles;
      if (uint64_t{args.k} * args.n > elements) break;
      args.m = static_cast<uint32_t>(std::min<uint64_t>(elements / std::max(args.k, args.n), 4096));
      const double macs = static_cast<double>(args.m) * args.n * args.k;
      STATUS_TRY(Run("matmul" + std::to_string(args.k) + "_" + where, macs, best,
                     [&](const std::string& op) { graph_.Matmul(op, args, {}); }));
    }
    return Status();
  }

 private:
  const CalibrateOptions options_;
  Stream stream_;
  Event begin_, end_;
  GraphBuilder graph_;
};

}  // namespace

Result<Ceilings> MeasureCeilings(const CalibrateOptions& options) {
  constexpr uint64_t kMostBytes = 1u << 30;
  if (options.copy_bytes < 4096 || options.copy_bytes > kMostBytes || options.copy_bytes % 4 ||
      options.scratch_bytes < 4096 || options.scratch_bytes % 4 || !options.repeat ||
      options.repeat > 256) {
    return Status::Error(
        "sizes must be multiples of 4 bytes from 4096 to 1 GiB, and --repeat 1 to 256");
  }
  int device = 0;
  axlDeviceProp prop = {};
  AXL_TRY(axlGetDevice(&device));
  AXL_TRY(axlGetDeviceProperties(&prop, device));
  Meter meter(options);
  STATUS_TRY(meter.Create());
  Ceilings ceilings;
  ceilings.device = prop.name, ceilings.address = prop.pciAddress;
  STATUS_TRY(meter.Copies(&ceilings.rows));
  Ceiling memory{"memory", "bytes", 0, ""}, scratch{"scratchpad", "bytes", 0, ""};
  Ceiling matrix{"matrix", "MACs", 0, ""}, vector{"vector", "elements", 0, ""};
  Operands there;
  STATUS_TRY(there.Take(options.copy_bytes, axlMalloc));
  STATUS_TRY(meter.Streams("memory", there, &memory, &vector));
  STATUS_TRY(meter.Matmuls("memory", there, prop, &matrix));
  // Three operands, with some memory left for others.
  const uint64_t fits = prop.scratchMem / 4 / 4096 * 4096;
  if (const uint64_t bytes = std::min(options.scratch_bytes, fits); bytes > 0) {
    Operands near;
    STATUS_TRY(near.Take(bytes, axlMallocScratch));
    STATUS_TRY(meter.Streams("scratchpad", near, &scratch, &vector));
    STATUS_TRY(meter.Matmuls("scratchpad", near, prop, &matrix));
  }
  for (const Ceiling& row : {memory, scratch, matrix, vector}) {
    if (row.per_s > 0) ceilings.rows.push_back(row);
  }
  return ceilings;
}

}  // namespace acceltrace::workloads
