// SPDX-License-Identifier: Apache-2.0
//
// Cross-timestamps with errors: the intervals must hold however far a few of them are off.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "libtrace/clock/estimator.h"
#include "tests/catch.h"

namespace acceltrace::clock {

namespace {

constexpr int kSamples = 200;
constexpr double kPeriodNs = 1e8;
constexpr double kStartNs = 1e12;

// A clock with a nominal rate of 1 GHz that runs 20 ppm fast and drifts by `ramp` ppm/s.
struct Device {
  double ramp = 0;
  double Count(double host_ns) const {
    const double s = (host_ns - kStartNs) * 1e-9;
    return 5e9 + s * (1e9 + 20e3) + 0.5 * ramp * 1e3 * s * s;
  }
};

// Returns the error of pair i in ns.
using Errors = std::function<double(int i, std::mt19937_64* random)>;

double Uniform(double from, double to, std::mt19937_64* random) {
  return std::uniform_real_distribution<>(from, to)(*random);
}

struct Outcome {
  int outside = 0;
  double worst_ns = 0;  // how far the truth is outside of an interval
  double width_ns = 0;  // of the widest interval
};

Outcome Run(const Device& device, const Errors& errors, uint64_t seed) {
  std::mt19937_64 random(seed);
  MapBuilder builder({1e9, 64});
  for (int i = 0; i < kSamples; ++i) {
    // At each end there are 32 in a row, as the daemon takes them.
    const double burst = i < 32 ? i : i < kSamples - 32 ? 32 : i - (kSamples - 64);
    const double at = kStartNs + burst * 20e3 + kPeriodNs * std::clamp(i - 32, 0, kSamples - 64);
    Sample sample;
    sample.host_before_ns = static_cast<int64_t>(std::floor(at));
    sample.device_ticks = static_cast<uint64_t>(device.Count(at + 350 + Uniform(0, 50, &random)));
    sample.host_after_ns = static_cast<int64_t>(std::ceil(at + 850 + Uniform(0, 50, &random)));
    const double ptm = at + 2000;
    sample.has_ptm = true;
    sample.ptm_device_ticks = static_cast<uint64_t>(device.Count(ptm));
    sample.ptm_host_ns = static_cast<int64_t>(std::floor(ptm + errors(i, &random)));
    builder.Add(sample);
  }
  const Result<Map> map = builder.Build();
  REQUIRE(map.ok());
  Outcome outcome;
  const double end_ns = kStartNs + kPeriodNs * (kSamples - 64);
  for (double host_ns = kStartNs; host_ns < end_ns; host_ns += 1'234'567) {
    const Interval when = map->ToHost(static_cast<uint64_t>(device.Count(host_ns)));
    const double off = std::max(static_cast<double>(when.lo_ns) - host_ns,
                                host_ns - static_cast<double>(when.hi_ns));
    outcome.outside += off > 0;
    outcome.worst_ns = std::max(outcome.worst_ns, off);
    outcome.width_ns = std::max(outcome.width_ns, static_cast<double>(when.width_ns()));
  }
  return outcome;
}

}  // namespace

TEST_CASE("intervals hold whatever a few cross-timestamps are off by") {
  const double ramp = GENERATE(0.0, 1.0, -1.9);
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (double off_ns : {5.0, 8.0, 12.0, 20.0}) {
      CAPTURE(ramp, seed, off_ns);
      const Errors one_of_hundred = [=](int, std::mt19937_64* random) {
        const double good = Uniform(-1, 1, random);
        return Uniform(0, 1, random) < 0.01 ? off_ns : good;
      };
      const Outcome few = Run({ramp}, one_of_hundred, seed);
      CHECK(few.outside == 0);
      // They are still better than the brackets, which are 850 ns wide.
      CHECK(few.width_ns < (ramp == 0 ? 100 : 200));
      const Errors first_or_last = [=](int i, std::mt19937_64* random) {
        return (i == 0 || i == kSamples - 1) ? off_ns : Uniform(-1, 1, random);
      };
      CHECK(Run({ramp}, first_or_last, seed).outside == 0);
      const Errors some_in_a_row = [=](int i, std::mt19937_64* random) {
        return i > 80 && i < 85 ? -off_ns : Uniform(-1, 1, random);
      };
      CHECK(Run({ramp}, some_in_a_row, seed).outside == 0);
      const Errors scatter = [=](int, std::mt19937_64* random) {
        return Uniform(-off_ns, off_ns, random);
      };
      CHECK(Run({ramp}, scatter, seed).outside == 0);
    }
  }
}

TEST_CASE("good cross-timestamps are believed to a few ns, gross ones left out") {
  const Errors good = [](int, std::mt19937_64*) { return 0; };
  CHECK(Run({}, good, 1).width_ns <= 15);
  const Errors gross = [](int i, std::mt19937_64*) { return i % 50 == 40 ? 400.0 : 0.0; };
  const Outcome outcome = Run({}, gross, 1);
  CHECK(outcome.outside == 0);
  // Where one is missing, the clock may have drifted by 10 ns in either direction.
  CHECK(outcome.width_ns <= 15 + 20);
}

TEST_CASE("cross-timestamps that agree with nothing are not believed") {
  const Errors noise = [](int, std::mt19937_64* random) { return Uniform(-600, 600, random); };
  for (uint64_t seed = 1; seed <= 5; ++seed) CHECK(Run({}, noise, seed).outside == 0);
}

}  // namespace acceltrace::clock
