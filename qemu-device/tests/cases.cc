// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/cases.h"

#include <algorithm>
#include <cmath>

#include "qemu-device/tests/descriptors.h"
#include "qemu-device/tests/expect.h"

namespace acceltrace::device {
namespace {

constexpr double kDispatchNs = 120;
struct TransferCase {
  bool in;
  unsigned gen, width, mps, mrrs, tags;
  uint64_t bytes, offset;
};

// Generation x width x MPS x size x alignment, both directions, few and many tags.
const TransferCase kTransfers[] = {
    {true, 1, 1, 128, 128, 64, 4096, 0},       {true, 1, 4, 128, 512, 64, 65536, 0},
    {true, 2, 1, 128, 512, 64, 4096, 4},       {true, 2, 8, 256, 512, 64, 65536, 60},
    {true, 3, 1, 128, 128, 64, 64, 0},         {true, 3, 4, 128, 512, 64, 4096, 0},
    {true, 3, 8, 256, 512, 64, 65536, 0},      {true, 3, 16, 512, 4096, 64, 1048576, 0},
    {true, 4, 1, 128, 512, 64, 4097, 2052},    {true, 4, 4, 256, 512, 64, 65536, 4},
    {true, 4, 8, 256, 512, 64, 1048576, 0},    {true, 4, 8, 256, 512, 16, 262144, 0},
    {true, 4, 8, 128, 128, 8, 65536, 0},       {true, 4, 16, 512, 1024, 32, 1048576, 64},
    {true, 5, 1, 256, 256, 64, 65536, 0},      {true, 5, 4, 256, 512, 64, 100000, 12},
    {true, 5, 8, 512, 512, 128, 1048576, 0},   {true, 5, 16, 512, 512, 64, 1048576, 0},
    {true, 5, 16, 512, 4096, 256, 4194304, 0}, {true, 6, 4, 256, 512, 64, 65536, 0},
    {true, 6, 16, 512, 4096, 256, 4194304, 8}, {true, 6, 16, 256, 512, 1024, 1048576, 0},
    {false, 1, 1, 128, 128, 64, 4096, 0},      {false, 1, 8, 128, 512, 64, 65536, 4},
    {false, 2, 4, 256, 512, 64, 65536, 60},    {false, 2, 16, 128, 512, 64, 65536, 0},
    {false, 3, 1, 128, 512, 64, 256, 0},       {false, 3, 4, 256, 512, 64, 4097, 2052},
    {false, 3, 8, 128, 512, 64, 65536, 0},     {false, 3, 16, 512, 512, 64, 1048576, 0},
    {false, 4, 2, 128, 512, 64, 4096, 4},      {false, 4, 4, 256, 512, 64, 65536, 0},
    {false, 4, 8, 256, 512, 64, 1048576, 0},   {false, 4, 16, 512, 512, 64, 1048576, 100},
    {false, 5, 1, 256, 512, 64, 65536, 0},     {false, 5, 8, 512, 512, 64, 1048576, 12},
    {false, 5, 16, 128, 512, 64, 4194304, 0},  {false, 6, 1, 256, 512, 64, 65536, 0},
    {false, 6, 8, 512, 512, 64, 1048576, 0},   {false, 6, 16, 512, 512, 64, 4194304, 4},
};

std::string Name(const TransferCase& c) {
  return std::string(c.in ? "in" : "out") + " gen" + std::to_string(c.gen) + " x" +
         std::to_string(c.width) + " MPS " + std::to_string(c.mps) + " MRRS " +
         std::to_string(c.mrrs) + " tags " + std::to_string(c.tags) + " " +
         std::to_string(c.bytes) + " B at +" + std::to_string(c.offset);
}

struct MatmulCase {
  uint32_t m, n, k, batch;
  bool transpose, accumulate, bf16;
  double dram_gbs;
};

const MatmulCase kMatmuls[] = {
    {1, 32, 32, 1, false, false, false, 1000},     {1, 256, 256, 1, false, false, false, 1000},
    {1, 1024, 256, 1, false, false, false, 1000},  {1, 256, 1024, 1, true, false, false, 1000},
    {16, 32, 32, 1, false, false, false, 1000},    {16, 64, 64, 1, false, false, false, 1000},
    {31, 33, 65, 1, false, false, false, 1000},    {32, 32, 32, 1, false, false, false, 1000},
    {33, 32, 32, 1, false, false, false, 1000},    {32, 33, 32, 1, false, false, false, 1000},
    {32, 32, 33, 1, false, false, false, 1000},    {64, 64, 64, 1, false, false, false, 1000},
    {100, 100, 100, 1, false, false, false, 1000}, {128, 128, 128, 1, false, true, false, 1000},
    {128, 256, 64, 1, true, false, false, 1000},   {200, 48, 300, 1, false, false, true, 1000},
    {256, 256, 256, 1, false, false, false, 1000}, {256, 256, 256, 1, true, true, true, 1000},
    {8, 8, 8, 4, false, false, false, 1000},       {16, 64, 32, 8, false, false, false, 1000},
    {64, 16, 64, 12, true, false, false, 1000},    {512, 64, 64, 1, false, false, false, 1000},
    {64, 512, 64, 1, false, false, false, 1000},   {64, 64, 512, 1, false, false, false, 1000},
    {1, 512, 512, 1, false, false, false, 8},      {1, 1024, 1024, 1, false, false, false, 16},
    {1, 1000, 999, 1, true, false, false, 8},      {4, 512, 512, 1, false, false, false, 8},
    {32, 256, 256, 1, false, false, false, 8},     {32, 256, 256, 1, false, true, false, 4},
    {64, 64, 64, 1, false, false, true, 1},        {128, 128, 32, 1, false, false, false, 2},
    {17, 23, 29, 5, false, false, false, 1},       {300, 300, 10, 1, false, false, false, 2},
    {10, 300, 300, 1, true, false, true, 4},       {600, 600, 8, 1, false, true, false, 4},
    {256, 64, 1100, 1, false, false, false, 4},    {512, 96, 600, 1, false, false, false, 4},
    {2, 2, 2, 64, false, false, false, 1},         {1, 31, 2000, 1, false, false, false, 3},
};

struct AccessCase {
  const char* name;
  uint64_t src, dst;                // device addresses
  uint32_t rows, cols;              // of float32
  uint32_t src_stride, dst_stride;  // in elements
};

constexpr uint64_t kMiB = 1 << 20;
const AccessCase kAccesses[] = {
    {"one burst", 0, 16 * kMiB, 1, 16, 16, 16},
    {"one row", 0, 16 * kMiB, 1, 512, 512, 512},
    {"sequential 64 KiB", 0, 16 * kMiB, 1, 16384, 16384, 16384},
    {"sequential 1 MiB", 0, 16 * kMiB, 1, 262144, 262144, 262144},
    {"sequential 4 MiB", 0, 16 * kMiB, 1, 1048576, 1048576, 1048576},
    {"off by 4 bytes", 4, 16 * kMiB + 4, 1, 16384, 16384, 16384},
    {"off by 60 bytes", 60, 16 * kMiB + 60, 1, 5000, 5000, 5000},
    {"ends in a new row", 2048 - 64, 16 * kMiB, 1, 17, 17, 17},
    {"packed rows", 0, 16 * kMiB, 128, 64, 64, 64},
    {"stride 2 bursts", 0, 16 * kMiB, 1000, 16, 32, 16},
    {"stride half a row", 0, 16 * kMiB, 1000, 16, 256, 16},
    {"stride a row", 0, 16 * kMiB, 1000, 16, 512, 16},
    {"stride a row less a burst", 0, 16 * kMiB, 1000, 16, 496, 16},
    {"stride 2 rows", 0, 16 * kMiB, 1000, 16, 1024, 16},
    {"stride 3 rows", 0, 16 * kMiB, 1000, 16, 1536, 16},
    {"stride 8 rows", 0, 16 * kMiB, 1000, 16, 4096, 16},
    {"stride 16 rows: one bank", 0, 32 * kMiB, 1000, 16, 8192, 16},
    {"stride 17 rows", 0, 64 * kMiB, 1000, 16, 8704, 16},
    {"scattered store, a row", 0, 16 * kMiB, 1000, 16, 16, 512},
    {"scattered store, one bank", 0, 16 * kMiB, 1000, 16, 16, 8192},
    {"both strided", 0, 64 * kMiB, 500, 16, 512, 8192},
    {"column of 4 bytes", 0, 16 * kMiB, 1000, 1, 256, 1},
    {"column of 4 bytes, one bank", 0, 64 * kMiB, 1000, 1, 8192, 1},
    {"column both ways", 0, 16 * kMiB, 777, 1, 300, 300},
    {"broken bursts", 32, 16 * kMiB, 1000, 16, 24, 16},
    {"rows of 96 bytes in 128", 0, 16 * kMiB, 1000, 24, 32, 24},
    {"rows of 100 bytes in 104", 4, 16 * kMiB, 1000, 25, 26, 25},
    {"rows across a row's end", 1984, 16 * kMiB, 500, 32, 512, 32},
    {"2 KiB of 4 KiB", 0, 16 * kMiB, 200, 512, 1024, 512},
    {"3 KiB of 4 KiB", 0, 16 * kMiB, 200, 768, 1024, 768},
    {"6 KiB of 32 KiB", 0, 64 * kMiB, 100, 1536, 8192, 1536},
    {"48 KiB of 64 KiB", 0, 64 * kMiB, 20, 12288, 16384, 12288},
    {"in place", 0, 0, 1, 65536, 65536, 65536},
    {"same banks, other rows", 0, 32768, 1, 8192, 8192, 8192},
    {"tile 64 x 64 of 1024", 0, 16 * kMiB, 64, 64, 1024, 64},
    {"tile 128 x 32 of 4096", 128, 64 * kMiB, 128, 32, 4096, 32},
    {"tile 7 x 129 of 130", 8, 16 * kMiB, 7, 129, 130, 129},
    {"odd everything", 12, 16 * kMiB + 20, 333, 37, 41, 43},
    {"wide tile", 0, 16 * kMiB, 8, 8192, 10000, 8192},
    {"long rows, small gap", 0, 16 * kMiB, 50, 4000, 4016, 4000},
};

}  // namespace

double CaseResult::error() const {
  return expected_ns > 0 ? std::fabs(simulated_ns - expected_ns) / expected_ns : 1;
}

std::vector<CaseResult> RunTransferCases(const MakeBench& make) {
  // The other resources are made fast enough not to matter.
  std::unique_ptr<Bench> bench = make(
      ",pcie-gen=6,pcie-width=16,pcie-mps=512,pcie-mrrs=4096,link-retrain-ns=0,"
      "dram-bandwidth=10000000,dram-rrd-ps=0,dram-miss-ps=0,dram-conflict-ps=0,"
      "dma-bytes-per-cycle=1024,clock-mhz=10000");
  std::vector<CaseResult> results;
  uint64_t host = bench->HostMemory(8 << 20);
  for (const TransferCase& c : kTransfers) {
    expect::Link link = {c.gen, c.width, c.mps, c.mrrs, 64, c.tags, 600};
    for (auto [name, value] : {std::pair<const char*, unsigned>{"link-speed", c.gen},
                               {"link-width", c.width},
                               {"pcie-mps", c.mps},
                               {"pcie-mrrs", c.mrrs},
                               {"pcie-tags", c.tags}}) {
      if (!bench->Set(name, value)) return {};
    }
    uint64_t at = host + c.offset;
    Bench::Outcome got = bench->Run(c.in ? CopyIn(at, 0, c.bytes, 1) : CopyOut(at, 0, c.bytes, 1));
    expect::Traffic t =
        c.in ? expect::Read(link, {{at, c.bytes}}) : expect::Write(link, {{at, c.bytes}});
    double expected = kDispatchNs + t.ns + (c.in ? 0 : expect::Dram().latency_ns);
    results.push_back({Name(c), expected, got.ns, got.work == t.mrd + t.cpld + t.mwr});
  }
  return results;
}

std::vector<CaseResult> RunMatmulCases(const MakeBench& make) {
  constexpr unsigned kBuffer = 256 << 10;
  std::unique_ptr<Bench> bench = make(",matrix-rows=32,matrix-cols=32,matrix-buffer-bytes=262144");
  std::vector<CaseResult> results;
  for (const MatmulCase& c : kMatmuls) {
    bench->Set("dram-bandwidth", static_cast<int64_t>(c.dram_gbs * 1000));
    uint64_t in = c.bf16 ? 2 : 4, a = 0, b = 16 * kMiB, out = 32 * kMiB;
    axl_desc d = Matmul(a, b, out, c.m, c.n, c.k, 1);
    d.matmul.ldb = c.transpose ? c.k : c.n;
    d.matmul.batch = c.batch;
    d.matmul.batch_stride_a = c.m * c.k;
    d.matmul.batch_stride_b = c.n * c.k;
    d.matmul.batch_stride_c = c.m * c.n;
    d.matmul.flags = (c.transpose ? AXL_MM_F_TRANSPOSE_B : 0u) |
                     (c.accumulate ? AXL_MM_F_ACCUMULATE : 0u) |
                     (c.bf16 ? AXL_MM_F_A_BF16 | AXL_MM_F_B_BF16 : 0u);
    Bench::Outcome got = bench->Run(d);

    expect::Dram dram;
    dram.bytes_per_ns = c.dram_gbs;
    unsigned strips = (c.n + 31) / 32;
    unsigned passes = c.m * c.k * in <= kBuffer ? 1 : strips;
    std::vector<expect::Operand> ops;
    uint64_t b_rows = c.transpose ? c.n : c.k, b_cols = c.transpose ? c.k : c.n;
    ops.push_back({a, c.m, c.k * in, c.k * in, passes, c.batch, c.m * c.k * in});
    ops.push_back({b, b_rows, b_cols * in, b_cols * in, 1, c.batch, c.n * c.k * in});
    for (int i = c.accumulate ? 0 : 1; i < 2; i++) {
      ops.push_back({out, c.m, c.n * 4ull, c.n * 4ull, 1, c.batch, c.m * c.n * 4ull});
    }
    expect::Bursts bursts = expect::Stream(dram, ops);
    double cycles = expect::MatmulCycles(32, 32, c.m, c.n, c.k, c.batch);
    double expected = kDispatchNs + dram.latency_ns + std::max(cycles, bursts.ns);
    std::string name = std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) +
                       " batch " + std::to_string(c.batch) + (c.transpose ? " transposed" : "") +
                       (c.accumulate ? " accumulate" : "") + (c.bf16 ? " bf16" : "") + " at " +
                       std::to_string(static_cast<int>(c.dram_gbs)) + " GB/s";
    bool equal = got.row_hits == bursts.hits && got.row_misses == bursts.misses &&
                 got.row_conflicts == bursts.conflicts;
    results.push_back({name, expected, got.ns, equal});
  }
  return results;
}

