// SPDX-License-Identifier: Apache-2.0
#ifndef QEMU_DEVICE_TESTS_DESCRIPTORS_H_
#define QEMU_DEVICE_TESTS_DESCRIPTORS_H_

#include <cstdint>

#include "kmod/uapi/axl_hw.h"

namespace acceltrace::device {

// Descriptors in one line; jobs and indexes are given where they matter.
axl_desc Command(unsigned engine, unsigned opcode, uint32_t job, uint32_t index = 0,
                 unsigned flags = 0);
axl_desc CopyIn(uint64_t host, uint64_t device, uint64_t bytes, uint32_t job, uint32_t index = 0,
                unsigned flags = 0);
axl_desc CopyOut(uint64_t host, uint64_t device, uint64_t bytes, uint32_t job, uint32_t index = 0,
                 unsigned flags = 0);
axl_desc Matmul(uint64_t a, uint64_t b, uint64_t c, uint32_t m, uint32_t n, uint32_t k,
                uint32_t job, uint32_t index = 0, unsigned flags = 0);
uint32_t Bits(float f);

constexpr unsigned kLast = AXL_DESC_F_COMPLETE | AXL_DESC_F_IRQ;

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_DESCRIPTORS_H_
