// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libtrace/clock/fit.h"
#include "tests/catch.h"

namespace acceltrace::clock::internal {
namespace {

// Samples of a 1 GHz clock that runs at `ratio` of that rate, one each `gap_ns` of host time.
Count CountAt(const TickLine& line, double ratio, double gap_ns, size_t samples) {
  Count count;
  count.eras.push_back({});
  for (size_t i = 0; i < samples; ++i) {
    Reading reading;
    const double host_ns = gap_ns * static_cast<double>(i);
    reading.position_ns = host_ns * ratio;
    reading.sample.host_before_ns = static_cast<int64_t>(host_ns) - 500;
    reading.sample.host_after_ns = static_cast<int64_t>(host_ns) + 500;
    reading.sample.device_ticks = static_cast<uint64_t>(reading.position_ns);
    reading.tick_ns = line.ns_per_tick() / ratio;
    count.readings.push_back(reading);
  }
  count.base_host_ns = count.readings.front().sample.host_before_ns;
  return count;
}

size_t NodesOf(double ratio, double gap_ns, size_t samples) {
  const TickLine line(ClockInfo{1e9, 64});
  Rates rates;
  rates.lo = std::min(rates.lo, 0.5 * ratio);
  uint64_t rejected = 0;
  const std::vector<Draft> drafts =
      MakeDrafts(line, CountAt(line, ratio, gap_ns, samples), {}, rates, {}, &rejected, &rejected);
  size_t nodes = 0;
  for (const Draft& draft : drafts) {
    for (const Stretch& stretch : draft.stretches) nodes += stretch.nodes.size();
  }
  return nodes;
}

}  // namespace

// At a thousandth of its nominal rate a clock may bend a million times as much on its own time
// line. Following that once took a thousand times as many nodes.
TEST_CASE("A clock far slower than it should be takes no more nodes than others") {
  constexpr size_t kSamples = 20;
  const size_t usual = NodesOf(1, 100e9, kSamples);
  CHECK(usual > kSamples);
  CHECK(usual < 3'000);
  const size_t slow = NodesOf(1e-3, 100e9, kSamples);
  CHECK(slow > kSamples);
  CHECK(slow < 6'000);
}

}  // namespace acceltrace::clock::internal
