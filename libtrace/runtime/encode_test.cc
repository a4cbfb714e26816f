// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/encode.h"

#include <cmath>
#include <vector>

#include "libtrace/runtime/names.h"
#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

struct Encoding : Fixture {
  Encoding() { AXL_OK(Runtime::Get().GetCurrentDevice(&device)); }
  // Allocates exactly `floats` elements, so that the last one is at the allocation's end.
  float* Floats(size_t floats) {
    void* p = nullptr;
    AXL_OK(axlMalloc(&p, floats * 4));
    return static_cast<float*>(p);
  }
  axlError_t Matmul(const axlMatmul& mm) {
    return EncodeMatmul(device->buffers(), nullptr, mm, &command);
  }
  axlError_t Vector(axlVectorOp op, const axlVector& vec) {
    return EncodeVector(device->buffers(), nullptr, op, vec, &command);
  }
  std::shared_ptr<Device> device;
  axl_desc command;
};

axlMatmul Mm(float* a, float* b, float* c, uint32_t m, uint32_t n, uint32_t k) {
  axlMatmul mm = {};
  mm.a = a;
  mm.b = b;
  mm.c = c;
  mm.m = m;
  mm.n = n;
  mm.k = k;
  mm.alpha = 1;
  return mm;
}

}  // namespace

TEST_CASE("matmul: defaults are packed, operands may fill their allocation and not exceed it") {
  Encoding f;
  const axlMatmul ok = Mm(f.Floats(3 * 5), f.Floats(5 * 4), f.Floats(3 * 4), 3, 4, 5);
  AXL_OK(f.Matmul(ok));
  REQUIRE(f.command.matmul.lda == 5);
  REQUIRE(f.command.matmul.ldb == 4);
  REQUIRE(f.command.matmul.ldc == 4);
  REQUIRE(f.command.matmul.batch == 1);
  REQUIRE(f.command.engine == AXL_ENGINE_MATRIX);
  REQUIRE(OpNames().Find(f.command.tag)->text == "matmul");
  axlMatmul mm = ok;
  SECTION("m") { mm.m = 4; }
  SECTION("n") { mm.n = 5; }
  SECTION("k") { mm.k = 6; }
  SECTION("lda") { mm.lda = 6; }
  SECTION("batch") {
    mm.batch = 2;
    mm.batchStrideC = 1;
  }
  SECTION("offset") { mm.a = static_cast<const float*>(mm.a) + 1; }
  REQUIRE(f.Matmul(mm) == axlErrorInvalidDevicePointer);
}

TEST_CASE("matmul: transposed, strided and batched operands end where they end") {
  Encoding f;
  // A has 2 batches of 3 x 5 in rows of 7. The last element is 1 * 30 + 2 * 7 + 5.
  axlMatmul mm = Mm(f.Floats(30 + 14 + 5), f.Floats(4 * 5), f.Floats(2 * 12), 3, 4, 5);
  mm.lda = 7;
  mm.batch = 2;
  mm.batchStrideA = 30;
  mm.batchStrideC = 12;
  mm.flags = axlMatmulTransposeB;
  AXL_OK(f.Matmul(mm));
  REQUIRE(f.command.matmul.ldb == 5);
  mm.batchStrideA = 31;
  REQUIRE(f.Matmul(mm) == axlErrorInvalidDevicePointer);
}

TEST_CASE("matmul: bf16 halves an operand, and its alignment") {
  Encoding f;
  axlMatmul mm = Mm(f.Floats(8), f.Floats(8), f.Floats(16), 4, 4, 4);
  REQUIRE(f.Matmul(mm) == axlErrorInvalidDevicePointer);
  mm.flags = axlMatmulBf16A | axlMatmulBf16B;
  AXL_OK(f.Matmul(mm));
  mm.k = 3;
  mm.a = static_cast<const char*>(mm.a) + 2;
  AXL_OK(f.Matmul(mm));
  mm.c = static_cast<char*>(mm.c) + 2;
  mm.m = 3;
  REQUIRE(f.Matmul(mm) == axlErrorInvalidValue);
}

TEST_CASE("matmul: bad arguments") {
  Encoding f;
  float* x = f.Floats(64);
  axlMatmul mm = Mm(x, x, x, 4, 4, 4);
  SECTION("zero m") { mm.m = 0; }
  SECTION("zero n") { mm.n = 0; }
  SECTION("zero k") { mm.k = 0; }
  SECTION("lda") { mm.lda = 3; }
  SECTION("ldb") { mm.ldb = 3; }
  SECTION("ldc") { mm.ldc = 3; }
  SECTION("alpha") { mm.alpha = 0; }
  SECTION("NaN") { mm.alpha = NAN; }
  SECTION("flags") { mm.flags = 0x10; }
  SECTION("huge") { mm.m = mm.n = mm.k = UINT32_MAX; }
  SECTION("many") { mm.batch = UINT32_MAX; }
  SECTION("work") { mm.m = mm.n = mm.k = AXL_MAX_DIM; }
  REQUIRE(f.Matmul(mm) == axlErrorInvalidValue);
  AXL_OK(f.Matmul(Mm(x, x, x, 4, 4, 4)));
}

