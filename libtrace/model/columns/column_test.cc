// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/columns/column.h"

#include <limits>
#include <numeric>
#include <random>

#include "libtrace/model/columns/interval_column.h"
#include "tests/catch.h"

namespace acceltrace::model {
namespace {

template <typename T>
T Shaped(std::mt19937_64& random, int shape, size_t row) {
  switch (shape) {
    case 0:
      return T{7};
    case 1:
      return static_cast<T>(random() % 200);
    case 2:
      return static_cast<T>(row * 3 + random() % 5);
    case 3:
      return static_cast<T>(1'000'000'000 - row * 5);
    case 4:
      return static_cast<T>(random());
    case 5:
      return row % 100 == 0 ? std::numeric_limits<T>::min() : static_cast<T>(row);
    case 6:
      return row % 700 == 0 ? std::numeric_limits<T>::max() : static_cast<T>(row % 3);
    default:
      return static_cast<T>((row / 1500) * 123456789);
  }
}

template <typename T>
size_t Differences(const Column<T>& column, const std::vector<T>& plain) {
  size_t different = column.size() != plain.size();
  for (size_t i = 0; i < plain.size(); ++i) different += column[i] != plain[i];
  return different + !std::equal(plain.begin(), plain.end(), column.begin(), column.end());
}

// After any operations, a column has the same values as a vector.
template <typename T>
void Compare(uint32_t seed) {
  std::mt19937_64 random(seed);
  Column<T> column;
  std::vector<T> plain;
  for (int step = 0; step < 40; ++step) {
    const int shape = static_cast<int>(random() % 8);
    const size_t rows = random() % 3 == 0 ? random() % 3000 : random() % 20;
    switch (random() % 10) {
      case 8: {
        const std::vector<uint64_t> bases = {0,          5'000'000'000,         ~uint64_t{0} - 100,
                                             250,        0x7fff'ffff'ffff'ff80, 0x7fff'ff80,
                                             0xffff'ff80};
        const uint64_t base = bases[random() % bases.size()];
        std::vector<uint32_t> numbers;
        for (size_t i = 0; i < rows; ++i) {
          numbers.push_back(Shaped<uint32_t>(random, shape, i));
          plain.push_back(static_cast<T>(base + numbers.back()));
        }
        column.AppendNumbers(base, numbers.data(), rows);
        break;
      }
      case 0:
      case 1:
        for (size_t i = 0; i < rows; ++i) {
          plain.push_back(Shaped<T>(random, shape, plain.size()));
          column.push_back(plain.back());
        }
        break;
      case 2:
        for (size_t i = 0; i < rows && !plain.empty(); ++i) {
          const size_t row = random() % plain.size();
          plain[row] = Shaped<T>(random, shape, row);
          column[row] = plain[row];
        }
        break;
      case 3:
        column.Compact();
        break;
      case 6: {
        std::vector<T> more;
        for (size_t i = 0; i < rows; ++i) more.push_back(Shaped<T>(random, shape, i));
        column.Append(more.begin(), more.end());
        plain.insert(plain.end(), more.begin(), more.end());
        break;
      }
      case 7: {
        // Overwrites several rows at once.
        const size_t first = random() % (plain.size() + 1);
        const size_t count = std::min(rows, plain.size() - first);
        for (size_t i = 0; i < count; ++i) plain[first + i] = Shaped<T>(random, shape, i);
        column.Write(first, count, plain.data() + first);
        std::vector<T> read(rows, T{1}),
            want(plain.begin() + static_cast<ptrdiff_t>(first),
                 plain.begin() + static_cast<ptrdiff_t>(first + count));
        want.resize(rows);  // missing rows are zero
        column.Read(first, rows, read.data());
        if (first + rows <= plain.size() || first + count == plain.size()) REQUIRE(read == want);
        break;
      }
      case 4: {
        const T value = Shaped<T>(random, shape, 5);
        const size_t size = random() % (plain.size() + rows + 1);
        plain.resize(size, value);
        column.resize(size, value);
        break;
      }
      case 5: {
        std::vector<uint32_t> order(plain.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        if (random() % 2 == 0) order.resize(order.size() / 2);
        column.Permute(order);
        std::vector<T> permuted;
        for (const uint32_t row : order) permuted.push_back(plain[row]);
        plain = std::move(permuted);
        break;
      }
      default: {
        const Column<T> copy = column;
        column.Append(copy.begin(), copy.end());
        const std::vector<T> same = plain;
        plain.insert(plain.end(), same.begin(), same.end());
        if (plain.size() > 20'000) plain.clear(), column.assign(0, T{});
      }
    }
    INFO("seed " << seed << ", step " << step);
    REQUIRE(Differences(column, plain) == 0);
  }
}

TEST_CASE("a column holds what a vector would") {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Compare<uint64_t>(seed);
    Compare<int64_t>(seed);
    Compare<uint32_t>(seed);
    Compare<int32_t>(seed);
    Compare<uint8_t>(seed);
  }
}

TEST_CASE("what is far below one value of a chunk is told apart") {
  for (const uint64_t far : {300, 70'000, 5'000'000}) {
    std::vector<uint64_t> plain;
    Column<uint64_t> column;
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < 3000; ++i) numbers.push_back(i % 3 == 0 ? 7 : uint32_t(far) + i % 200);
    for (const uint32_t number : numbers) plain.push_back(9 + number);
    column.AppendNumbers(9, numbers.data(), numbers.size());
    CHECK(Differences(column, plain) == 0);
    Column<uint64_t> same;
    same.AppendValues(plain.data(), plain.size());
    CHECK(Differences(same, plain) == 0);
  }
}

TEST_CASE("rows that are not there are zero, also behind others") {
  Column<uint32_t> column;
  CHECK(column.At(5000) == 0);
  column.resize(3, 9);
  CHECK((column.At(2) == 9 && column.At(3) == 0));
}

TEST_CASE("intervals come back, however wide they are") {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::vector<clock::Interval> all = {
      {5, 7, 9}, {-5, 0, 1 << 20}, {kMin, 0, kMax}, {kMin, kMin, kMin}, {kMax, kMax, kMax}};
  IntervalColumn column;
  for (int round = 0; round < 400; ++round) {
    for (const auto& one : all) column.push_back(one);
  }
  column.Compact();
  size_t wrong = 0;
  for (size_t i = 0; i < column.size(); ++i) {
    const clock::Interval at = column[i], want = all[i % all.size()];
    wrong += at.lo_ns != want.lo_ns || at.mid_ns != want.mid_ns || at.hi_ns != want.hi_ns;
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace acceltrace::model