std::vector<CaseResult> RunAccessCases(const MakeBench& make) {
  std::unique_ptr<Bench> bench = make(",vector-lanes=1024,clock-mhz=10000");
  std::vector<CaseResult> results;
  for (const AccessCase& c : kAccesses) {
    axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_COPY, 1);
    d.vector.src0 = c.src;
    d.vector.dst = c.dst;
    d.vector.rows = c.rows;
    d.vector.cols = c.cols;
    d.vector.src0_stride = c.src_stride;
    d.vector.dst_stride = c.dst_stride;
    Bench::Outcome got = bench->Run(d);

    expect::Dram dram;
    expect::Bursts bursts =
        expect::Stream(dram, {{c.src, c.rows, c.cols * 4ull, c.src_stride * 4ull},
                              {c.dst, c.rows, c.cols * 4ull, c.dst_stride * 4ull}});
    bool packed = c.src_stride == c.cols && c.dst_stride == c.cols;
    double steps = packed ? std::ceil(double{1} * c.rows * c.cols / 1024)
                          : c.rows * std::ceil(c.cols / 1024.0);
    double expected = kDispatchNs + dram.latency_ns + std::max(bursts.ns, steps * 0.1);
    bool equal = got.row_hits == bursts.hits && got.row_misses == bursts.misses &&
                 got.row_conflicts == bursts.conflicts &&
                 got.dram_bytes == bursts.total() * dram.burst_bytes &&
                 got.useful_bytes == 8ull * c.rows * c.cols;
    results.push_back({c.name, expected, got.ns, equal});
  }
  return results;
}

}  // namespace acceltrace::device
