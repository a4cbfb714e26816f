// SPDX-License-Identifier: Apache-2.0
//
// Inline versions of std::floor(), std::ceil() and std::round() for numbers that fit into int64_t,
// as every time and duration does. They avoid calls of the maths library and give bit-identical
// results, except for the sign of 0.
#ifndef LIBTRACE_CLOCK_WHOLE_H_
#define LIBTRACE_CLOCK_WHOLE_H_

#include <cmath>
#include <cstdint>

namespace acceltrace::clock {

// Every double above this is whole.
inline constexpr double kAllWhole = static_cast<double>(int64_t{1} << 52);

inline double Floor(double number) {
  if (!(std::abs(number) < kAllWhole)) return std::floor(number);
  const auto cut = static_cast<double>(static_cast<int64_t>(number));
  return cut > number ? cut - 1 : cut;
}

inline double Ceil(double number) {
  if (!(std::abs(number) < kAllWhole)) return std::ceil(number);
  const auto cut = static_cast<double>(static_cast<int64_t>(number));
  return cut < number ? cut + 1 : cut;
}

// Rounds halves away from 0.
inline double Round(double number) {
  if (!(std::abs(number) < kAllWhole)) return std::round(number);
  const auto cut = static_cast<double>(static_cast<int64_t>(number));
  const double rest = number - cut;  // exact
  return rest >= 0.5 ? cut + 1 : rest <= -0.5 ? cut - 1 : cut;
}

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_WHOLE_H_
