// SPDX-License-Identifier: Apache-2.0
//
// Compares the engines' results with double precision on the host.
#include <cmath>
#include <functional>
#include <random>

#include "qemu-device/tests/device.h"
#include "tests/catch.h"

namespace acceltrace::device {
namespace {

using Floats = std::vector<float>;

uint16_t Bf16(float f) { return static_cast<uint16_t>(Bits(f) >> 16); }
float FromBf16(uint16_t h) {
  uint32_t u = uint32_t{h} << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

class Compute {
 public:
  Compute() : machine_({"-device", "axl,id=axl0,bus=rp0"}), dev_(&machine_) {
    dev_.Enable();
    dev_.EnableContext(0);
    dev_.SetUpQueue(0, 0);
    host_ = dev_.Alloc(4 << 20);
  }
  Device& dev() { return dev_; }
  uint64_t host() const { return host_; }

  void Run(axl_desc d) {
    d.job = ++job_;
    d.flags |= kLast;
    dev_.Push(0, d);
    dev_.Ring(0);
    axl_cqe cqe = {};
    REQUIRE(dev_.Await(0, &cqe));
    REQUIRE(cqe.status == AXL_ST_OK);
  }
  template <typename T>
  void Upload(uint64_t device, const std::vector<T>& v) {
    dev_.Put(host_, v);
    Run(CopyIn(host_, device, v.size() * sizeof(T), 1));
  }
  template <typename T = float>
  std::vector<T> Download(uint64_t device, size_t count) {
    Run(CopyOut(host_, device, count * sizeof(T), 1));
    return dev_.Get<T>(host_, count);
  }
  Floats Random(size_t n, float scale = 1) {
    Floats v(n);
    for (float& x : v) x = scale * std::normal_distribution<float>()(rng_);
    return v;
  }

 private:
  Machine machine_;
  Device dev_;
  uint64_t host_;
  uint32_t job_ = 0;
  std::mt19937 rng_{12345};
};

constexpr uint64_t kA = 0x1000000, kB = 0x2000000, kC = 0x3000000;

// The largest error relative to the magnitude of the sums.
void CheckClose(const Floats& got, const std::vector<double>& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); i++) {
    worst = std::max(worst, std::fabs(got[i] - want[i]) / (1 + std::fabs(want[i])));
  }
  CHECK(worst <= tolerance);
}

}  // namespace

