// SPDX-License-Identifier: Apache-2.0
//
// A device pointer is AXL_REF(handle, offset) with the device's number in the top four bits, so
// that a pointer of one device is recognised on another. Internal.
#ifndef LIBTRACE_RUNTIME_POINTERS_H_
#define LIBTRACE_RUNTIME_POINTERS_H_

#include <cstdint>

#include "kmod/uapi/axl.h"

namespace acceltrace::runtime {

inline constexpr int kMaxDevices = 16;
inline constexpr int kOrdinalShift = 60;
inline constexpr uint32_t kMaxHandle = (1u << (kOrdinalShift - AXL_REF_OFFSET_BITS)) - 1;

inline void* MakePointer(int ordinal, uint32_t handle) {
  return reinterpret_cast<void*>(static_cast<uint64_t>(ordinal) << kOrdinalShift |
                                 AXL_REF(handle, 0));
}
inline int PointerOrdinal(const void* pointer) {
  return static_cast<int>(reinterpret_cast<uint64_t>(pointer) >> kOrdinalShift);
}
// Returns the AXL_REF in a pointer.
inline uint64_t PointerRef(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer) & ((1ULL << kOrdinalShift) - 1);
}

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_POINTERS_H_
