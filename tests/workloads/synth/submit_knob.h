// SPDX-License-Identifier: Apache-2.0
//
// Makes the submission of work more expensive by a known factor: a call that submits is preceded by
// computing for the additional time. Nothing can make it cheaper, but the run's time is a convex
// function of the cost of submission (the longest of its chains, each a sum). So 1.2x of the cost
// adds at least what 0.8x saves, and equally much while the same chain is the longest.
#ifndef TESTS_WORKLOADS_SYNTH_SUBMIT_KNOB_H_
#define TESTS_WORKLOADS_SYNTH_SUBMIT_KNOB_H_

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace acceltrace::workloads {

// Computes for this long: about three instructions per iteration, of a nanosecond each.
inline void Think(double us) {
  volatile uint32_t work = 0;
  for (auto n = static_cast<uint32_t>(us * 1000 / 3); n > 0; --n) work = work + 1;
}

class SubmitKnob {
 public:
  // 0: calls are not measured. 1: calls are measured and keep their cost, so that a run with
  // another factor differs in nothing else.
  explicit SubmitKnob(double factor) : factor_(factor) {
    if (factor_ <= 0) return;
    const double begin_ns = ThreadNs();
    Think(kTrialUs);
    think_ns_ = (ThreadNs() - begin_ns) / kTrialUs / 1000;
    clock_ns_ = kTrialUs * 1000;
    for (int i = 0; i < 16; ++i) {
      const double before_ns = ThreadNs();
      clock_ns_ = std::min(clock_ns_, ThreadNs() - before_ns);
    }
  }

  void BeginRound() { at_ = 0; }

  // The calls of each round are in the same order. Each is preceded by its share of its duration in
  // the previous round; in the first round its share follows it.
  template <typename Call>
  auto Submit(Call call) {
    if (factor_ <= 0) return call();
    if (at_ == last_ns_.size()) last_ns_.push_back(0);
    double& last_ns = last_ns_[at_++];
    const bool first = last_ns == 0;
    if (!first) Spend(last_ns);
    const double begin_ns = ThreadNs();
    auto result = call();
    last_ns = std::max(1.0, ThreadNs() - begin_ns - clock_ns_);
    if (first) Spend(last_ns);
    return result;
  }

 private:
  static constexpr double kTrialUs = 100;

  // CPU time of the thread: sleeping for space in a queue is not a cost of submission.
  static double ThreadNs() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  }
  void Spend(double call_ns) { Think((factor_ - 1) * call_ns / think_ns_ / 1000); }

  const double factor_;
  double think_ns_ = 1, clock_ns_ = 0;
  std::vector<double> last_ns_;
  size_t at_ = 0;
};

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_SYNTH_SUBMIT_KNOB_H_