TEST_CASE("matmuls of many shapes and layouts are right", "[exec]") {
  Compute c;
  struct {
    uint32_t m, n, k, batch;
    bool transpose, accumulate, a16, b16;
    uint32_t pad;
  } cases[] = {
      {1, 1, 1, 1, false, false, false, false, 0},
      {1, 70, 33, 1, false, false, false, false, 3},
      {2, 17, 600, 1, false, true, false, false, 0},
      {3, 16, 64, 1, false, false, false, false, 0},
      {5, 15, 7, 2, false, false, false, false, 1},
      {64, 64, 64, 1, false, false, false, false, 0},
      {67, 33, 129, 1, true, false, false, false, 2},
      {1, 40, 50, 3, true, true, false, false, 0},
      {300, 20, 1030, 1, false, false, false, false, 0},
      {20, 50, 30, 2, false, false, true, false, 4},
      {20, 50, 30, 2, true, false, false, true, 0},
      {9, 90, 600, 1, true, true, true, true, 5},
      {1, 90, 60, 1, false, false, true, true, 2},
  };
  for (const auto& t : cases) {
    INFO(t.m << "x" << t.n << "x" << t.k);
    uint32_t lda = t.k + t.pad, ldb = (t.transpose ? t.k : t.n) + t.pad, ldc = t.n + t.pad;
    uint32_t b_rows = t.transpose ? t.n : t.k;
    uint32_t sa = t.m * lda, sb = b_rows * ldb, sc = t.m * ldc;
    Floats a = c.Random(sa * t.batch), b = c.Random(sb * t.batch), out = c.Random(sc * t.batch);
    if (t.a16) {
      std::vector<uint16_t> half;
      for (float& x : a) {
        half.push_back(Bf16(x));
        x = FromBf16(half.back());
      }
      c.Upload(kA, half);
    } else {
      c.Upload(kA, a);
    }
    if (t.b16) {
      std::vector<uint16_t> half;
      for (float& x : b) {
        half.push_back(Bf16(x));
        x = FromBf16(half.back());
      }
      c.Upload(kB, half);
    } else {
      c.Upload(kB, b);
    }
    c.Upload(kC, out);
    axl_desc d = Matmul(kA, kB, kC, t.m, t.n, t.k, 1);
    d.matmul.lda = lda;
    d.matmul.ldb = ldb;
    d.matmul.ldc = ldc;
    d.matmul.batch = t.batch;
    d.matmul.batch_stride_a = sa;
    d.matmul.batch_stride_b = sb;
    d.matmul.batch_stride_c = sc;
    d.matmul.alpha_f32 = Bits(0.5f);
    d.matmul.flags = (t.transpose ? AXL_MM_F_TRANSPOSE_B : 0u) |
                     (t.accumulate ? AXL_MM_F_ACCUMULATE : 0u) | (t.a16 ? AXL_MM_F_A_BF16 : 0u) |
                     (t.b16 ? AXL_MM_F_B_BF16 : 0u);
    c.Run(d);
    std::vector<double> want(out.begin(), out.end());  // data between rows stays
    for (uint32_t i = 0; i < t.batch; i++) {
      for (uint32_t r = 0; r < t.m; r++) {
        for (uint32_t col = 0; col < t.n; col++) {
          double sum = 0;
          for (uint32_t k = 0; k < t.k; k++) {
            size_t at = t.transpose ? col * ldb + k : k * ldb + col;
            sum += double{a[i * sa + r * lda + k]} * b[i * sb + at];
          }
          double& w = want[i * sc + r * ldc + col];
          w = 0.5 * sum + (t.accumulate ? w : 0);
        }
      }
    }
    CheckClose(c.Download(kC, out.size()), want, 2e-5);
  }
}

TEST_CASE("a matmul's sums do not depend on its shape", "[exec]") {
  // A single row takes a different code path than the same row among others.
  Compute c;
  constexpr uint32_t kN = 50, kK = 700;
  Floats a = c.Random(8 * kK), b = c.Random(kK * kN);
  c.Upload(kA, a);
  c.Upload(kB, b);
  c.Run(Matmul(kA, kB, kC, 8, kN, kK, 1));
  Floats all = c.Download(kC, 8 * kN);
  for (uint32_t r : {0u, 5u}) {
    c.Run(Matmul(kA + r * kK * 4, kB, kC, 1, kN, kK, 1));
    Floats one = c.Download(kC, kN);
    CHECK(one == Floats(all.begin() + r * kN, all.begin() + (r + 1) * kN));
  }
}

