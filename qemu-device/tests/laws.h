// SPDX-License-Identifier: Apache-2.0
//
// Checks the conservation laws of axl_counters.h on a random workload, at random
// instants, for the tests (each law an assertion) and the benchmark (number of seeds
// without a violation).
//
#ifndef QEMU_DEVICE_TESTS_LAWS_H_
#define QEMU_DEVICE_TESTS_LAWS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace acceltrace::device {

// Runs seeds first .. first + count - 1 on one machine; returns the violations, one line
// each. The machine's fixed properties depend on the first seed.
std::vector<std::string> RunLaws(uint32_t first, uint32_t count);

}  // namespace acceltrace::device

#endif  // QEMU_DEVICE_TESTS_LAWS_H_
