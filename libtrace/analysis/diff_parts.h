// SPDX-License-Identifier: Apache-2.0
//
// What the parts of a comparison share. Internal.
#ifndef LIBTRACE_ANALYSIS_DIFF_PARTS_H_
#define LIBTRACE_ANALYSIS_DIFF_PARTS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/diff.h"

namespace acceltrace::analysis {

// Mean and variance, one value at a time (Welford).
class Spread {
 public:
  void Add(double value) {
    ++n_;
    const double step = value - mean_;
    mean_ += step / static_cast<double>(n_);
    squares_ += step * (value - mean_);
  }
  uint64_t n() const { return n_; }
  // Of the sum of all values, if each of them could have been another one of them.
  double ErrorOfSum() const {
    if (n_ < 2) return 0;
    const auto n = static_cast<double>(n_);
    return std::sqrt(n * squares_ / (n - 1));
  }

 private:
  uint64_t n_ = 0;
  double mean_ = 0, squares_ = 0;
};

// Rows of Model::jobs in A and in B that are one job.
using JobPairs = std::vector<std::pair<size_t, size_t>>;

// What a class of sizes of transfers is called.
std::string SizeName(uint64_t up_to_bytes);

// Sets delta and certainty by what else is known.
void JudgeChange(Change* change);

// How long jobs were in which hands: sums of a stage over all jobs.
std::vector<Change> CompareStages(const Report& a, const Report& b, const JobPairs& pairs);
// How long each unit was busy.
std::vector<Change> CompareUnits(const Report& a, const Report& b);
// Where to look at each change. jobs: pairs.
void FindPlaces(const Report& a, const Report& b, const JobPairs& pairs, Diff* diff);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_DIFF_PARTS_H_
