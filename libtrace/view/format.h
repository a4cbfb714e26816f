// SPDX-License-Identifier: Apache-2.0
//
// Quantities as people read them.
#ifndef LIBTRACE_VIEW_FORMAT_H_
#define LIBTRACE_VIEW_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "libtrace/analysis/span.h"

namespace acceltrace::view {

// Four significant digits and a unit: 812 ns, 12.34 µs, 3.215 ms, 1.234 s; "unknown" for what is
// longer than any trace (analysis/unknown.h).
std::string FormatNs(int64_t ns);
// ±812 ns; "unknown".
std::string FormatBound(int64_t ns);
// 12.34 ±0.21 µs: both in the unit of the value, with the digits that the bound leaves;
// without ± when exact; "12.34 µs ±unknown" when a bound is not known.
std::string FormatSpan(const analysis::Span& span);
inline std::string FormatSpan(const analysis::Amount& amount) { return FormatSpan(amount.Round()); }
// 812 B, 1.50 KiB, 3.21 GiB.
std::string FormatBytes(uint64_t bytes);
// 3.21 GB/s (powers of ten, as links and memories are rated).
std::string FormatRate(double per_s, std::string_view unit);
// 3.21 ±0.02 GB/s; "≥ 3.21 GB/s" where there is no upper bound.
std::string FormatRate(const analysis::Ratio& per_s, std::string_view unit);
// 12,345,678
std::string FormatCount(uint64_t count);
// 1 event, 2,000 events.
std::string Counted(uint64_t count, std::string_view one, std::string_view many);
// 12.3 %; "-" when the whole is unknown (negative).
std::string FormatShare(double share);
// 12.3 ±0.4 %; without ± where the digits shown hold.
std::string FormatShare(const analysis::Ratio& share);
// 2026-01-01 12:34:56 UTC
std::string FormatUtc(int64_t realtime_ns);

// A bar of `width` characters, filled to `share` in eighths.
std::string Bar(double share, int width);
// Two shares: full blocks for the first, shaded ones for the second, dots for the rest.
std::string Bar2(double first, double second, int width);

// Columns of a terminal that UTF-8 text takes: two for a wide character, none for a combining one.
size_t DisplayWidth(std::string_view text);
// The character at text[*at], which moves past it; a byte that is of none counts as one.
size_t NextWidth(std::string_view text, size_t* at);
// Untrusted text for a terminal: what would move or hide something else becomes '?', see
// stream::Printable().
std::string Printable(std::string_view text);
// At most `width` columns, the last one an ellipsis if cut.
std::string Shortened(std::string_view text, size_t width);
// The same, with the ellipsis in the middle: names often differ at their end.
std::string ShortenedInside(std::string_view text, size_t width);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_FORMAT_H_
