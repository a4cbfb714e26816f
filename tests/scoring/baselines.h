// SPDX-License-Identifier: Apache-2.0
//
// The usual ways to convert device times, reimplemented for comparison. Wraps and resets are
// resolved for them, and they use the middle of each bracket.
#ifndef TESTS_SCORING_BASELINES_H_
#define TESTS_SCORING_BASELINES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "libtrace/clock/estimator.h"

namespace acceltrace::scoring {

struct Baseline {
  std::string name;
  std::string source;
  // Host time (ns) of an event's ticks near near_ns.
  std::function<double(uint64_t ticks, int64_t near_ns)> convert;
};

// The first is the nearest snapshot with slope 1.
std::vector<Baseline> MakeBaselines(const clock::ClockInfo& info,
                                    std::span<const clock::Sample> samples);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_BASELINES_H_
