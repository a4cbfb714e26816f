// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/testing/fake_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace acceltrace::runtime {
namespace {

uint64_t Bytes(uint64_t rows, uint64_t cols, uint64_t stride, uint64_t element) {
  return ((rows - 1) * stride + cols) * element;
}

float Load(const std::byte* memory, uint64_t index, bool bf16) {
  if (bf16) {
    uint16_t half;
    std::memcpy(&half, memory + index * 2, 2);
    return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
  }
  float value;
  std::memcpy(&value, memory + index * 4, 4);
  return value;
}

uint32_t Copy(const axl_desc& command, const FakeMemory& memory) {
  const axl_copy& copy = command.copy;
  if (!copy.rows || !copy.bytes || copy.rows > AXL_MAX_COPY_ROWS ||
      copy.bytes * copy.rows > AXL_MAX_COPY_BYTES)
    return AXL_ST_BAD_FIELD;
  std::byte* host = memory(copy.host, Bytes(copy.rows, copy.bytes, copy.host_pitch, 1));
  std::byte* device = memory(copy.device, Bytes(copy.rows, copy.bytes, copy.device_pitch, 1));
  if (!host || !device) return AXL_ST_BAD_ADDRESS;
  for (uint64_t row = 0; row < copy.rows; ++row) {
    std::byte* const there = device + row * copy.device_pitch;
    std::byte* const here = host + row * copy.host_pitch;
    if (command.opcode == AXL_OP_COPY_H2D)
      std::memcpy(there, here, copy.bytes);
    else
      std::memcpy(here, there, copy.bytes);
  }
  return AXL_ST_OK;
}

uint32_t Matmul(const axl_desc& command, const FakeMemory& memory) {
  const axl_matmul& mm = command.matmul;
  const bool transposed = mm.flags & AXL_MM_F_TRANSPOSE_B;
  const bool a16 = mm.flags & AXL_MM_F_A_BF16, b16 = mm.flags & AXL_MM_F_B_BF16;
  if (!mm.m || !mm.n || !mm.k || !mm.batch || mm.lda < mm.k || mm.ldc < mm.n ||
      mm.ldb < (transposed ? mm.k : mm.n))
    return AXL_ST_BAD_FIELD;
  const uint64_t last = mm.batch - 1;
  const std::byte* a = memory(
      mm.a, (last * mm.batch_stride_a + (mm.m - 1) * uint64_t{mm.lda} + mm.k) * (a16 ? 2 : 4));
  const std::byte* b =
      memory(mm.b, (last * mm.batch_stride_b + ((transposed ? mm.n : mm.k) - 1) * uint64_t{mm.ldb} +
                    (transposed ? mm.k : mm.n)) *
                       (b16 ? 2 : 4));
  std::byte* c =
      memory(mm.c, (last * mm.batch_stride_c + (mm.m - 1) * uint64_t{mm.ldc} + mm.n) * 4);
  if (!a || !b || !c) return AXL_ST_BAD_ADDRESS;
  const float alpha = std::bit_cast<float>(mm.alpha_f32);
  for (uint64_t i = 0; i <= last; ++i) {
    for (uint64_t row = 0; row < mm.m; ++row) {
      for (uint64_t col = 0; col < mm.n; ++col) {
        float sum = 0;
        for (uint64_t k = 0; k < mm.k; ++k) {
          const uint64_t at_b = transposed ? col * mm.ldb + k : k * mm.ldb + col;
          sum += Load(a, i * mm.batch_stride_a + row * mm.lda + k, a16) *
                 Load(b, i * mm.batch_stride_b + at_b, b16);
        }
        const uint64_t at = i * mm.batch_stride_c + row * mm.ldc + col;
        sum *= alpha;
        if (mm.flags & AXL_MM_F_ACCUMULATE) sum += Load(c, at, false);
        std::memcpy(c + at * 4, &sum, 4);
      }
    }
  }
  return AXL_ST_OK;
}

struct Row {
  const axl_vector* vec;
  uint64_t row;
  const float* x;
  const float* y;
  float* d;
};

void Softmax(const Row& r, float alpha) {
  const axl_vector& vec = *r.vec;
  const uint64_t live =
      vec.flags & AXL_VEC_F_CAUSAL ? std::min<uint64_t>(vec.cols, r.row + vec.arg0 + 1) : vec.cols;
  float max = -INFINITY, sum = 0;
  for (uint64_t c = 0; c < live; ++c) max = std::max(max, r.x[c] * alpha);
  for (uint64_t c = 0; c < live; ++c) sum += r.d[c] = std::exp(r.x[c] * alpha - max);
  for (uint64_t c = 0; c < vec.cols; ++c) r.d[c] = c < live ? r.d[c] / sum : 0;
}

void Rope(const Row& r, float theta) {
  const axl_vector& vec = *r.vec;
  for (uint64_t c = 0; c < vec.cols; c += 2) {
    const double turn = static_cast<double>(vec.arg0 + r.row) *
                        std::pow(theta, -static_cast<double>(c % vec.arg1) / vec.arg1);
    const float s = static_cast<float>(std::sin(turn)), t = static_cast<float>(std::cos(turn));
    const float a = r.x[c], b = r.x[c + 1];
    r.d[c] = a * t - b * s;
    r.d[c + 1] = a * s + b * t;
  }
}

float Silu(float x) { return x / (1 + std::exp(-x)); }

void RunRow(uint32_t opcode, const Row& r) {
  const axl_vector& vec = *r.vec;
  const float alpha = std::bit_cast<float>(vec.alpha_f32);
  const float beta = std::bit_cast<float>(vec.beta_f32);
  const uint64_t n = vec.cols;
  if (opcode == AXL_OP_VEC_SOFTMAX) return Softmax(r, alpha);
  if (opcode == AXL_OP_VEC_ROPE) return Rope(r, alpha);
  if (opcode == AXL_OP_VEC_SUM) {
    float sum = 0;
    for (uint64_t c = 0; c < n; ++c) sum += r.x[c];
    *r.d = sum;
    return;
  }
  if (opcode == AXL_OP_VEC_ARGMAX) {
    const uint32_t best = static_cast<uint32_t>(std::max_element(r.x, r.x + n) - r.x);
    std::memcpy(r.d, &best, 4);
    return;
  }
  float scale = 0;
  if (opcode == AXL_OP_VEC_RMSNORM) {
    for (uint64_t c = 0; c < n; ++c) scale += r.x[c] * r.x[c];
    scale = 1 / std::sqrt(scale / static_cast<float>(n) + alpha);
  }
  for (uint64_t c = 0; c < n; ++c) {
    switch (opcode) {
      case AXL_OP_VEC_FILL:
        std::memcpy(r.d + c, &vec.alpha_f32, 4);
        break;
      case AXL_OP_VEC_COPY:
        r.d[c] = r.x[c];
        break;
      case AXL_OP_VEC_ADD:
        r.d[c] = r.x[c] + r.y[c];
        break;
      case AXL_OP_VEC_MUL:
        r.d[c] = r.x[c] * r.y[c];
        break;
      case AXL_OP_VEC_SCALE:
        r.d[c] = r.x[c] * alpha + beta;
        break;
      case AXL_OP_VEC_SILU:
        r.d[c] = Silu(r.x[c]);
        break;
      case AXL_OP_VEC_SILU_MUL:
        r.d[c] = Silu(r.x[c]) * r.y[c];
        break;
      case AXL_OP_VEC_GELU:
        r.d[c] = r.x[c] / 2 * (1 + std::erf(r.x[c] / std::sqrt(2.0f)));
        break;
      case AXL_OP_VEC_RMSNORM:
        r.d[c] = r.x[c] * scale * r.y[c];
        break;
    }
  }
}

uint32_t Gather(const axl_vector& vec, const FakeMemory& memory) {
  const uint64_t step = std::max(vec.src0_stride, 1u);
  const std::byte* index = memory(vec.src0, Bytes(vec.rows, 1, step, 4));
  const std::byte* table = memory(vec.src1, Bytes(vec.arg0, vec.cols, vec.src1_stride, 4));
  std::byte* dst = memory(vec.dst, Bytes(vec.rows, vec.cols, vec.dst_stride, 4));
  if (!index || !table || !dst) return AXL_ST_BAD_ADDRESS;
  for (uint64_t row = 0; row < vec.rows; ++row) {
    uint32_t which;
    std::memcpy(&which, index + row * step * 4, 4);
    if (which >= vec.arg0) return AXL_ST_BAD_ADDRESS;
    std::memcpy(dst + row * vec.dst_stride * 4, table + uint64_t{which} * vec.src1_stride * 4,
                uint64_t{vec.cols} * 4);
  }
  return AXL_ST_OK;
}

uint32_t Vector(const axl_desc& command, const FakeMemory& memory) {
  const axl_vector& vec = command.vector;
  const uint32_t op = command.opcode;
  if (!vec.rows || !vec.cols || uint64_t{vec.rows} * vec.cols > AXL_MAX_ELEMENTS)
    return AXL_ST_BAD_FIELD;
  if (op == AXL_OP_VEC_GATHER) return Gather(vec, memory);
  const bool scalar = op == AXL_OP_VEC_ARGMAX || op == AXL_OP_VEC_SUM;
  const bool reads1 = op == AXL_OP_VEC_ADD || op == AXL_OP_VEC_MUL || op == AXL_OP_VEC_SILU_MUL;
  const bool one_row = op == AXL_OP_VEC_RMSNORM || (vec.flags & AXL_VEC_F_BROADCAST1);
  const uint64_t d_stride = scalar ? std::max(vec.dst_stride, 1u) : vec.dst_stride;
  std::byte* x = nullptr;
  std::byte* y = nullptr;
  std::byte* d = memory(vec.dst, Bytes(vec.rows, scalar ? 1 : vec.cols, d_stride, 4));
  if (op != AXL_OP_VEC_FILL) x = memory(vec.src0, Bytes(vec.rows, vec.cols, vec.src0_stride, 4));
  if (reads1 || op == AXL_OP_VEC_RMSNORM)
    y = memory(vec.src1, Bytes(one_row ? 1 : vec.rows, vec.cols, vec.src1_stride, 4));
  if (!d || (op != AXL_OP_VEC_FILL && !x) || ((reads1 || op == AXL_OP_VEC_RMSNORM) && !y))
    return AXL_ST_BAD_ADDRESS;
  for (uint64_t row = 0; row < vec.rows; ++row) {
    RunRow(op, {&vec, row, reinterpret_cast<float*>(x) + row * vec.src0_stride,
                reinterpret_cast<float*>(y) + (one_row ? 0 : row * vec.src1_stride),
                reinterpret_cast<float*>(d) + row * d_stride});
  }
  return AXL_ST_OK;
}

}  // namespace

uint32_t RunFakeCommand(const axl_desc& command, const FakeMemory& memory) {
  const uint32_t op = command.opcode, engine = command.engine;
  const bool copy = (op == AXL_OP_COPY_H2D && engine == AXL_ENGINE_H2D) ||
                    (op == AXL_OP_COPY_D2H && engine == AXL_ENGINE_D2H);
  if (op == AXL_OP_NOP) return AXL_ST_OK;
  if (copy) return Copy(command, memory);
  if (op == AXL_OP_MATMUL && engine == AXL_ENGINE_MATRIX) return Matmul(command, memory);
  if (op >= AXL_OP_VEC_FILL && op <= AXL_OP_VEC_SUM && engine == AXL_ENGINE_VECTOR)
    return Vector(command, memory);
  return AXL_ST_BAD_OPCODE;
}

}  // namespace acceltrace::runtime
