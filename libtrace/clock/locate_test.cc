// SPDX-License-Identifier: Apache-2.0
//
// Checks that readings are placed together as they are one at a time.
#include <random>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "tests/catch.h"

namespace acceltrace::clock {
namespace {

// A clock of `hz` that drifts and is sampled from time to time. Its frequency changes once, with an
// announcement, if `cut` is set.
Map Wandering(std::mt19937_64& random, double hz, uint64_t start, bool cut) {
  MapBuilder builder({hz, 64});
  double rate = 1 + 1e-6 * static_cast<double>(random() % 200);
  double ticks = 0;
  for (int i = 0; i < 40; ++i) {
    const int64_t host_ns = 1'000'000'000 + int64_t{i} * 10'000'000;
    const auto half = static_cast<int64_t>(100 + random() % 900);
    const uint64_t shown = start + static_cast<uint64_t>(ticks);
    builder.Add(Sample{host_ns - half, host_ns + half, shown});
    ticks += 1e7 * rate * hz * 1e-9;
    rate += 1e-9 * static_cast<double>(random() % 9);
    if (cut && i == 20) builder.AddCut(shown + 1, Cut::kFrequency, host_ns);
  }
  Result<Map> map = builder.Build();
  REQUIRE(map.ok());
  return std::move(map).value();
}

size_t Different(const Map& map, const std::vector<uint64_t>& raw_ticks) {
  const size_t rows = raw_ticks.size();
  std::vector<uint64_t> ticks(rows), before_ns(rows), after_ns(rows);
  std::vector<uint32_t> epoch(rows);
  std::vector<int64_t> mid_ns(rows);
  map.LocateAll(raw_ticks,
                {ticks.data(), epoch.data(), mid_ns.data(), before_ns.data(), after_ns.data()});
  size_t different = 0;
  for (size_t i = 0; i < rows; ++i) {
    const DeviceTime one = map.Locate(raw_ticks[i], {});
    const auto mid = static_cast<uint64_t>(mid_ns[i]);
    different += ticks[i] != one.ticks || epoch[i] != one.epoch || mid_ns[i] != one.host.mid_ns ||
                 static_cast<int64_t>(mid - before_ns[i]) != one.host.lo_ns ||
                 static_cast<int64_t>(mid + after_ns[i]) != one.host.hi_ns;
  }
  return different;
}

}  // namespace

TEST_CASE("a column of readings is placed as each of them is, to the bit") {
  std::mt19937_64 random(11);
  for (const double hz : {1e9, 333e6, 1.7e9, 1e6}) {
    for (const uint64_t start : {uint64_t{5}, uint64_t{0} - 1'000'000, uint64_t{1} << 62}) {
      const Map map = Wandering(random, hz, start, hz == 333e6);
      REQUIRE(map.NeedsNoWindow());
      // Any number of readings between, beyond and far from the samples, sorted or not.
      std::vector<uint64_t> raw_ticks;
      const auto length = static_cast<uint64_t>(0.4 * hz);
      for (uint64_t i = 0; i < 3001; ++i) raw_ticks.push_back(start + i * (length / 2900));
      for (int i = 0; i < 500; ++i) raw_ticks.push_back(start + random() % length);
      for (int i = 0; i < 50; ++i) raw_ticks.push_back(random());
      CHECK(Different(map, raw_ticks) == 0);
      for (size_t rows = 0; rows < 9; ++rows) {
        CHECK(Different(map, {raw_ticks.begin() + 100,
                              raw_ticks.begin() + 100 + static_cast<ptrdiff_t>(rows)}) == 0);
      }
    }
  }
}

}  // namespace acceltrace::clock