TEST_CASE("matmul: null and foreign pointers, overflowing extents") {
  Encoding f;
  float* x = f.Floats(64);
  axlMatmul mm = Mm(x, x, x, 4, 4, 4);
  int local;
  SECTION("null") { mm.b = nullptr; }
  SECTION("host") { mm.c = &local; }
  SECTION("stride") {
    mm.batch = 1000;
    mm.batchStrideA = UINT32_MAX;
  }
  SECTION("ld") { mm.lda = UINT32_MAX; }
  REQUIRE(f.Matmul(mm) == axlErrorInvalidDevicePointer);
}

TEST_CASE("vector ops: operands end where they end") {
  Encoding f;
  struct Case {
    axlVectorOp op;
    size_t src0, src1, dst;  // elements of a 3 x 4 op in rows of 6
  };
  const size_t full = 2 * 6 + 4;
  const Case cases[] = {
      {axlVecFill, 0, 0, full},          {axlVecCopy, full, 0, full},
      {axlVecAdd, full, full, full},     {axlVecMul, full, full, full},
      {axlVecScale, full, 0, full},      {axlVecSilu, full, 0, full},
      {axlVecSiluMul, full, full, full}, {axlVecGelu, full, 0, full},
      {axlVecRmsNorm, full, 4, full},    {axlVecSoftmax, full, 0, full},
      {axlVecRope, full, 0, full},       {axlVecArgmax, full, 0, 2 * 6 + 1},
      {axlVecSum, full, 0, 2 * 6 + 1},   {axlVecGather, 2 * 6 + 1, 6 * 6 + 4, full},
  };
  for (const Case& c : cases) {
    axlVector vec = {};
    vec.rows = 3;
    vec.cols = 4;
    vec.src0Stride = vec.src1Stride = vec.dstStride = 6;
    vec.alpha = 1;
    vec.arg0 = 7;
    vec.arg1 = 2;
    const auto build = [&](size_t src0, size_t src1, size_t dst) {
      vec.src0 = src0 ? f.Floats(src0) : nullptr;
      vec.src1 = src1 ? f.Floats(src1) : nullptr;
      vec.dst = dst ? f.Floats(dst) : nullptr;
      return f.Vector(c.op, vec);
    };
    INFO(c.op);
    AXL_OK(build(c.src0, c.src1, c.dst));
    REQUIRE(f.command.opcode == c.op);
    REQUIRE(f.command.engine == AXL_ENGINE_VECTOR);
    REQUIRE(build(c.src0, c.src1, c.dst - 1) == axlErrorInvalidDevicePointer);
    if (c.src0) REQUIRE(build(c.src0 - 1, c.src1, c.dst) == axlErrorInvalidDevicePointer);
    if (c.src1) REQUIRE(build(c.src0, c.src1 - 1, c.dst) == axlErrorInvalidDevicePointer);
    AXL_OK(axlDeviceReset());
    AXL_OK(Runtime::Get().GetCurrentDevice(&f.device));
  }
}

TEST_CASE("vector ops: defaults of strides") {
  Encoding f;
  axlVector vec = {};
  vec.rows = 3;
  vec.cols = 4;
  vec.alpha = 1;
  vec.src0 = f.Floats(12);
  vec.dst = f.Floats(3);
  AXL_OK(f.Vector(axlVecArgmax, vec));
  REQUIRE(f.command.vector.dst_stride == 1);
  vec.src0 = f.Floats(3);
  vec.src1 = f.Floats(20);
  vec.dst = f.Floats(12);
  vec.arg0 = 5;
  AXL_OK(f.Vector(axlVecGather, vec));
  REQUIRE(f.command.vector.src0_stride == 1);
  REQUIRE(f.command.vector.src1_stride == 4);
  vec.src0 = f.Floats(12);
  vec.src1 = f.Floats(4);
  vec.flags = axlVecBroadcast1;
  AXL_OK(f.Vector(axlVecAdd, vec));
}

TEST_CASE("vector ops: bad arguments") {
  Encoding f;
  axlVector vec = {};
  vec.rows = 2;
  vec.cols = 4;
  vec.src0 = vec.src1 = vec.dst = f.Floats(64);
  vec.alpha = 1;
  vec.arg1 = 4;
  axlVectorOp op = axlVecRope;
  AXL_OK(f.Vector(op, vec));
  SECTION("rows") { vec.rows = 0; }
  SECTION("cols") { vec.cols = 0; }
  SECTION("op below") { op = static_cast<axlVectorOp>(0x3f); }
  SECTION("op above") { op = static_cast<axlVectorOp>(0x4e); }
  SECTION("op odd") { op = static_cast<axlVectorOp>(-1); }
  SECTION("flags") { vec.flags = 4; }
  SECTION("causal") { vec.flags = axlVecCausal; }
  SECTION("broadcast") { vec.flags = axlVecBroadcast1; }
  SECTION("head") { vec.arg1 = 3; }
  SECTION("no head") { vec.arg1 = 0; }
  SECTION("theta") { vec.alpha = 0; }
  SECTION("infinite") { vec.alpha = INFINITY; }
  SECTION("beta") { vec.beta = NAN; }
  SECTION("stride") { vec.dstStride = 3; }
  SECTION("huge") { vec.rows = vec.cols = UINT32_MAX; }
  SECTION("softmax scale") {
    op = axlVecSoftmax;
    vec.alpha = 0;
  }
  SECTION("empty table") {
    op = axlVecGather;
    vec.arg0 = 0;
  }
  SECTION("alignment") { vec.dst = static_cast<char*>(vec.dst) + 2; }
  REQUIRE(f.Vector(op, vec) == axlErrorInvalidValue);
}
