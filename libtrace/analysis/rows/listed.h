// SPDX-License-Identifier: Apache-2.0
//
// Bounded lists of things of which a trace may have any number, such as threads or interrupts: only
// the first ones by some order are kept.
#ifndef LIBTRACE_ANALYSIS_ROWS_LISTED_H_
#define LIBTRACE_ANALYSIS_ROWS_LISTED_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace acceltrace::analysis {

// More than a machine has, but few enough to bound the memory for any trace.
inline constexpr size_t kMostListed = 4096;

template <typename Use>
struct Listed {
  std::vector<Use> first;  // the first ones, at most kMostListed
  size_t all = 0;          // their total number

  size_t left_out() const { return all - first.size(); }
};

// Accepts any number of elements and keeps the first ones by Before; equal ones stay in their
// original order.
template <typename Use, typename Before>
class Foremost {
 public:
  explicit Foremost(Before before) : before_(std::move(before)) {}

  void Add(Use use) {
    kept_.emplace_back(all_++, std::move(use));
    if (kept_.size() >= 2 * kMostListed) Cut();
  }

  Listed<Use> Done() {
    std::sort(kept_.begin(), kept_.end(), InOrder());
    if (kept_.size() > kMostListed) kept_.resize(kMostListed);
    Listed<Use> listed;
    listed.all = all_;
    listed.first.reserve(kept_.size());
    for (auto& [number, use] : kept_) listed.first.push_back(std::move(use));
    kept_.clear();
    return listed;
  }

 private:
  auto InOrder() const {
    return [this](const auto& a, const auto& b) {
      if (before_(a.second, b.second)) return true;
      return !before_(b.second, a.second) && a.first < b.first;
    };
  }

  void Cut() {
    std::nth_element(kept_.begin(), kept_.begin() + kMostListed, kept_.end(), InOrder());
    kept_.resize(kMostListed);
  }

  Before before_;
  size_t all_ = 0;
  std::vector<std::pair<size_t, Use>> kept_;  // with their original index
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_LISTED_H_
