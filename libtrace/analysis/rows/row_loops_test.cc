// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/row_loops.h"

#include <limits>
#include <random>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::analysis {
namespace {

constexpr int64_t kUnseen = std::numeric_limits<int64_t>::min();

// Rows most of which have the tested property; sometimes one is arbitrary.
struct Rows {
  Rows(size_t rows, std::mt19937_64* random)
      : earlier(rows), later(rows), before(rows), after(rows) {
    auto& next = *random;
    for (size_t i = 0; i < rows; ++i) {
      earlier[i] = static_cast<int64_t>(next() % 1000);
      later[i] = earlier[i] + static_cast<int64_t>(next() % 3);
      before[i] = next() % 4, after[i] = next() % 4;
    }
    if (rows == 0 || next() % 2 == 0) return;
    const int64_t any[] = {kUnseen, kUnseen + 1, -1, std::numeric_limits<int64_t>::max(),
                           static_cast<int64_t>(next())};
    earlier[next() % rows] = any[next() % 5];
    if (next() % 2 == 0) later[next() % rows] = any[next() % 5];
  }
  static const uint64_t* Ticks(const std::vector<int64_t>& values) {
    return reinterpret_cast<const uint64_t*>(values.data());
  }
  std::vector<int64_t> earlier, later;
  std::vector<uint64_t> before, after;
};

template <typename Holds>
bool All(size_t rows, const Holds& holds) {
  bool all = true;
  for (size_t i = 0; i < rows; ++i) all = all && holds(i);
  return all;
}

TEST_CASE("loops over rows say what rows say one by one") {
  std::mt19937_64 random(1);
  size_t wrong = 0;
  for (size_t n = 0; n < 20'000; ++n) {
    const size_t rows = n % 41;
    const Rows r(rows, &random);
    const auto &a = r.earlier, &b = r.later;
    const auto none_after = [&](size_t i) { return a[i] <= b[i]; };
    wrong += NoneAfter(a.data(), b.data(), rows) != All(rows, none_after);
    const auto none_below = [&](size_t i) { return a[i] >= 5; };
    wrong += NoneBelow(a.data(), rows, 5) != All(rows, none_below);
    const uint64_t *from = Rows::Ticks(a), *to = Rows::Ticks(b);
    for (const uint64_t least : {0, 1}) {
      const auto ahead = [&](size_t i) {
        return static_cast<int64_t>(to[i] - from[i] - least) >= 0;
      };
      wrong += NoneBehind(from, to, rows, least) != All(rows, ahead);
    }
    for (const uint64_t length : {uint64_t{1}, uint64_t{1000}, uint64_t{1} << 63}) {
      const auto within = [&](size_t i) { return from[i] - 2 < length; };
      wrong += AreWithin(from, rows, 2, length) != All(rows, within);
    }
    uint64_t sum = 0;
    std::vector<uint32_t> words;
    uint64_t sum_of_words = 0;
    for (size_t i = 0; i < rows; ++i) {
      sum += from[i], words.push_back(static_cast<uint32_t>(from[i])), sum_of_words += words[i];
    }
    wrong += SumOf(from, rows) != sum;
    wrong += SumOf(words.data(), rows) != sum_of_words;
    if (rows > 0) {
      const auto apart = [&](size_t i) { return i == 0 || a[i] != a[i - 1]; };
      wrong += AreApart(from + 1, rows - 1) != All(rows, apart);
      const auto alike = [&](size_t i) { return a[i] == a[0]; };
      wrong += AreAlike(a.data(), rows) != All(rows, alike);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("instants follow each other and intervals as one by one") {
  std::mt19937_64 random(2);
  size_t wrong = 0;
  for (size_t n = 0; n < 20'000; ++n) {
    const size_t rows = n % 41;
    const Rows r(rows, &random);
    std::vector<int64_t> last = r.earlier, then = last;
    uint64_t seen = 7, count = 7;
    bool all = true;
    for (size_t i = 0; i < rows; ++i) {
      if (r.later[i] == kUnseen) continue;
      all = all && last[i] <= r.later[i];
      then[i] = r.later[i], ++count;
    }
    wrong += Follow(r.later.data(), kUnseen, rows, last.data(), &seen) != all;
    wrong += seen != count || last != then;

    const IntervalRows times = {r.later.data(), r.before.data(), r.after.data()};
    bool after = true, before = true;
    uint64_t begin = 0, end = 0, certain_after = 0, certain_before = 0;
    for (size_t i = 0; i < rows; ++i) {
      const auto mid = static_cast<uint64_t>(r.later[i]);
      const auto low = static_cast<int64_t>(mid - r.before[i]);
      const auto high = static_cast<int64_t>(mid + r.after[i]);
      after = after && r.earlier[i] <= high, begin += r.earlier[i] <= low;
      before = before && low <= r.earlier[i], end += high <= r.earlier[i];
    }
    wrong += CountAfter(r.earlier.data(), times, rows, &certain_after) != after;
    wrong += CountBefore(times, r.earlier.data(), rows, &certain_before) != before;
    wrong += certain_after != begin || certain_before != end;
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace acceltrace::analysis
