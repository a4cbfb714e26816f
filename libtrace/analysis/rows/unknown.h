// SPDX-License-Identifier: Apache-2.0
//
// Bounds without information.
//
// If a device's clock was never related to the host's, or a time is far from everything that is
// known of it, its bounds are further away than any trace is long, and so are those of sums of such
// times. Computations treat them as numbers, but they are not shown as such.
#ifndef LIBTRACE_ANALYSIS_ROWS_UNKNOWN_H_
#define LIBTRACE_ANALYSIS_ROWS_UNKNOWN_H_

#include <cstdint>
#include <optional>

namespace acceltrace::analysis {

// Three years. libtrace/clock and libtrace/model return larger values for "anywhere".
inline constexpr int64_t kUnknownNs = 100'000'000'000'000'000;

// For a length, or the distance of a bound.
inline constexpr bool IsKnown(int64_t ns) { return ns < kUnknownNs && ns > -kUnknownNs; }
// For a bound of a value near `mid_ns`.
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

#endif  // LIBTRACE_ANALYSIS_ROWS_UNKNOWN_H_
