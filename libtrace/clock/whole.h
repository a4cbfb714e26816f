// SPDX-License-Identifier: Apache-2.0
//
// std::floor(), std::ceil() and std::round() of numbers that int64_t holds, as every time and
// duration is, without calling the mathematics library: the results are the same to the bit, but
// for the sign of 0.
#ifndef LIBTRACE_CLOCK_WHOLE_H_
#define LIBTRACE_CLOCK_WHOLE_H_

#include <cmath>
#include <cstdint>

namespace acceltrace::clock {

// Above that every double is whole.
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

// Halves away from 0.
inline double Round(double number) {
  if (!(std::abs(number) < kAllWhole)) return std::round(number);
  const auto cut = static_cast<double>(static_cast<int64_t>(number));
  const double rest = number - cut;  // exact
  return rest >= 0.5 ? cut + 1 : rest <= -0.5 ? cut - 1 : cut;
}

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_WHOLE_H_
