// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/names.h"

namespace acceltrace::runtime {
namespace {

static_assert(axlMatmulAccumulate == AXL_MM_F_ACCUMULATE);
static_assert(axlMatmulTransposeB == AXL_MM_F_TRANSPOSE_B);
static_assert(axlMatmulBf16A == AXL_MM_F_A_BF16 && axlMatmulBf16B == AXL_MM_F_B_BF16);
static_assert(axlVecCausal == AXL_VEC_F_CAUSAL && axlVecBroadcast1 == AXL_VEC_F_BROADCAST1);
#define AXL_SAME_OP(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
AXL_SAME_OP(axlVecFill, AXL_OP_VEC_FILL);
AXL_SAME_OP(axlVecCopy, AXL_OP_VEC_COPY);
AXL_SAME_OP(axlVecAdd, AXL_OP_VEC_ADD);
AXL_SAME_OP(axlVecMul, AXL_OP_VEC_MUL);
AXL_SAME_OP(axlVecScale, AXL_OP_VEC_SCALE);
AXL_SAME_OP(axlVecSilu, AXL_OP_VEC_SILU);
AXL_SAME_OP(axlVecSiluMul, AXL_OP_VEC_SILU_MUL);
AXL_SAME_OP(axlVecGelu, AXL_OP_VEC_GELU);
AXL_SAME_OP(axlVecRmsNorm, AXL_OP_VEC_RMSNORM);
AXL_SAME_OP(axlVecSoftmax, AXL_OP_VEC_SOFTMAX);
AXL_SAME_OP(axlVecRope, AXL_OP_VEC_ROPE);
AXL_SAME_OP(axlVecGather, AXL_OP_VEC_GATHER);
AXL_SAME_OP(axlVecArgmax, AXL_OP_VEC_ARGMAX);
AXL_SAME_OP(axlVecSum, AXL_OP_VEC_SUM);
#undef AXL_SAME_OP

const char* const kVectorNames[] = {"fill", "copy",     "add",    "mul",     "scale",
                                    "silu", "silu_mul", "gelu",   "rmsnorm", "softmax",
                                    "rope", "gather",   "argmax", "sum"};
constexpr uint32_t kNumVectorOps = sizeof kVectorNames / sizeof kVectorNames[0];

// Returns the number of elements from the first to the last one of a rows x cols operand. It fits
// into 64 bits, since it is at most (2^32 - 1) * (2^32 - 1) + 2^32.
uint64_t Extent(uint64_t rows, uint64_t cols, uint64_t stride) {
  return rows == 0 ? 0 : (rows - 1) * stride + cols;
}

uint32_t Or(uint32_t value, uint32_t fallback) { return value ? value : fallback; }

axlError_t CheckFinite(const char* op, const char* name, float value) {
  if (std::isfinite(value)) return axlSuccess;
  return Fail(axlErrorInvalidValue, "%s: %s is not a finite number", op, name);
}

struct Operand {
  const char* name;
  const void* pointer;
  uint64_t elements;
  uint32_t element_bytes;
  uint64_t* ref;
};

axlError_t ResolveOperand(const Buffers& buffers, const char* op, const Operand& operand) {
  if (operand.elements == 0) return axlSuccess;
  if (!operand.pointer)
    return Fail(axlErrorInvalidDevicePointer, "%s: %s is NULL", op, operand.name);
  if (operand.elements > (1ULL << AXL_REF_OFFSET_BITS) / operand.element_bytes)
    return Fail(axlErrorInvalidDevicePointer, "%s: %s is larger than any allocation", op,
                operand.name);
  if (reinterpret_cast<uint64_t>(operand.pointer) % operand.element_bytes != 0)
    return Fail(axlErrorInvalidValue, "%s: %s is not aligned to its elements of %u bytes", op,
                operand.name, operand.element_bytes);
  if (axlError_t e = buffers.ResolveDevice(
          operand.pointer, operand.elements * operand.element_bytes, operand.name, operand.ref)) {
    const char* detail = Detail();
    return Fail(e, "%s: %s", op, detail);
  }
  return axlSuccess;
}

}  // namespace

axlError_t EncodeMatmul(const Buffers& buffers, const char* op, const axlMatmul& args,
                        axl_desc* command) {
  if (!op) op = "matmul";
  if (args.flags & ~AXL_MM_F_ALL)
    return Fail(axlErrorInvalidValue, "%s: unknown matmul flags 0x%x", op, args.flags);
  if (!args.m || !args.n || !args.k)
    return Fail(axlErrorInvalidValue, "%s: m, n and k must not be 0 (%u, %u, %u)", op, args.m,
                args.n, args.k);
  const uint64_t batch = Or(args.batch, 1);
  if (args.m > AXL_MAX_DIM || args.n > AXL_MAX_DIM || args.k > AXL_MAX_DIM ||
      uint64_t{args.m} * args.n > AXL_MAX_MACS / args.k / batch ||
      std::max({args.m, args.n, args.k}) * batch > AXL_MAX_RUNS)
    return Fail(axlErrorInvalidValue,
                "%s: %u x %u x %u times %llu is too large for one command; split it", op, args.m,
                args.n, args.k, static_cast<unsigned long long>(batch));
  if (args.alpha == 0) return Fail(axlErrorInvalidValue, "%s: alpha is 0; set it to 1", op);
  if (axlError_t e = CheckFinite(op, "alpha", args.alpha)) return e;
  const bool transposed = args.flags & AXL_MM_F_TRANSPOSE_B;
  const uint32_t b_rows = transposed ? args.n : args.k;
  const uint32_t b_cols = transposed ? args.k : args.n;

  *command = {};
  command->opcode = AXL_OP_MATMUL;
  command->engine = AXL_ENGINE_MATRIX;
  command->tag = OpTag(op);
  axl_matmul& mm = command->matmul;
  mm.m = args.m;
  mm.n = args.n;
  mm.k = args.k;
  mm.lda = Or(args.lda, args.k);
  mm.ldb = Or(args.ldb, b_cols);
  mm.ldc = Or(args.ldc, args.n);
  mm.batch = Or(args.batch, 1);
  mm.batch_stride_a = args.batchStrideA;
  mm.batch_stride_b = args.batchStrideB;
  mm.batch_stride_c = args.batchStrideC;
  mm.alpha_f32 = std::bit_cast<uint32_t>(args.alpha);
  mm.flags = args.flags;
  if (mm.lda < args.k || mm.ldb < b_cols || mm.ldc < args.n)
    return Fail(axlErrorInvalidValue,
                "%s: a leading dimension is smaller than its row (lda %u < %u, ldb %u < %u or "
                "ldc %u < %u)",
                op, mm.lda, args.k, mm.ldb, b_cols, mm.ldc, args.n);
  const auto extent = [&](uint32_t rows, uint32_t cols, uint32_t ld, uint32_t stride) {
    const uint64_t one = Extent(rows, cols, ld);
    const uint64_t rest = static_cast<uint64_t>(mm.batch - 1) * stride;
    return one > UINT64_MAX - rest ? UINT64_MAX : one + rest;
  };
  const Operand operands[] = {
      {"a", args.a, extent(args.m, args.k, mm.lda, mm.batch_stride_a),
       args.flags & AXL_MM_F_A_BF16 ? 2u : 4u, reinterpret_cast<uint64_t*>(&mm.a)},
      {"b", args.b, extent(b_rows, b_cols, mm.ldb, mm.batch_stride_b),
       args.flags & AXL_MM_F_B_BF16 ? 2u : 4u, reinterpret_cast<uint64_t*>(&mm.b)},
      {"c", args.c, extent(args.m, args.n, mm.ldc, mm.batch_stride_c), 4u,
       reinterpret_cast<uint64_t*>(&mm.c)},
  };
  for (const Operand& operand : operands) {
    if (axlError_t e = ResolveOperand(buffers, op, operand)) return e;
  }
  return axlSuccess;
}

axlError_t EncodeVector(const Buffers& buffers, const char* op, axlVectorOp code,
                        const axlVector& args, axl_desc* command) {
  const uint32_t which = static_cast<uint32_t>(code) - AXL_OP_VEC_FILL;
  if (which >= kNumVectorOps)
    return Fail(axlErrorInvalidValue, "0x%x is not a vector op", static_cast<unsigned>(code));
  if (!op) op = kVectorNames[which];
  if (args.flags & ~AXL_VEC_F_ALL)
    return Fail(axlErrorInvalidValue, "%s: unknown vector flags 0x%x", op, args.flags);
  if (!args.rows || !args.cols)
    return Fail(axlErrorInvalidValue, "%s: rows and cols must not be 0 (%u, %u)", op, args.rows,
                args.cols);
  if (args.rows > AXL_MAX_DIM || uint64_t{args.rows} * args.cols > AXL_MAX_ELEMENTS)
    return Fail(axlErrorInvalidValue, "%s: %u x %u is too large for one command; split it", op,
                args.rows, args.cols);
  if (axlError_t e = CheckFinite(op, "alpha", code == axlVecFill ? 0 : args.alpha)) return e;
  if (axlError_t e = CheckFinite(op, "beta", args.beta)) return e;
  if (code == axlVecSoftmax && args.alpha == 0)
    return Fail(axlErrorInvalidValue, "%s: alpha, the scale, is 0; set it to 1", op);
  if (code == axlVecRope &&
      (args.arg1 == 0 || args.arg1 % 2 != 0 || args.cols % args.arg1 != 0 || args.alpha <= 0))
    return Fail(axlErrorInvalidValue,
                "%s: arg1, the head dimension, must be even and divide cols, and alpha, theta, be "
                "positive",
                op);
  if (code == axlVecGather && args.arg0 == 0)
    return Fail(axlErrorInvalidValue, "%s: arg0, the rows of the table, is 0", op);
  const bool reduces = code == axlVecArgmax || code == axlVecSum;
  const bool binary = code == axlVecAdd || code == axlVecMul || code == axlVecSiluMul;
  if ((args.flags & axlVecCausal) && code != axlVecSoftmax)
    return Fail(axlErrorInvalidValue, "%s: axlVecCausal is for softmax only", op);
  if ((args.flags & axlVecBroadcast1) && !binary && code != axlVecRmsNorm)
    return Fail(axlErrorInvalidValue, "%s: axlVecBroadcast1 needs an op that reads src1", op);

  *command = {};
  command->opcode = static_cast<uint8_t>(code);
  command->engine = AXL_ENGINE_VECTOR;
  command->tag = OpTag(op);
  axl_vector& vec = command->vector;
  vec.rows = args.rows;
  vec.cols = args.cols;
  vec.src0_stride = Or(args.src0Stride, code == axlVecGather ? 1 : args.cols);
  vec.src1_stride = Or(args.src1Stride, args.cols);
  vec.dst_stride = Or(args.dstStride, reduces ? 1 : args.cols);
  vec.flags = args.flags;
  vec.alpha_f32 = std::bit_cast<uint32_t>(args.alpha);
  vec.beta_f32 = std::bit_cast<uint32_t>(args.beta);
  vec.arg0 = args.arg0;
  vec.arg1 = args.arg1;

  if (args.rows > 1 && ((!reduces && vec.dst_stride < args.cols) ||
                        (code == axlVecGather && vec.src1_stride < args.cols)))
    return Fail(axlErrorInvalidValue, "%s: a stride is smaller than its row of %u elements", op,
                args.cols);
  uint64_t src0 = code == axlVecFill ? 0 : Extent(args.rows, args.cols, vec.src0_stride);
  if (code == axlVecGather) src0 = Extent(args.rows, 1, vec.src0_stride);
  uint64_t src1 = 0;
  if (code == axlVecRmsNorm) src1 = args.cols;
  if (code == axlVecGather) src1 = Extent(args.arg0, args.cols, vec.src1_stride);
  if (binary)
    src1 = args.flags & AXL_VEC_F_BROADCAST1 ? args.cols
                                             : Extent(args.rows, args.cols, vec.src1_stride);
  const uint64_t dst = Extent(args.rows, reduces ? 1 : args.cols, vec.dst_stride);
  const Operand operands[] = {
      {"src0", args.src0, src0, 4, reinterpret_cast<uint64_t*>(&vec.src0)},
      {"src1", args.src1, src1, 4, reinterpret_cast<uint64_t*>(&vec.src1)},
      {"dst", args.dst, dst, 4, reinterpret_cast<uint64_t*>(&vec.dst)},
  };
  for (const Operand& operand : operands) {
    if (axlError_t e = ResolveOperand(buffers, op, operand)) return e;
  }
  return axlSuccess;
}

}  // namespace acceltrace::runtime
