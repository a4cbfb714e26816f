// SPDX-License-Identifier: Apache-2.0
//
// Bounds that say nothing.
//
// A time of a device whose clock was never related to the host's, or is far from what is known of
// it, lies between bounds that are further away than any trace is long; and so do sums of such
// times. They are numbers where there is computed with them, and no numbers for who reads them.
#ifndef LIBTRACE_ANALYSIS_UNKNOWN_H_
#define LIBTRACE_ANALYSIS_UNKNOWN_H_

#include <cstdint>
#include <optional>

namespace acceltrace::analysis {

// Three years. What libtrace/clock and libtrace/model give for "anywhere" is above it.
inline constexpr int64_t kUnknownNs = 100'000'000'000'000'000;

// Of a length, or the distance of a bound.
inline constexpr bool IsKnown(int64_t ns) { return ns < kUnknownNs && ns > -kUnknownNs; }
// Of a bound of something that is about `mid_ns`.
inline constexpr bool IsKnown(int64_t bound_ns, int64_t mid_ns) {
  const __int128 away = static_cast<__int128>(bound_ns) - mid_ns;
  return away < kUnknownNs && away > -kUnknownNs;
}
inline constexpr std::optional<int64_t> IfKnown(int64_t ns) {
  return IsKnown(ns) ? std::optional(ns) : std::nullopt;
}
inline constexpr std::optional<int64_t> IfKnown(int64_t bound_ns, int64_t mid_ns) {
  return IsKnown(bound_ns, mid_ns) ? std::optional(bound_ns) : std::nullopt;
}

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_UNKNOWN_H_
