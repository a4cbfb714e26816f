// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/common/text_buffer.h"

#include <cstdint>
#include <limits>
#include <string>

#include "tests/catch.h"

namespace acceltrace::view {
namespace {

template <typename T>
std::string Written(T number) {
  TextBuffer buffer(1);
  buffer.Integer(number);
  return std::string(buffer.text());
}

TEST_CASE("integers of each length are written as they are") {
  CHECK(Written(uint64_t{0}) == "0");
  CHECK(Written(std::numeric_limits<uint64_t>::max()) == "18446744073709551615");
  CHECK(Written(std::numeric_limits<int64_t>::min()) == "-9223372036854775808");
  CHECK(Written(std::numeric_limits<int64_t>::max()) == "9223372036854775807");
  CHECK(Written(std::numeric_limits<int32_t>::min()) == "-2147483648");
  uint64_t power = 1;
  for (int digits = 1; digits <= 19; ++digits, power *= 10) {
    for (const uint64_t number : {power - 1, power, power + 1, 9 * power, power / 7 * 61 / 9}) {
      REQUIRE(Written(number) == std::to_string(number));
      REQUIRE(Written(-static_cast<int64_t>(number)) ==
              std::to_string(-static_cast<int64_t>(number)));
    }
  }
  for (uint32_t number = 0; number < 100'000'000; number += 9'973) {
    REQUIRE(Written(number) == std::to_string(number));
  }
}

TEST_CASE("a text buffer holds what was put into it, however little room it began with") {
  TextBuffer buffer(1);
  std::string expected;
  for (int i = 0; i < 1'000; ++i) {
    buffer += ',', buffer += "ab", buffer += std::string_view(expected).substr(0, 5);
    buffer.Integer(i);
    expected += std::string(",ab") + expected.substr(0, 5) + std::to_string(i);
  }
  CHECK(buffer.text() == expected);
}

}  // namespace
}  // namespace acceltrace::view
