// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/columns/job_keys.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::model {
namespace {

TEST_CASE("Keys of jobs are those that were added, whether they follow each other or not") {
  std::mt19937_64 random(1);
  // One of this many keys does not follow the one before it.
  for (const uint64_t run : {1, 3, 100, 5'000, 1'000'000}) {
    JobKeys keys;
    std::vector<uint64_t> expected;
    uint64_t key = (uint64_t{1} << 32) - 20'000;
    for (int i = 0; i < 50'000; ++i) {
      key += random() % run == 0 ? 2 + random() % 1'000 : 1;
      keys.push_back(key);
      expected.push_back(key);
      REQUIRE(keys[i] == key);
    }
    REQUIRE(keys.size() == expected.size());
    JobKeyReader reader(keys);
    for (size_t row = 0; row < expected.size(); ++row) {
      REQUIRE(reader[row] == expected[row]);
      REQUIRE(keys.Find(expected[row]) == row);
      const bool next = row + 1 < expected.size() && expected[row + 1] == expected[row] + 1;
      REQUIRE(keys.Find(expected[row] + 1).has_value() == next);
    }
    REQUIRE(!keys.Find(expected[0] - 1).has_value());
    for (int i = 0; i < 1'000; ++i) {
      const size_t first = random() % expected.size();
      REQUIRE(keys[first] == expected[first]);
      std::vector<uint64_t> some(random() % (expected.size() - first));
      keys.Read(first, some.size(), some.data());
      REQUIRE(std::equal(some.begin(), some.end(), expected.begin() + first));
    }
    keys.KeepAll();
    for (size_t row = 0; row < expected.size(); ++row) REQUIRE(keys[row] == expected[row]);
  }
}

TEST_CASE("There is no key where there are none") { REQUIRE(!JobKeys().Find(0).has_value()); }

}  // namespace
}  // namespace acceltrace::model
