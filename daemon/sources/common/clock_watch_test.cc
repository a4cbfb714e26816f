// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/common/clock_watch.h"

#include <functional>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kMs = 1'000'000;

// Samples a clock for two seconds, as the watch requests; returns the number of samples.
struct Run {
  int samples = 0;
  int64_t surprised_at_ns = 0;
  int64_t longest_after_ns = 0;  // pause, in the 50 ms after the surprise
};
Run Watch(uint32_t bits, const std::function<double(int64_t)>& ticks, int64_t cost_ns = 5'000) {
  ClockWatch watch(bits);
  Run run;
  uint32_t noise = 1;
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (int64_t now_ns = 0; now_ns < 2000 * kMs;) {
    // The reading is anywhere in a bracket of 600 ns, sometimes of 20 us.
    noise = noise * 1664525 + 1013904223;
    const int64_t width_ns = noise >> 28 == 0 ? 20'000 : 600;
    const int64_t read_ns = now_ns + (noise >> 8) % static_cast<uint64_t>(width_ns);
    ClockSample sample;
    sample.host_before_ns = now_ns;
    sample.host_after_ns = now_ns + width_ns;
    sample.device_ticks = static_cast<uint64_t>(ticks(read_ns)) & mask;
    const uint64_t surprises = watch.surprises();
    watch.Add(sample);
    const int64_t pause_ns = watch.Pause(cost_ns);
    ++run.samples;
    if (watch.surprises() > surprises && run.surprised_at_ns == 0) run.surprised_at_ns = now_ns;
    if (run.surprised_at_ns != 0 && now_ns - run.surprised_at_ns < 20 * kMs) {
      run.longest_after_ns = std::max(run.longest_after_ns, pause_ns);
    }
    now_ns += pause_ns;
  }
  return run;
}

TEST_CASE("an even clock is sampled at the steady pace, whatever its rate, noise and width") {
  for (const double ppm : {0.0, -200.0, 200.0}) {
    for (const uint32_t bits : {32u, 48u, 64u}) {
      const Run run =
          Watch(bits, [&](int64_t ns) { return 1e9 + static_cast<double>(ns) * (1 + ppm * 1e-6); });
      CHECK(run.surprised_at_ns == 0);
      CHECK(run.samples == 20);
    }
  }
}

