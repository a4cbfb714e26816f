// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/common/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "libtrace/analysis/rows/unknown.h"

namespace acceltrace::view {
namespace {

struct TimeUnit {
  double ns;
  const char* name;
};

// Returns the unit in which |ns| is shown.
TimeUnit UnitOf(double ns) {
  const double size = std::abs(ns);
  if (size < 999.5) return {1, "ns"};
  if (size < 999.95e3) return {1e3, "µs"};
  if (size < 999.95e6) return {1e6, "ms"};
  return {1e9, "s"};
}

// Formats with four significant digits, or fewer for whole ns.
std::string Digits(double value, bool whole) {
  if (whole) return fmt::format("{:.0f}", value);
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size < 9.9995 ? 3 : size < 99.995 ? 2 : 1);
}

// Formats mid ±bound with at most `decimals` decimals and two digits of the bound. The bound
// includes the rounding of the value, and a bound that rounds to nothing is not shown as zero.
std::string WithBound(double lo, double mid, double hi, int decimals) {
  const double error = std::max(hi - mid, mid - lo);
  double step = std::pow(10.0, -decimals);
  while (decimals > 0 && error >= 100 * step) {
    --decimals;
    step *= 10;
  }
  const double shown = std::round(mid / step) * step;
  const double bound = std::ceil(std::max(hi - shown, shown - lo) / step - 1e-6) * step;
  return fmt::format("{:.{}f} ±{:.{}f}", shown, decimals, bound, decimals);
}

}  // namespace

std::string FormatNs(int64_t ns) {
  if (!analysis::IsKnown(ns)) return "unknown";
  const TimeUnit unit = UnitOf(static_cast<double>(ns));
  return fmt::format("{} {}", Digits(static_cast<double>(ns) / unit.ns, unit.ns == 1), unit.name);
}

std::string FormatBound(int64_t ns) {
  return analysis::IsKnown(ns) ? "±" + FormatNs(ns) : "unknown";
}

std::string FormatSpan(const analysis::Span& span) {
  const int64_t error_ns = span.ErrorNs();
  if (error_ns == 0 || !analysis::IsKnown(span.mid_ns)) return FormatNs(span.mid_ns);
  if (!analysis::IsKnown(error_ns)) return FormatNs(span.mid_ns) + " ±unknown";
  const TimeUnit unit = UnitOf(static_cast<double>(span.mid_ns));
  const bool whole = unit.ns == 1;
  const std::string value = Digits(static_cast<double>(span.mid_ns) / unit.ns, whole);
  const size_t point = value.find('.');
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(value.size() - point - 1);
  return WithBound(static_cast<double>(span.lo_ns) / unit.ns,
                   static_cast<double>(span.mid_ns) / unit.ns,
                   static_cast<double>(span.hi_ns) / unit.ns, decimals) +
         " " + unit.name;
}

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

namespace {

constexpr std::array<const char*, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};

size_t PrefixOf(double per_s, double* scale) {
  size_t prefix = 0;
  *scale = 1;
  while (per_s >= 999.5 * *scale && prefix + 1 < kPrefixes.size()) {
    *scale *= 1000;
    ++prefix;
  }
  return prefix;
}

int DecimalsOf(double value) { return value < 10 ? 2 : value < 100 ? 1 : 0; }

}  // namespace

std::string FormatRate(double per_s, std::string_view unit) {
  double scale;
  const size_t prefix = PrefixOf(per_s, &scale);
  return fmt::format("{:.{}f} {}{}/s", per_s / scale, DecimalsOf(per_s / scale), kPrefixes[prefix],
                     unit);
}

std::string FormatRate(const analysis::Ratio& per_s, std::string_view unit) {
  if (std::isinf(per_s.hi)) return "≥ " + FormatRate(per_s.lo, unit);
  double scale;
  const size_t prefix = PrefixOf(per_s.mid, &scale);
  const int decimals = DecimalsOf(per_s.mid / scale);
  const double half = 0.5 * std::pow(10.0, -decimals) * scale;
  if (std::max(per_s.hi - per_s.mid, per_s.mid - per_s.lo) < half) {
    return FormatRate(per_s.mid, unit);
  }
  return fmt::format("{} {}{}/s",
                     WithBound(per_s.lo / scale, per_s.mid / scale, per_s.hi / scale, decimals),
                     kPrefixes[prefix], unit);
}

std::string FormatCount(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string Counted(uint64_t count, std::string_view one, std::string_view many) {
  return FormatCount(count) + " " + std::string(count == 1 ? one : many);
}

std::string FormatShare(double share) {
  return share < 0 ? "-" : fmt::format("{:.1f} %", share * 100);
}

std::string FormatShare(const analysis::Ratio& share) {
  if (std::isinf(share.hi)) return "≥ " + FormatShare(share.lo);
  // One decimal is precise enough for a share.
  if (std::max(share.hi - share.mid, share.mid - share.lo) < 0.0005) return FormatShare(share.mid);
  return WithBound(100 * share.lo, 100 * share.mid, 100 * share.hi, 1) + " %";
}

std::string FormatUtc(int64_t realtime_ns) {
  const std::time_t seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) return "unknown time";
  char text[64];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return text;
}

std::string Bar(double share, int width) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width * 8));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 != 0);
  bar.append(static_cast<size_t>(width - used), ' ');
  return bar;
}

std::string Bar2(double first, double second, int width) {
  const auto cells = [&](double share) {
    return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  };
  const int full = cells(first);
  const int both = std::max(full, cells(first + second));
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < full ? "█" : i < both ? "▒" : "·";
  return bar;
}

}  // namespace acceltrace::view