namespace {

constexpr uint32_t kRows = 13, kCols = 96;

struct VectorOp {
  unsigned opcode;
  uint32_t flags;
  float alpha, beta;
  uint32_t arg0, arg1;
  // row, its column, its x, its y -> wanted value
  std::function<double(uint32_t, uint32_t, const float*, const float*)> want;
};

double Silu(double v) { return v / (1 + std::exp(-v)); }

double Softmax(const float* v, uint32_t live, uint32_t col, double alpha) {
  double max = -1e30, sum = 0;
  for (uint32_t i = 0; i < live; i++) max = std::max(max, v[i] * alpha);
  for (uint32_t i = 0; i < live; i++) sum += std::exp(v[i] * alpha - max);
  return col < live ? std::exp(v[col] * alpha - max) / sum : 0;
}

double Rms(const float* v) {
  double sum = 0;
  for (uint32_t i = 0; i < kCols; i++) sum += double{v[i]} * v[i];
  return std::sqrt(sum / kCols + 1e-5);
}

double Rope(uint32_t r, uint32_t col, const float* v) {
  constexpr uint32_t kHead = 32;
  uint32_t i = col % kHead / 2;
  double angle = (7 + r) * std::pow(10000.0, -2.0 * i / kHead);
  const float* pair = v + col / 2 * 2;
  return col % 2 ? pair[0] * std::sin(angle) + pair[1] * std::cos(angle)
                 : pair[0] * std::cos(angle) - pair[1] * std::sin(angle);
}

// `y` is the first row of the second operand, for those that use it in every row.
std::vector<VectorOp> VectorOps(const float* y) {
  return {
      {AXL_OP_VEC_FILL, 0, 2.5f, 0, 0, 0, [](auto, auto, auto, auto) { return 2.5; }},
      {AXL_OP_VEC_COPY, 0, 0, 0, 0, 0, [](auto, auto i, auto v, auto) { return v[i]; }},
      {AXL_OP_VEC_ADD, 0, 0, 0, 0, 0, [](auto, auto i, auto v, auto w) { return v[i] + w[i]; }},
      {AXL_OP_VEC_MUL, 0, 0, 0, 0, 0, [](auto, auto i, auto v, auto w) { return v[i] * w[i]; }},
      {AXL_OP_VEC_ADD, AXL_VEC_F_BROADCAST1, 0, 0, 0, 0,
       [y](auto, auto i, auto v, auto) { return v[i] + y[i]; }},
      {AXL_OP_VEC_SCALE, 0, 1.5f, -2, 0, 0,
       [](auto, auto i, auto v, auto) { return v[i] * 1.5 - 2; }},
      {AXL_OP_VEC_SILU, 0, 0, 0, 0, 0, [](auto, auto i, auto v, auto) { return Silu(v[i]); }},
      {AXL_OP_VEC_SILU_MUL, 0, 0, 0, 0, 0,
       [](auto, auto i, auto v, auto w) { return Silu(v[i]) * w[i]; }},
      {AXL_OP_VEC_GELU, 0, 0, 0, 0, 0,
       [](auto, auto i, auto v, auto) { return v[i] / 2 * (1 + std::erf(v[i] / std::sqrt(2.0))); }},
      {AXL_OP_VEC_RMSNORM, 0, 1e-5f, 0, 0, 0,
       [y](auto, auto i, auto v, auto) { return v[i] / Rms(v) * y[i]; }},
      {AXL_OP_VEC_SOFTMAX, 0, 0.7f, 0, 0, 0,
       [](auto, auto i, auto v, auto) { return Softmax(v, kCols, i, 0.7f); }},
      {AXL_OP_VEC_SOFTMAX, AXL_VEC_F_CAUSAL, 1, 0, 3, 0,
       [](auto r, auto i, auto v, auto) { return Softmax(v, r + 4, i, 1); }},
      {AXL_OP_VEC_ROPE, 0, 10000, 0, 7, 32,
       [](auto r, auto i, auto v, auto) { return Rope(r, i, v); }},
  };
}

void CheckVectorOp(Compute* c, const VectorOp& op, const Floats& x, const Floats& y,
                   uint32_t stride) {
  c->Upload(kA, x);
  c->Upload(kB, y);
  Floats before = c->Random(kRows * stride);
  c->Upload(kC, before);
  axl_desc d = Command(AXL_ENGINE_VECTOR, op.opcode, 1);
  d.vector.src0 = kA;
  d.vector.src1 = kB;
  d.vector.dst = kC;
  d.vector.rows = kRows;
  d.vector.cols = kCols;
  d.vector.src0_stride = d.vector.src1_stride = d.vector.dst_stride = stride;
  d.vector.flags = op.flags;
  d.vector.alpha_f32 = Bits(op.alpha);
  d.vector.beta_f32 = Bits(op.beta);
  d.vector.arg0 = op.arg0;
  d.vector.arg1 = op.arg1;
  c->Run(d);
  std::vector<double> want(before.begin(), before.end());
  for (uint32_t r = 0; r < kRows; r++) {
    for (uint32_t i = 0; i < kCols; i++) {
      want[r * stride + i] = op.want(r, i, x.data() + r * stride, y.data() + r * stride);
    }
  }
  CheckClose(c->Download(kC, before.size()), want, 2e-6);
  if (op.opcode == AXL_OP_VEC_FILL) return;
  // Working in place gives the same result.
  d.vector.dst = kA;
  Floats apart = c->Download(kC, kCols);
  c->Run(d);
  CHECK(c->Download(kA, kCols) == apart);
}

}  // namespace

