// SPDX-License-Identifier: Apache-2.0
//
// Computes the device's commands in plain loops. For tests only.
#ifndef LIBTRACE_RUNTIME_TESTING_FAKE_OPS_H_
#define LIBTRACE_RUNTIME_TESTING_FAKE_OPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kmod/uapi/axl.h"

namespace acceltrace::runtime {

// Converts an AXL_REF to memory. Returns nullptr if [ref, ref + bytes) is not in one buffer.
using FakeMemory = std::function<std::byte*(uint64_t ref, uint64_t bytes)>;

// Returns an enum axl_status.
uint32_t RunFakeCommand(const axl_desc& command, const FakeMemory& memory);

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_TESTING_FAKE_OPS_H_