TEST_CASE("a slow clock's ticks are no surprise") {
  const Run run = Watch(32, [](int64_t ns) { return static_cast<double>(ns) / 50'000; });
  CHECK(run.surprised_at_ns == 0);
}

TEST_CASE("a change of frequency is noticed at the next sample and followed densely") {
  for (const double factor : {0.5, 1.25, 1.0001}) {
    const int64_t step_ns = 1010 * kMs;
    const Run run = Watch(64, [&](int64_t ns) {
      if (ns < step_ns) return static_cast<double>(ns);
      return static_cast<double>(step_ns) + static_cast<double>(ns - step_ns) * factor;
    });
    CHECK(run.surprised_at_ns > step_ns);
    CHECK(run.surprised_at_ns <= step_ns + 100 * kMs);
    CHECK(run.longest_after_ns <= 20 * kMs);
    CHECK(run.samples > 22);
    CHECK(run.samples < 40);
  }
}

TEST_CASE("what sampling costs is bounded, however restless the clock") {
  // This clock deviates at each sample.
  const auto restless = [](int64_t ns) {
    return static_cast<double>(ns) + 5e5 * static_cast<double>(ns / (10 * kMs) % 7);
  };
  for (const int64_t cost_ns : {1'000, 20'000, 100'000, 1'000'000}) {
    const Run run = Watch(64, restless, cost_ns);
    CAPTURE(cost_ns, run.samples);
    // The share of two seconds, and the first sample.
    CHECK(run.samples * cost_ns <= 2000 * kMs / ClockWatch::kMaxShare + cost_ns);
    CHECK(run.samples >= 2);
  }
  // Cheap samples are not delayed.
  CHECK(Watch(64, restless, 1'000).samples > 40);
}

TEST_CASE("a tick that took long holds nothing up, and is forgotten") {
  ClockWatch watch(64);
  for (int i = 0; i < 40; ++i) {
    // The host took the CPU away for 52 ms.
    CHECK(watch.Pause(i == 10 ? 52 * kMs : 5'000) == 100 * kMs);
  }
}

TEST_CASE("while some ticks are cheap no pause is long, whatever the others cost") {
  for (const uint32_t slow_percent : {10u, 30u, 60u, 80u}) {
    ClockWatch watch(64);
    uint32_t noise = slow_percent;
    int cheap_ago = Costs::kKept;  // no cheap sample is known yet
    double cost_sum_ns = 0, pause_sum_ns = 0;
    for (int i = 0; i < 10'000; ++i) {
      noise = noise * 1664525 + 1013904223;
      const bool slow = (noise >> 8) % 100 < slow_percent;
      const int64_t cost_ns = slow ? 1 + (noise >> 16) % 3000 * kMs / 10 : 40'000;
      cheap_ago = slow ? cheap_ago + 1 : 0;
      const int64_t pause_ns = watch.Pause(cost_ns);
      CAPTURE(slow_percent, i, cheap_ago);
      CHECK(pause_ns >= 100 * kMs);
      if (cheap_ago < static_cast<int>(Costs::kKept)) CHECK(pause_ns < 1000 * kMs);
      cost_sum_ns += static_cast<double>(std::min(cost_ns, Costs::kMostNs));
      pause_sum_ns += static_cast<double>(pause_ns);
    }
    // As counted by the guest, from the first tick on.
    CHECK(cost_sum_ns * ClockWatch::kMaxCountedShare <= 1.01 * pause_sum_ns);
  }
}

TEST_CASE("latching has its price at the steady pace, and is not done at another") {
  ClockWatch watch(64);
  CHECK(watch.steady());
  for (size_t i = 0; i < 2 * Costs::kKept; ++i) {
    CHECK(watch.Pause(100'000, 400'000) == 100 * kMs);
  }
  ClockWatch dear(64);
  for (size_t i = 1; i < Costs::kKept; ++i) dear.Pause(100'000, 900'000);
  CHECK(dear.Pause(100'000, 900'000) == 200 * kMs);
  // The very first latch was delayed.
  CHECK(ClockWatch(64).Pause(100'000, 80 * kMs) < 1000 * kMs);
  ClockSample sample;
  // It stands still from the third sample on.
  for (const int64_t ticks : {0, 1, 1}) {
    sample.host_before_ns += static_cast<uint64_t>(100 * kMs);
    sample.host_after_ns = sample.host_before_ns + 600;
    sample.device_ticks = static_cast<uint64_t>(ticks * 100 * kMs);
    dear.Add(sample);
  }
  CHECK_FALSE(dear.steady());
  CHECK(dear.Pause(100'000) == 20 * kMs);
}

TEST_CASE(
    "a device that has become slow is asked less often, and one that answers again, as before") {
  ClockWatch watch(64);
  for (int i = 0; i < 20; ++i) watch.Pause(5'000);
  int64_t pause_ns = 0;
  for (size_t i = 0; i < Costs::kKept; ++i) pause_ns = watch.Pause(5 * kMs);
  CHECK(pause_ns == 1000 * kMs);
  CHECK(watch.Pause(5'000) == 100 * kMs);
}

TEST_CASE("ticks fall on multiples") {
  CHECK(NextMultiple(0, 100) == 100);
  CHECK(NextMultiple(99, 100) == 100);
  CHECK(NextMultiple(100, 100) == 200);
  CHECK(NextMultiple(12'345, 100) == 12'400);
}

TEST_CASE("a clock that stops or starts anew is noticed") {
  CHECK(Watch(64, [](int64_t ns) {
          return static_cast<double>(std::min(ns, 1000 * kMs));
        }).surprised_at_ns > 0);
  CHECK(Watch(64, [](int64_t ns) {
          return static_cast<double>(ns < 1000 * kMs ? ns + 5'000'000 : ns - 1000 * kMs);
        }).surprised_at_ns > 0);
}

}  // namespace
}  // namespace acceltrace::daemon
