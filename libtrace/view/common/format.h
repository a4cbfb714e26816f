// SPDX-License-Identifier: Apache-2.0
//
// Formats quantities for people.
#ifndef LIBTRACE_VIEW_COMMON_FORMAT_H_
#define LIBTRACE_VIEW_COMMON_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "libtrace/analysis/rows/span.h"

namespace acceltrace::view {

// Formats with four significant digits and a unit: 812 ns, 12.34 µs, 3.215 ms, 1.234 s, or
// "unknown" if it is longer than any trace (analysis/rows/unknown.h).
std::string FormatNs(int64_t ns);
// Returns ±812 ns or "unknown".
std::string FormatBound(int64_t ns);
// Returns 12.34 ±0.21 µs: both in the unit of the value, with the digits that the bound justifies.
// Omits ± if exact, and returns "12.34 µs ±unknown" if a bound is not known.
std::string FormatSpan(const analysis::Span& span);
inline std::string FormatSpan(const analysis::Amount& amount) { return FormatSpan(amount.Round()); }
// Returns 812 B, 1.50 KiB or 3.21 GiB.
std::string FormatBytes(uint64_t bytes);
// Returns 3.21 GB/s, in powers of ten, as links and memories are rated.
std::string FormatRate(double per_s, std::string_view unit);
// Returns 3.21 ±0.02 GB/s, or "≥ 3.21 GB/s" if there is no upper bound.
std::string FormatRate(const analysis::Ratio& per_s, std::string_view unit);
// Returns 12,345,678.
std::string FormatCount(uint64_t count);
// Returns 1 event or 2,000 events.
std::string Counted(uint64_t count, std::string_view one, std::string_view many);
// Returns 12.3 %, or "-" if the whole is not known (negative).
std::string FormatShare(double share);
// Returns 12.3 ±0.4 %, or without ± if the shown digits are certain.
std::string FormatShare(const analysis::Ratio& share);
// Returns 2026-01-01 12:34:56 UTC.
std::string FormatUtc(int64_t realtime_ns);

// Returns a bar of `width` characters, filled to `share` in eighths.
std::string Bar(double share, int width);
// Returns a bar with two shares: full blocks for the first, shaded ones for the second, dots for
// the rest.
std::string Bar2(double first, double second, int width);

// Returns the columns that UTF-8 text takes on a terminal: two for a wide character, none for a
// combining one.
size_t DisplayWidth(std::string_view text);
// Returns the width of the character at text[*at] and moves past it. An invalid byte counts as one
// character.
size_t NextWidth(std::string_view text, size_t* at);
// Shortens to at most `width` columns, with an ellipsis at the end if cut.
std::string Shortened(std::string_view text, size_t width);
// Shortens with an ellipsis in the middle, since names often differ at their end.
std::string ShortenedInside(std::string_view text, size_t width);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_COMMON_FORMAT_H_
