// SPDX-License-Identifier: Apache-2.0
//
// Parses times and sizes as users write them.
#ifndef LIBTRACE_CONTROL_QUANTITIES_H_
#define LIBTRACE_CONTROL_QUANTITIES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace acceltrace::control {

// Accepts values such as 500us, 1.5ms and 2s, and numbers without a unit, which are ns. Returns
// nullopt if the text is none of these.
std::optional<uint64_t> ParseDurationNs(std::string_view text);
// Accepts values such as 64K, 16M and 1G, and numbers without a unit, which are bytes.
std::optional<uint64_t> ParseBytes(std::string_view text);

}  // namespace acceltrace::control

#endif  // LIBTRACE_CONTROL_QUANTITIES_H_
