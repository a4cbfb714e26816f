// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/counts.h"

#include <algorithm>
#include <cmath>

namespace acceltrace::clock::internal {

TickLine::TickLine(const ClockInfo& info) : bits_(info.bits) {
  if (bits_ < 64) mask_ = (uint64_t{1} << bits_) - 1;
  ns_per_tick_ = 1e9 / info.nominal_hz;
  wrap_ns_ = std::ldexp(ns_per_tick_, static_cast<int>(bits_));
}

int64_t TickLine::SignedTicks(uint64_t base, uint64_t ticks) const {
  const uint64_t forward = Mask(ticks - base);
  const uint64_t back = Mask(base - ticks);
  return forward <= back ? static_cast<int64_t>(forward) : -static_cast<int64_t>(back);
}

double TickLine::Position(uint64_t base, uint64_t ticks, double near_ns) const {
  const double position = Distance(base, ticks);
  return position + std::round((near_ns - position) / wrap_ns_) * wrap_ns_;
}

namespace {

// Positions further away only occur in damaged traces.
constexpr double kFarTicks = 2e18;

}  // namespace

int64_t TickLine::Nearest(int64_t distance, double near) const {
  if (!wraps()) return distance;
  const double wrap = std::ldexp(1.0, static_cast<int>(bits_));
  const double wraps = std::round((near - static_cast<double>(distance)) / wrap);
  if (!(std::abs(wraps * wrap) < kFarTicks)) return distance;
  return distance + static_cast<int64_t>(wraps) * (int64_t{1} << bits_);
}

int64_t TickLine::AtLeast(int64_t distance, double least) const {
  if (!wraps()) return distance;
  const double wrap = std::ldexp(1.0, static_cast<int>(bits_));
  const double wraps = std::ceil((least - static_cast<double>(distance)) / wrap);
  if (!(std::abs(wraps * wrap) < kFarTicks)) return distance;
  return distance + static_cast<int64_t>(wraps) * (int64_t{1} << bits_);
}

}  // namespace acceltrace::clock::internal
