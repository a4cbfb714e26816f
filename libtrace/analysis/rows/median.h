// SPDX-License-Identifier: Apache-2.0
#ifndef LIBTRACE_ANALYSIS_ROWS_MEDIAN_H_
#define LIBTRACE_ANALYSIS_ROWS_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace acceltrace::analysis {

// Returns the quantile at `share`, or 0 without values. Reorders the values.
inline double Quantile(std::vector<double>* values, double share) {
  if (values->empty()) return 0;
  const auto place = static_cast<ptrdiff_t>(share * static_cast<double>(values->size()));
  std::nth_element(values->begin(), values->begin() + place, values->end());
  return (*values)[static_cast<size_t>(place)];
}
inline double Median(std::vector<double>* values) { return Quantile(values, 0.5); }

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_MEDIAN_H_
