// SPDX-License-Identifier: Apache-2.0
//
// The part of a program that is measured, on the host's clock and on its cycle counter, so
// that a device's truth log can be cut to it.
#ifndef TESTS_WORKLOADS_COMMON_REGION_H_
#define TESTS_WORKLOADS_COMMON_REGION_H_

#include <time.h>
#include <x86intrin.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace acceltrace::workloads {

class Region {
 public:
  void Begin() { begin_ = Now(); }
  void End() { end_ = Now(); }

  int64_t duration_ns() const { return end_.ns - begin_.ns; }
  int64_t begin_ns() const { return begin_.ns; }
  uint64_t begin_tsc() const { return begin_.tsc; }
  uint64_t end_tsc() const { return end_.tsc; }

 private:
  struct Stamp {
    int64_t ns = 0;
    uint64_t tsc = 0;
  };
  static Stamp Now() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return {now.tv_sec * 1'000'000'000 + now.tv_nsec, __rdtsc()};
  }

  Stamp begin_, end_;
};

// AXL_START=PERIOD:PHASE (ns): sleeps until the host's clock is PHASE past a multiple of PERIOD, so
// that two runs meet the kernel's ticks and other periodic work alike.
inline void SleepUntilStart() {
  const char* text = std::getenv("AXL_START");
  long long period_ns = 0, phase_ns = 0;
  if (text == nullptr || std::sscanf(text, "%lld:%lld", &period_ns, &phase_ns) != 2) return;
  if (period_ns <= 0 || period_ns > 1'000'000'000 || phase_ns < 0 || phase_ns >= period_ns) return;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  // At least a whole period ahead, so that the set-up has settled.
  const long long now_ns = now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  const long long until_ns = (now_ns / period_ns + 2) * period_ns + phase_ns;
  const timespec until = {until_ns / 1'000'000'000, until_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

}  // namespace acceltrace::workloads

#endif  // TESTS_WORKLOADS_COMMON_REGION_H_