TEST_CASE("vector operations are right", "[exec]") {
  Compute c;
  constexpr uint32_t kPad = 5;
  Floats x = c.Random(kRows * (kCols + kPad), 3), y = c.Random(kRows * (kCols + kPad), 2);
  for (bool padded : {false, true}) {
    for (const VectorOp& op : VectorOps(y.data())) {
      INFO("opcode " << op.opcode << (padded ? " padded" : ""));
      CheckVectorOp(&c, op, x, y, kCols + (padded ? kPad : 0));
    }
  }
}

TEST_CASE("extreme inputs give no surprises", "[exec]") {
  Compute c;
  Floats x = {-1e30f, -200, -100, -88, -20,   -1e-30f,   0,
              1e-30f, 20,   88,   100, 1e30f, -INFINITY, INFINITY};
  c.Upload(kA, x);
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_SILU, 1);
  d.vector.src0 = kA;
  d.vector.dst = kC;
  d.vector.rows = 1;
  d.vector.cols = static_cast<uint32_t>(x.size());
  c.Run(d);
  Floats got = c.Download(kC, x.size());
  for (size_t i = 0; i < 12; i++) {
    double want = x[i] / (1 + std::exp(-double{x[i]}));
    INFO(x[i]);
    CHECK(std::fabs(got[i] - want) <= 1e-6 * std::max(1.0, std::fabs(want)));
  }
  d.opcode = AXL_OP_VEC_SOFTMAX;
  d.vector.cols = 12;
  d.vector.alpha_f32 = Bits(1);
  c.Run(d);
  got = c.Download(kC, 12);
  CHECK(got[11] == 1.0f);
  CHECK(got[0] == Approx(0).margin(1e-30));
}

TEST_CASE("gather, argmax and sum are right", "[exec]") {
  Compute c;
  Floats table = c.Random(50 * 20);
  std::vector<uint32_t> index = {3, 49, 0, 17, 17, 8};
  c.Upload(kA, index);
  c.Upload(kB, table);
  axl_desc d = Command(AXL_ENGINE_VECTOR, AXL_OP_VEC_GATHER, 1);
  d.vector.src0 = kA;
  d.vector.src1 = kB;
  d.vector.dst = kC;
  d.vector.rows = 6;
  d.vector.cols = 19;
  d.vector.src1_stride = 20;
  d.vector.dst_stride = 19;
  d.vector.arg0 = 50;
  c.Run(d);
  Floats got = c.Download(kC, 6 * 19);
  for (size_t r = 0; r < 6; r++) {
    for (size_t i = 0; i < 19; i++) REQUIRE(got[r * 19 + i] == table[index[r] * 20 + i]);
  }
  table[7] = 50;
  table[11] = 50;  // a tie: the first counts
  c.Upload(kB, table);
  d.opcode = AXL_OP_VEC_ARGMAX;
  d.vector.src0 = kB;
  d.vector.src0_stride = 20;
  d.vector.cols = 20;
  d.vector.rows = 50;
  d.vector.dst_stride = 0;
  c.Run(d);
  std::vector<uint32_t> best = c.Download<uint32_t>(kC, 50);
  CHECK(best[0] == 7);
  for (size_t r = 1; r < 50; r++) {
    auto row = table.begin() + static_cast<long>(r * 20);
    CHECK(best[r] == static_cast<uint32_t>(std::max_element(row, row + 20) - row));
  }
  d.opcode = AXL_OP_VEC_SUM;
  d.vector.dst_stride = 3;
  c.Run(d);
  Floats sums = c.Download(kC, 150);
  for (size_t r = 0; r < 50; r++) {
    double sum = 0;
    for (size_t i = 0; i < 20; i++) sum += table[r * 20 + i];
    CHECK(std::fabs(sums[3 * r] - sum) < 1e-4);
  }
}

