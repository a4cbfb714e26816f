// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libtrace/analysis/report/diff.h"

namespace acceltrace::analysis {
namespace {

// Uses Myers' O(ND) algorithm (An O(ND) Difference Algorithm and Its Variations, 1986). As its
// memory grows with the square of the number of differences, these are limited.
constexpr int64_t kMaxDifferences = 3000;

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

class Myers {
 public:
  Myers(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, size_t skip, size_t n,
        size_t m)
      : a_(a), b_(b), skip_(skip), n_(static_cast<int64_t>(n)), m_(static_cast<int64_t>(m)) {}

  Pairs Run() {
    const int64_t most = std::min(n_ + m_, kMaxDifferences);
    // reach[k] is the position in `a` up to which diagonal k was followed.
    std::vector<int64_t> reach(static_cast<size_t>(2 * most + 3), 0);
    const auto at = [&](int64_t k) -> int64_t& { return reach[static_cast<size_t>(k + most + 1)]; };
    for (int64_t d = 0; d <= most; ++d) {
      // Keep the result for one difference less, for backtracking.
      history_.emplace_back(reach.begin() + (most + 1 - d), reach.begin() + (most + 2 + d));
      for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
        while (x < n_ && x - k < m_ && Same(x, x - k)) ++x;
        at(k) = x;
        if (x >= n_ && x - k >= m_) return Back(d);
      }
    }
    return {};
  }

 private:
  bool Same(int64_t x, int64_t y) const {
    return a_[skip_ + static_cast<size_t>(x)] == b_[skip_ + static_cast<size_t>(y)];
  }

  Pairs Back(int64_t differences) const {
    Pairs pairs;
    int64_t x = n_, y = m_;
    const auto keep = [&](int64_t to_x, int64_t to_y) {
      while (x > to_x && y > to_y) {
        --x, --y;
        pairs.emplace_back(skip_ + static_cast<size_t>(x), skip_ + static_cast<size_t>(y));
      }
    };
    for (int64_t d = differences; d > 0; --d) {
      const std::vector<int64_t>& before = history_[static_cast<size_t>(d)];
      const auto at = [&](int64_t k) {
        const int64_t place = k + d;
        return place >= 0 && place < static_cast<int64_t>(before.size())
                   ? before[static_cast<size_t>(place)]
                   : int64_t{-1};
      };
      const int64_t k = x - y;
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int64_t from_k = down ? k + 1 : k - 1;
      const int64_t from_x = at(from_k), from_y = from_x - from_k;
      keep(down ? from_x : from_x + 1, down ? from_y + 1 : from_y);
      x = from_x, y = from_y;
    }
    keep(0, 0);
    std::reverse(pairs.begin(), pairs.end());
    return pairs;
  }

  const std::vector<uint64_t>&a_, &b_;
  size_t skip_;
  int64_t n_, m_;
  std::vector<std::vector<int64_t>> history_;
};

}  // namespace

Pairs Align(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  Pairs pairs;
  size_t begin = 0, n = a.size(), m = b.size();
  while (begin < n && begin < m && a[begin] == b[begin]) {
    pairs.emplace_back(begin, begin);
    ++begin;
  }
  while (n > begin && m > begin && a[n - 1] == b[m - 1]) --n, --m;
  for (const auto& pair : Myers(a, b, begin, n - begin, m - begin).Run()) pairs.push_back(pair);
  for (size_t i = n; i < a.size(); ++i) pairs.emplace_back(i, m + (i - n));
  return pairs;
}

}  // namespace acceltrace::analysis
