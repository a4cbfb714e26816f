// SPDX-License-Identifier: Apache-2.0
//
// Times and sizes as people write them.
#ifndef DAEMON_BASE_QUANTITIES_H_
#define DAEMON_BASE_QUANTITIES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace acceltrace::daemon {

// 500us, 1.5ms, 2s; ns without a unit. nullopt if it is none of these.
std::optional<uint64_t> ParseDurationNs(std::string_view text);
// 64K, 16M, 1G, or bytes.
std::optional<uint64_t> ParseBytes(std::string_view text);

}  // namespace acceltrace::daemon

#endif  // DAEMON_BASE_QUANTITIES_H_
