// SPDX-License-Identifier: Apache-2.0
//
// Parses times and sizes as users write them.
#ifndef LIBTRACE_CONTROL_QUANTITIES_H_
#define LIBTRACE_CONTROL_QUANTITIES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace acceltrace::control {

// 500us, 1.5ms, 2s; ns without a unit. nullopt if it is none of these.
std::optional<uint64_t> ParseDurationNs(std::string_view text);
// 64K, 16M, 1G, or bytes.
std::optional<uint64_t> ParseBytes(std::string_view text);

}  // namespace acceltrace::control

#endif  // LIBTRACE_CONTROL_QUANTITIES_H_
