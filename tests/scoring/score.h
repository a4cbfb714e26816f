// SPDX-License-Identifier: Apache-2.0
//
// The errors of converted times.
#ifndef TESTS_SCORING_SCORE_H_
#define TESTS_SCORING_SCORE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "tests/scoring/baselines.h"

namespace acceltrace::scoring {

struct Spread {
  double p50_ns = 0, p99_ns = 0, max_ns = 0;
};

// Computes the spread of absolute errors.
Spread SpreadOf(std::vector<double> errors_ns);

struct Score {
  uint64_t events = 0;
  uint64_t outside = 0;  // of their interval
  double worst_outside_ns = 0;
  Spread error;
  double width_median_ns = 0;
  double width_max_ns = 0;
  struct Rival {
    std::string name;
    Spread error;
  };
  std::vector<Rival> rivals;  // the first is the nearest snapshot
  clock::Quality quality;
  // Smaller differences between errors count as equal: all tools store times in whole ns, and the
  // truth has a limited accuracy.
  double resolution_ns = 1;

  // The rival with the smallest p99.
  const Rival& Best() const;
};

struct TrueEvent {
  uint64_t ticks = 0;
  int64_t near_ns = 0;
  double true_ns = 0;
  clock::Interval converted;
};

// truth_accuracy_ns is the accuracy of the true times. An interval misses the truth if it does so
// for every possible true time.
Score ScoreOf(const std::vector<TrueEvent>& events, const std::vector<Baseline>& baselines,
              const clock::Quality& quality, double truth_accuracy_ns = 0);

nlohmann::json ToJson(const Score& score);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_SCORE_H_
