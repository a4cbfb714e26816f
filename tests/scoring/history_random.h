// SPDX-License-Identifier: Apache-2.0
//
// Random numbers of histories: the same for the same seed.
#ifndef TESTS_SCORING_HISTORY_RANDOM_H_
#define TESTS_SCORING_HISTORY_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

namespace acceltrace::scoring {

class HistoryRandom {
 public:
  explicit HistoryRandom(uint64_t seed) : engine_(seed) {}
  double Uniform(double from, double to) {
    return from + (to - from) * std::uniform_real_distribution<>(0, 1)(engine_);
  }
  double LogUniform(double from, double to) {
    return std::exp(Uniform(std::log(from), std::log(to)));
  }
  double Exponential(double mean) { return std::exponential_distribution<>(1 / mean)(engine_); }
  bool Chance(double share) { return Uniform(0, 1) < share; }
  int Below(int n) { return static_cast<int>(Uniform(0, n)); }

 private:
  std::mt19937_64 engine_;
};

template <typename... Args>
std::string fmt(const char* format, Args... args) {
  char text[200];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_HISTORY_RANDOM_H_
