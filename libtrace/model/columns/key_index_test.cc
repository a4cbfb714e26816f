// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/columns/key_index.h"

#include <random>
#include <unordered_map>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::model {
namespace {

TEST_CASE("Rows are found by their numbers, however many there are") {
  std::mt19937_64 random(1);
  for (const uint64_t stride : {uint64_t{1}, uint64_t{16}, uint64_t{1} << 21, uint64_t{1} << 32}) {
    std::vector<uint64_t> keys;
    const auto key_of = [&](uint32_t row) { return keys[row]; };
    KeyIndex index(stride == 1 ? 50'000 : 0);
    std::unordered_map<uint64_t, uint32_t> expected;
    for (int i = 0; i < 60'000; ++i) {
      const uint64_t key = stride * (random() % 30'000);
      const auto next = static_cast<uint32_t>(keys.size());
      const uint32_t row = index.Add(key, next, key_of);
      if (row == next) keys.push_back(key);
      REQUIRE(row == expected.try_emplace(key, next).first->second);
    }
    for (uint64_t i = 0; i < 40'000; ++i) {
      const auto found = expected.find(stride * i);
      const uint32_t row = found == expected.end() ? KeyIndex::kNone : found->second;
      REQUIRE(index.Find(stride * i, key_of) == row);
    }
  }
}

}  // namespace
}  // namespace acceltrace::model
