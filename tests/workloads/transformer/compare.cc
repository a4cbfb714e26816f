// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/transformer/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace acceltrace::workloads {

Comparison Compare(const Generation& device, const Generation& reference, uint32_t vocab) {
  Comparison result;
  result.steps = static_cast<uint32_t>(reference.tokens.size());
  bool same = true;
  for (uint32_t step = 0; step < result.steps && step < device.tokens.size(); ++step) {
    if (same) {
      double error = 0, largest = 0;
      for (size_t i = step * static_cast<size_t>(vocab);
           i < (step + 1) * static_cast<size_t>(vocab); ++i) {
        const double difference = std::abs(static_cast<double>(device.logits[i]) -
                                           static_cast<double>(reference.logits[i]));
        // A NaN must not pass a comparison.
        error = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                       : std::max(error, difference);
        largest = std::max(largest, std::abs(static_cast<double>(reference.logits[i])));
      }
      result.max_abs_error = std::max(result.max_abs_error, error);
      result.max_rel_error = std::max(result.max_rel_error, largest > 0 ? error / largest : error);
    }
    same = same && device.tokens[step] == reference.tokens[step];
    result.equal_tokens += device.tokens[step] == reference.tokens[step];
  }
  return result;
}

}  // namespace acceltrace::workloads
