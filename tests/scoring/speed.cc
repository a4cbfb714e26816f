// SPDX-License-Identifier: Apache-2.0
//
// clock-speed: aligns a million events on four devices in one thread, and measures the memory of a
// clock followed online. Prints one line of JSON.
#include <fmt/format.h>
#include <malloc.h>
#include <time.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>

#include "libtrace/clock/online.h"
#include "tests/scoring/simulator.h"

namespace {

std::atomic<int64_t> live_bytes{0}, peak_bytes{0};

}  // namespace

// Counts allocated bytes, so that the peak is that of the code and not of pages.
void* operator new(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  const int64_t live = live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  if (live > peak_bytes) peak_bytes = live;
  return memory;
}

void operator delete(void* memory) noexcept {
  if (memory != nullptr) live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace acceltrace::scoring {
namespace {

// CPU time of this thread, so that other work on the machine does not count.
double Now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Feeds every sample, constraint and cut in order of time; fits ten times a second.
int64_t OnlinePeak(const Recording& recording) {
  const int64_t before = live_bytes;
  peak_bytes = before;
  clock::OnlineClock online({recording.scenario.nominal_hz, recording.scenario.bits});
  size_t next = 0;
  int64_t fitted_ns = 0;
  for (const clock::Sample& sample : recording.samples) {
    for (; next < recording.constraints.size() &&
           recording.constraints[next].host_ns < sample.host_before_ns;
         ++next) {
      online.AddConstraint(recording.constraints[next]);
    }
    online.Add(sample);
    if (sample.host_after_ns - fitted_ns < 100'000'000) continue;
    fitted_ns = sample.host_after_ns;
    if (!online.Current().ok() && recording.samples.size() < 2) return -1;
  }
  return peak_bytes - before;
}

int Main() {
  constexpr int kDevices = 4;
  constexpr size_t kEventsPerDevice = 250'000;
  std::vector<Recording> recordings;
  for (int i = 0; i < kDevices; ++i) {
    Scenario scenario;
    scenario.ppm = 20.0 * i - 37;
    scenario.seed = static_cast<uint64_t>(i + 1);
    scenario.duration_s = 60;
    scenario.jobs_per_s = kEventsPerDevice / 5 / scenario.duration_s;
    if (i == 2) scenario.changes = {{20, 0.5}, {40, 1.25}};
    if (i == 3) scenario.bits = 32;
    recordings.push_back(Simulate(scenario));
    recordings.back().events.resize(kEventsPerDevice, recordings.back().events.back());
  }
  double best_s = 1e9;
  size_t events = 0;
  for (int round = 0; round < 5; ++round) {
    double seconds = 0;
    events = 0;
    for (const Recording& recording : recordings) {
      std::vector<uint64_t> ticks;
      std::vector<int64_t> near_ns;
      for (const Event& event : recording.events) {
        ticks.push_back(event.ticks);
        near_ns.push_back(event.near_ns);
      }
      std::vector<clock::Interval> out(ticks.size());
      const double from = Now();
      const auto map = recording.Builder().Build();
      if (!map.ok()) return 1;
      map->ToHost(ticks, near_ns, out);
      seconds += Now() - from;
      events += out.size();
    }
    best_s = std::min(best_s, seconds);
  }
  const nlohmann::json line{{"events", events},
                            {"devices", kDevices},
                            {"seconds", best_s},
                            {"online_peak_bytes", OnlinePeak(recordings[1])},
                            {"online_samples", recordings[1].samples.size()}};
  fmt::print("{}\n", line.dump());
  return 0;
}

}  // namespace
}  // namespace acceltrace::scoring

int main() { return acceltrace::scoring::Main(); }
