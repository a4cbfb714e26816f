// SPDX-License-Identifier: Apache-2.0
//
// Simulates a device clock, its sampling and its jobs in exactly known host time, to test the
// estimator without a VM.
#ifndef TESTS_SCORING_SIMULATOR_H_
#define TESTS_SCORING_SIMULATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/clock/estimator.h"

namespace acceltrace::scoring {

// A change of the clock at a host time.
struct ClockChange {
  double at_s = 0;
  double ratio = 1;       // new frequency against nominal, ppm apart
  double jump_ticks = 0;  // added to the count
  bool reset = false;     // the count restarts at 0
};

// The path of a read of the device clock, with its delays in ns.
struct Path {
  double request_ns = 400;   // to the device
  double return_ns = 400;    // and back
  double jitter_ns = 60;     // mean of an exponential on each leg
  double slow_share = 0.01;  // of reads that also wait on either leg ...
  double slow_ns = 5'000;    // ... exponentially, this long on average
  double preempted_share = 0;
  double preempted_ns = 4e6;  // a time slice
};

struct Scenario {
  std::string name;
  // The clock.
  double nominal_hz = 1e9;
  uint32_t bits = 64;
  double start_ticks = 987'654'321'012;
  double ppm = 0;
  double ramp_ppm_per_s = 0;
  std::vector<ClockChange> changes;
  bool announced = true;  // the device announces changes of frequency
  // Sampling.
  double duration_s = 20;
  double period_s = 0.02;
  int burst = 16;                         // samples 1 ms apart at the start and the end
  double lost_from_s = 0, lost_to_s = 0;  // no samples in between
  bool ptm = false;
  Path read;
  // Jobs: doorbell and completion give constraints.
  double jobs_per_s = 500;
  Path doorbell{300, 0, 60, 0.01, 5'000, 0, 0};
  Path interrupt{0, 2'000, 600, 0.05, 20'000, 0, 0};
  uint64_t seed = 1;
};

struct Event {
  uint64_t ticks = 0;
  int64_t near_ns = 0;  // the hint that a model would have
  double true_ns = 0;
};

struct Recording {
  Scenario scenario;
  std::vector<clock::Sample> samples;
  std::vector<clock::Constraint> constraints;
  struct Cut {
    uint64_t ticks;
    int64_t near_ns;
    double hz;
  };
  std::vector<Cut> cuts;
  std::vector<Event> events;  // by time

  clock::MapBuilder Builder() const;
};

Recording Simulate(const Scenario& scenario);

// The cells of the fault matrix. `quiet` has the paths of instruction-counted virtual time, where
// reads differ by a few ns, else those of a busy machine.
std::vector<Scenario> FaultMatrix(bool quiet);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_SIMULATOR_H_
