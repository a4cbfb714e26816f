// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/workload.h"

#include <algorithm>

namespace acceltrace::device {
namespace {

constexpr uint64_t kDramBytes = 32 << 20, kScratchBytes = 4 << 20;

}  // namespace

uint64_t Workload::Memory(uint64_t bytes) {
  if (bytes < kScratchBytes && Chance(15)) {
    return AXL_SCRATCHPAD_BASE + Below(static_cast<uint32_t>(kScratchBytes - bytes)) / 4 * 4;
  }
  return Below(static_cast<uint32_t>(kDramBytes - bytes)) / 4 * 4;
}

axl_desc Workload::Copy(uint64_t sg_list, std::vector<axl_sg>* entries) {
  uint32_t rows = Chance(50) ? 1 : 1 + Below(20);
  uint64_t bytes = 1 + Below(Chance(20) ? 60000 : 3000) / rows;
  uint64_t pitch = bytes + Below(500), device_pitch = bytes + Below(5000);
  uint64_t span = pitch * rows;
  uint64_t host = host_ + Below(static_cast<uint32_t>(host_bytes_ - span));
  uint64_t device = Memory(device_pitch * rows);
  axl_desc d = Chance(50) ? CopyIn(host, device, bytes, 1) : CopyOut(host, device, bytes, 1);
  d.copy.rows = rows;
  d.copy.host_pitch = static_cast<uint32_t>(pitch);
  d.copy.device_pitch = static_cast<uint32_t>(device_pitch);
  if (sg_list && Chance(30)) {
    uint64_t left = span;
    while (left) {
      auto n = static_cast<uint32_t>(std::min<uint64_t>(left, 1 + Below(4096)));
      entries->push_back({host_ + Below(static_cast<uint32_t>(host_bytes_ - n)), n, 0});
      left -= n;
    }
    d.flags |= AXL_DESC_F_SG;
    d.copy.host = sg_list;
    d.copy.sg_count = static_cast<uint32_t>(entries->size());
  }
  return d;
}

axl_desc Workload::Mul() {
  uint32_t m = 1 + Below(Chance(40) ? 3 : 70), n = 1 + Below(90), k = 1 + Below(120);
  uint32_t batch = Chance(70) ? 1 : 1 + Below(4);
  axl_desc d = Matmul(0, 0, 0, m, n, k, 1);
  bool transpose = Chance(30);
  d.matmul.lda = k + Below(10);
  d.matmul.ldb = (transpose ? k : n) + Below(10);
  d.matmul.ldc = n + Below(10);
  d.matmul.batch = batch;
  d.matmul.batch_stride_a = m * d.matmul.lda;
  d.matmul.batch_stride_b = (transpose ? n : k) * d.matmul.ldb;
  d.matmul.batch_stride_c = m * d.matmul.ldc;
  d.matmul.a = Memory(uint64_t{batch} * d.matmul.batch_stride_a * 4);
  d.matmul.b = Memory(uint64_t{batch} * d.matmul.batch_stride_b * 4);
  d.matmul.c = Memory(uint64_t{batch} * d.matmul.batch_stride_c * 4);
  d.matmul.flags = (transpose ? AXL_MM_F_TRANSPOSE_B : 0u) |
                   (Chance(30) ? AXL_MM_F_ACCUMULATE : 0u) | (Chance(20) ? AXL_MM_F_A_BF16 : 0u) |
                   (Chance(20) ? AXL_MM_F_B_BF16 : 0u);
  return d;
}

axl_desc Workload::Vec() {
  static const unsigned kOps[] = {
      AXL_OP_VEC_FILL, AXL_OP_VEC_COPY,     AXL_OP_VEC_ADD,  AXL_OP_VEC_MUL,     AXL_OP_VEC_SCALE,
      AXL_OP_VEC_SILU, AXL_OP_VEC_SILU_MUL, AXL_OP_VEC_GELU, AXL_OP_VEC_RMSNORM, AXL_OP_VEC_SOFTMAX,
      AXL_OP_VEC_ROPE, AXL_OP_VEC_ARGMAX,   AXL_OP_VEC_SUM};
  axl_desc d = Command(AXL_ENGINE_VECTOR, kOps[Below(std::size(kOps))], 1);
  axl_vector& v = d.vector;
  v.rows = 1 + Below(30);
  v.cols = 4 * (1 + Below(200));
  v.src0_stride = v.cols + Below(1000);
  v.src1_stride = v.cols + Below(10);
  v.dst_stride = v.cols + Below(100);
  uint64_t bytes = uint64_t{v.rows} * (v.cols + 1000) * 4;
  v.src0 = Memory(bytes);
  v.src1 = Memory(bytes);
  v.dst = Memory(bytes);
  v.alpha_f32 = Bits(1.0f);
  v.arg1 = d.opcode == AXL_OP_VEC_ROPE ? 4 : 0;
  return d;
}

axl_desc Workload::Next(uint64_t sg_list, std::vector<axl_sg>* entries) {
  unsigned kind = Below(100);
  if (kind < 40) return Copy(sg_list, entries);
  if (kind < 65) return Mul();
  if (kind < 95) return Vec();
  return Command(Below(AXL_NUM_ENGINES), AXL_OP_NOP, 1);
}

}  // namespace acceltrace::device
