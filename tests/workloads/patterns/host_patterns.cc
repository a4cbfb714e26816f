// SPDX-License-Identifier: Apache-2.0
#include "tests/workloads/patterns/bench.h"
#include "tests/workloads/patterns/patterns.h"

namespace acceltrace::workloads {
namespace {

constexpr uint32_t kSmall = 16;

struct Counter {
  Bench bench;
  float* x = nullptr;
  axlVector increment = {};

  Status Create() {
    STATUS_TRY(bench.Create());
    STATUS_TRY(bench.Scratch(&x, kSmall));
    bench.Fill(x, 0, kSmall);
    increment = Vector(x, nullptr, x, 1, kSmall);
    increment.beta = 1;
    return Status();
  }
  Status Launch() {
    AXL_TRY(axlLaunchVector("increment", axlVecScale, &increment, bench.stream()));
    return Status();
  }
};

// Tiny jobs in sequence, as fast as the host can.
Status Submit(uint32_t scale, PatternStats* stats) {
  Counter counter;
  STATUS_TRY(counter.Create());
  const uint32_t jobs = 1000 * scale;
  stats->commands = jobs;
  STATUS_TRY(counter.bench.Timed("submit", stats, [&]() -> Status {
    for (uint32_t i = 0; i < jobs; ++i) STATUS_TRY(counter.Launch());
    return Status();
  }));
  return counter.bench.Check(counter.x, kSmall, static_cast<float>(jobs), stats);
}

// The host waits for each job before it submits the next.
Status RoundTrip(uint32_t scale, PatternStats* stats) {
  Counter counter;
  STATUS_TRY(counter.Create());
  const uint32_t jobs = 500 * scale;
  stats->commands = jobs;
  STATUS_TRY(counter.bench.Timed("round-trip", stats, [&]() -> Status {
    for (uint32_t i = 0; i < jobs; ++i) {
      STATUS_TRY(counter.Launch());
      AXL_TRY(axlStreamSynchronize(counter.bench.stream()));
    }
    return Status();
  }));
  return counter.bench.Check(counter.x, kSmall, static_cast<float>(jobs), stats);
}

// The application computes most of the time.
Status Application(uint32_t scale, PatternStats* stats) {
  Counter counter;
  STATUS_TRY(counter.Create());
  const uint32_t jobs = 20 * scale;
  stats->commands = jobs;
  volatile uint32_t work = 0;
  STATUS_TRY(counter.bench.Timed("application", stats, [&]() -> Status {
    for (uint32_t i = 0; i < jobs; ++i) {
      axlRange range("think");
      for (uint32_t n = 0; n < 100000; ++n) work = work + n;
      STATUS_TRY(counter.Launch());
    }
    return Status();
  }));
  return counter.bench.Check(counter.x, kSmall, static_cast<float>(jobs), stats);
}

// Pageable memory is copied by the CPU before the device gets it.
Status Pageable(uint32_t scale, PatternStats* stats) {
  constexpr size_t kFloats = 1 << 16;
  Bench bench;
  float* device;
  STATUS_TRY(bench.Create());
  STATUS_TRY(bench.Dram(&device, kFloats));
  std::vector<float> host(kFloats, 13.0f);
  stats->commands = 8 * scale;
  STATUS_TRY(bench.Timed("pageable", stats, [&]() -> Status {
    for (uint32_t i = 0; i < 8 * scale; ++i) {
      AXL_TRY(axlMemcpyAsync(device, host.data(), kFloats * sizeof(float), axlMemcpyHostToDevice,
                             bench.stream()));
      AXL_TRY(axlStreamSynchronize(bench.stream()));
    }
    return Status();
  }));
  return bench.Check(device, kFloats, 13, stats);
}

constexpr Pattern kPatterns[] = {
    {"submit", "submit", "one tiny job after the other, never waiting", Submit},
    {"round-trip", "round-trip", "each tiny job is waited for", RoundTrip},
    {"application", "application", "the host computes between jobs", Application},
    {"pageable", "round-trip", "copies of ordinary memory, each waited for", Pageable},
};

}  // namespace

std::span<const Pattern> HostPatterns() { return kPatterns; }

const Pattern* FindPattern(const std::string& name) {
  for (const auto patterns : {DevicePatterns(), HostPatterns()}) {
    for (const Pattern& pattern : patterns) {
      if (name == pattern.name) return &pattern;
    }
  }
  return nullptr;
}

}  // namespace acceltrace::workloads
