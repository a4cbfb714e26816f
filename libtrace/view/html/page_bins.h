// SPDX-License-Identifier: Apache-2.0
//
// Sums over intervals of equal length. Internal.
#ifndef LIBTRACE_VIEW_HTML_PAGE_BINS_H_
#define LIBTRACE_VIEW_HTML_PAGE_BINS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/view/common/page_columns.h"

namespace acceltrace::view {

// Returns the difference of two times, which damaged data may place too far apart for int64_t.
inline double LengthNs(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns) - static_cast<double>(from_ns);
}

class Bins {
 public:
  // Divides [begin_ns, end_ns) into n intervals.
  Bins(int64_t begin_ns, int64_t end_ns, size_t n)
      : begin_(static_cast<double>(begin_ns)),
        width_(std::max(1.0, static_cast<double>(end_ns) - begin_) / static_cast<double>(n)),
        n_(n) {}

  size_t size() const { return n_; }
  double width_ns() const { return width_; }

  // Adds `amount`, spread evenly over [from_ns, to_ns).
  template <typename Number>
  void Add(int64_t from_ns, int64_t to_ns, double amount, std::vector<Number>* sums) const {
    const double from = At(from_ns), to = std::max(At(to_ns), from + 1e-9);
    const auto bins = static_cast<double>(n_);
    if (!(from < bins) || !(to > 0)) return;
    const double per_bin = amount / (to - from);
    const auto first = static_cast<size_t>(std::max(0.0, from));
    const auto last = static_cast<size_t>(std::min(bins - 1, std::floor(to)));
    for (size_t b = first; b <= last; ++b) {
      const auto at = static_cast<double>(b);
      const double part = std::min(to, at + 1) - std::max(from, at);
      if (part > 0) (*sums)[b] += static_cast<Number>(part * per_bin);
    }
  }

  // Returns the interval in which something begins, the first one if it began earlier, or n if it
  // is outside.
  size_t Of(int64_t from_ns, int64_t to_ns) const {
    const double at = At(from_ns);
    if (!(at < static_cast<double>(n_)) || !(At(to_ns) >= 0)) return n_;
    return static_cast<size_t>(std::max(0.0, at));
  }

 private:
  double At(int64_t time_ns) const { return (static_cast<double>(time_ns) - begin_) / width_; }

  double begin_, width_;
  size_t n_;
};

// Encodes the share of each interval as a byte, where kFullShare is all of it, in base64. If given,
// *taken has the shares that other things already took; it is updated, and the total is limited to
// all of it.
inline constexpr double kFullShare = 250;
template <typename Number>
std::string SharesText(const std::vector<Number>& sums, double width_ns,
                       std::vector<double>* taken = nullptr) {
  std::string bytes;
  for (size_t b = 0; b < sums.size(); ++b) {
    const double free = taken == nullptr ? 1 : std::max(0.0, 1 - (*taken)[b]);
    const double share = std::clamp(static_cast<double>(sums[b]) / width_ns, 0.0, free);
    if (taken != nullptr) (*taken)[b] += share;
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(std::lround(share * kFullShare))));
  }
  return Base64(bytes);
}

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_BINS_H_
