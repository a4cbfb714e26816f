// SPDX-License-Identifier: Apache-2.0
//
// Workloads with a known limiter.
#ifndef TESTS_WORKLOADS_PATTERNS_PATTERNS_H_
#define TESTS_WORKLOADS_PATTERNS_PATTERNS_H_

#include <cstdint>
#include <span>
#include <string>

#include "libtrace/base/result.h"

namespace acceltrace::workloads {

struct PatternStats {
  uint64_t commands = 0;  // of the part that counts, in the range named after the pattern
  double host_ms = 0;     // of that part
  uint64_t wrong = 0;     // numbers that came out wrong
};

// For the device's default properties; `scale` makes it longer, not different.
struct Pattern {
  const char* name;
  // What sets the pace: matrix, vector, memory, pcie-in, pcie-out, dispatch, dependency,
  // submit, round-trip, application, none (several in balance).
  const char* limiter;
  const char* text;
  Status (*run)(uint32_t scale, PatternStats* stats);
};

std::span<const Pattern> DevicePatterns();
std::span<const Pattern> HostPatterns();
// Returns null if there is no pattern with that name.
const Pattern* FindPattern(const std::string& name);

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_PATTERNS_PATTERNS_H_
