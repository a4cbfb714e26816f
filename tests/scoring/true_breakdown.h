// SPDX-License-Identifier: Apache-2.0
//
// Breaks down the run time by true times.
#ifndef TESTS_SCORING_TRUE_BREAKDOWN_H_
#define TESTS_SCORING_TRUE_BREAKDOWN_H_

#include <cstdint>
#include <map>
#include <string>

#include "tests/scoring/figures.h"

namespace acceltrace::scoring {

struct TrueBreakdown {
  double run = 0;
  std::map<std::string, double> classes;
  double overlap = 0, gap_total = 0, gap_longest = 0;
  uint64_t gaps = 0;
};

TrueBreakdown BreakDown(const model::Model& model, const RunTruth& truth);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_TRUE_BREAKDOWN_H_
