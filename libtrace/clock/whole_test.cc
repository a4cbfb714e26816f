// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/whole.h"

#include <catch2/catch_all.hpp>
#include <limits>
#include <random>
#include <vector>

namespace acceltrace::clock {
namespace {

TEST_CASE("whole numbers are those of the mathematics library") {
  std::vector<double> numbers = {0,     0.5,    1,    1.5,   2.5,    1e-300, 0.49999999999999994,
                                 1e15,  4.5e15, 1e18, 1e300, 0x1p52, 0x1p53, 0x1p62,
                                 0x1p63};
  std::mt19937_64 random(7);
  for (int bits = 0; bits < 60; ++bits) {
    for (int n = 0; n < 200; ++n) {
      const auto whole = static_cast<double>(random() >> (63 - bits));
      for (const double part : {0.0, 0.25, 0.5, 0.75}) numbers.push_back(whole + part);
      numbers.push_back(std::nextafter(whole + 0.5, 0.0));
      numbers.push_back(std::nextafter(whole, 1e300));
      numbers.push_back(std::nextafter(whole, -1e300));
    }
  }
  size_t differ = 0;
  for (const double of : numbers) {
    for (const double number : {of, -of}) {
      differ += Floor(number) != std::floor(number);
      differ += Ceil(number) != std::ceil(number);
      differ += Round(number) != std::round(number);
    }
  }
  CHECK(differ == 0);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(Floor(-infinity) == -infinity);
  CHECK(Round(infinity) == infinity);
  CHECK(std::isnan(Ceil(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace acceltrace::clock
