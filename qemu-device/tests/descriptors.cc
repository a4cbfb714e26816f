// SPDX-License-Identifier: Apache-2.0
#include "qemu-device/tests/descriptors.h"

#include <cstring>

namespace acceltrace::device {

axl_desc Command(unsigned engine, unsigned opcode, uint32_t job, uint32_t index, unsigned flags) {
  axl_desc d = {};
  d.opcode = static_cast<uint8_t>(opcode);
  d.engine = static_cast<uint8_t>(engine);
  d.flags = static_cast<uint16_t>(flags);
  d.job = job;
  d.index = index;
  d.correlation = (uint64_t{job} << 32) | index;
  d.wait_sem[0] = d.wait_sem[1] = d.signal_sem = AXL_SEM_NONE;
  return d;
}

axl_desc CopyIn(uint64_t host, uint64_t device, uint64_t bytes, uint32_t job, uint32_t index,
                unsigned flags) {
  axl_desc d = Command(AXL_ENGINE_H2D, AXL_OP_COPY_H2D, job, index, flags);
  d.copy.host = host;
  d.copy.device = device;
  d.copy.bytes = bytes;
  d.copy.rows = 1;
  return d;
}

axl_desc CopyOut(uint64_t host, uint64_t device, uint64_t bytes, uint32_t job, uint32_t index,
                 unsigned flags) {
  axl_desc d = CopyIn(host, device, bytes, job, index, flags);
  d.engine = AXL_ENGINE_D2H;
  d.opcode = AXL_OP_COPY_D2H;
  return d;
}

uint32_t Bits(float f) {
  uint32_t u;
  std::memcpy(&u, &f, sizeof(u));
  return u;
}

axl_desc Matmul(uint64_t a, uint64_t b, uint64_t c, uint32_t m, uint32_t n, uint32_t k,
                uint32_t job, uint32_t index, unsigned flags) {
  axl_desc d = Command(AXL_ENGINE_MATRIX, AXL_OP_MATMUL, job, index, flags);
  d.matmul.a = a;
  d.matmul.b = b;
  d.matmul.c = c;
  d.matmul.m = m;
  d.matmul.n = n;
  d.matmul.k = k;
  d.matmul.lda = k;
  d.matmul.ldb = n;
  d.matmul.ldc = n;
  d.matmul.batch = 1;
  d.matmul.alpha_f32 = Bits(1.0f);
  return d;
}

}  // namespace acceltrace::device