TEST_CASE("copies of rows and scatter lists move the right bytes", "[exec]") {
  Compute c;
  Device& dev = c.dev();
  std::vector<uint8_t> bytes(65536);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
  uint64_t host = dev.Alloc(1 << 20), back = dev.Alloc(1 << 20), list = dev.Alloc(65536);
  dev.Put(host, bytes);

  SECTION("rows") {
    axl_desc d = CopyIn(host + 5, 0x1003, 100, 1);
    d.copy.rows = 17;
    d.copy.host_pitch = 300;
    d.copy.device_pitch = 128;
    c.Run(d);
    d = CopyOut(back + 1, 0x1003, 100, 1);
    d.copy.rows = 17;
    d.copy.host_pitch = 200;
    d.copy.device_pitch = 128;
    c.Run(d);
    std::vector<uint8_t> got = dev.Get<uint8_t>(back, 4096);
    for (size_t r = 0; r < 17; r++) {
      for (size_t i = 0; i < 100; i++) REQUIRE(got[1 + r * 200 + i] == bytes[5 + r * 300 + i]);
      REQUIRE(got[1 + r * 200 + 100] == 0);
    }
  }
  SECTION("a list as one stream, rows in it, an offset, both ways") {
    std::mt19937 rng(5);
    std::vector<axl_sg> entries;
    std::vector<uint8_t> stream;
    uint64_t at = host;
    while (stream.size() < 20000) {
      uint32_t n = 1 + static_cast<uint32_t>(rng() % 700);
      entries.push_back({at, n, 0});
      stream.insert(stream.end(), bytes.begin() + static_cast<long>(at - host),
                    bytes.begin() + static_cast<long>(at - host + n));
      at += n + rng() % 50;
    }
    dev.Put(list, entries);
    axl_desc d = CopyIn(list, 0x2000, 150, 1, 0, AXL_DESC_F_SG);
    d.copy.sg_count = static_cast<uint32_t>(entries.size());
    d.copy.sg_offset = 33;
    d.copy.rows = 60;
    d.copy.host_pitch = 310;
    d.copy.device_pitch = 160;
    c.Run(d);
    std::vector<uint8_t> got = c.Download<uint8_t>(0x2000, 60 * 160);
    for (size_t r = 0; r < 60; r++) {
      for (size_t i = 0; i < 150; i++) REQUIRE(got[r * 160 + i] == stream[33 + r * 310 + i]);
    }
    // Copy back through another list.
    std::vector<axl_sg> out = {{back + 100, 4000, 0}, {back + 8192, 5000, 0}, {back + 1, 99, 0}};
    dev.Put(list, out);
    d = CopyOut(list, 0x2000, 9000, 1, 0, AXL_DESC_F_SG);
    d.copy.sg_count = 3;
    c.Run(d);
    std::vector<uint8_t> there = dev.Get<uint8_t>(back, 16384);
    for (size_t i = 0; i < 9000; i++) {
      REQUIRE(there[i < 4000 ? 100 + i : 8192 + i - 4000] == got[i]);
    }
    CHECK(there[1] == 0);
  }
  SECTION("scratchpad") {
    c.Run(CopyIn(host, AXL_SCRATCHPAD_BASE + 77, 1000, 1));
    Counters n = dev.Latch();
    CHECK(n[AXL_CTR_SCRATCH_BYTES] == 1000);
    CHECK(n[AXL_CTR_DRAM_BURSTS] == 0);
    std::vector<uint8_t> got = c.Download<uint8_t>(AXL_SCRATCHPAD_BASE + 77, 1000);
    CHECK(std::equal(got.begin(), got.end(), bytes.begin()));
  }
}

}  // namespace acceltrace::device
