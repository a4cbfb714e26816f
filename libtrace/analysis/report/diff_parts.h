// SPDX-License-Identifier: Apache-2.0
//
// Functions that the parts of a comparison share. Internal.
#ifndef LIBTRACE_ANALYSIS_REPORT_DIFF_PARTS_H_
#define LIBTRACE_ANALYSIS_REPORT_DIFF_PARTS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/report/diff.h"

namespace acceltrace::analysis {

// Computes mean and variance incrementally (Welford).
class Spread {
 public:
  void Add(double value) {
    ++n_;
    const double step = value - mean_;
    mean_ += step / static_cast<double>(n_);
    squares_ += step * (value - mean_);
  }
  uint64_t n() const { return n_; }
  // Returns the error of the sum of all values, if each of them is one sample of their
  // distribution.
  double ErrorOfSum() const {
    if (n_ < 2) return 0;
    const auto n = static_cast<double>(n_);
    return std::sqrt(n * squares_ / (n - 1));
  }

 private:
  uint64_t n_ = 0;
  double mean_ = 0, squares_ = 0;
};

// Rows in Model::jobs of A and of B that are the same job.
using JobPairs = std::vector<std::pair<size_t, size_t>>;

// Returns the name of a size class of transfers.
std::string SizeName(uint64_t up_to_bytes);

// Sets delta and certainty from the other fields.
void JudgeChange(Change* change);

// Compares how long jobs spent in each stage, summed over all jobs.
std::vector<Change> CompareStages(const Report& a, const Report& b, const JobPairs& pairs);
// Compares how long each unit was busy.
std::vector<Change> CompareUnits(const Report& a, const Report& b);
// Finds examples for each change. `jobs` are the aligned ones.
void FindPlaces(const Report& a, const Report& b, const JobPairs& pairs, Diff* diff);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_DIFF_PARTS_H_
