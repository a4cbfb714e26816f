// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/record_set.h"

#include <random>
#include <unordered_set>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::model {
namespace {

TEST_CASE("Numbers of records that are there again are counted, wherever they lie") {
  std::mt19937_64 random(1);
  // The last ones: nearly all are alone in their page, and pages come when there are more.
  for (const uint64_t stride : {uint64_t{1}, uint64_t{5}, uint64_t{300}, uint64_t{1} << 20}) {
    RecordSet set;
    std::unordered_set<uint32_t> seen;
    uint64_t repeated = 0;
    // Over the end of what the device counts to.
    uint64_t next = (uint64_t{1} << 32) - 5'000;
    for (int batch = 0; batch < 60; ++batch) {
      std::vector<uint64_t> numbers(random() % 2'000);
      for (uint64_t& number : numbers) {
        number = random() % 8 == 0 ? next - random() % 1'000 * stride : next += stride;
        repeated += !seen.insert(static_cast<uint32_t>(number)).second;
      }
      set.Add(numbers);
    }
    REQUIRE(set.Repeated() == repeated);
  }
}

TEST_CASE("A number that had no page when it came is found in the page that came later") {
  RecordSet set;
  std::vector<uint64_t> numbers(1'000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i << 20 | 7;
  set.Add(numbers);
  const std::vector<uint64_t> near(100'000, 1);
  set.Add(near);
  set.Add(numbers);
  REQUIRE(set.Repeated() == numbers.size() + near.size() - 1);
}

}  // namespace
}  // namespace acceltrace::model
