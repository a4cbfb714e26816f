// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/estimator.h"

#include "tests/catch.h"

namespace acceltrace::clock {

namespace {

// A clock with a nominal rate of 1 GHz that runs `ppm` fast and shows `start` at host time 0.
struct Device {
  double ppm = 0;
  uint64_t start = 12345;
  uint32_t bits = 64;
  uint64_t At(double host_ns) const {
    const auto ticks = start + static_cast<uint64_t>(host_ns * (1 + ppm * 1e-6));
    return bits == 64 ? ticks : ticks & ((uint64_t{1} << bits) - 1);
  }
};

MapBuilder Sampled(const Device& device, int count, int64_t period_ns) {
  MapBuilder builder({1e9, device.bits});
  for (int i = 0; i < count; ++i) {
    const int64_t host_ns = 1'000'000 + i * period_ns;
    builder.Add(Sample{host_ns - 300, host_ns + 300, device.At(host_ns)});
  }
  return builder;
}

}  // namespace

TEST_CASE("times of a steady clock are found within its brackets") {
  for (double ppm : {0.0, 20.0, -200.0}) {
    const Device device{ppm};
    const Result<Map> map = Sampled(device, 50, 100'000'000).Build();
    REQUIRE(map.ok());
    for (int64_t host_ns = 1'000'000; host_ns < 4'900'000'000; host_ns += 7'654'321) {
      const Interval when = map->ToHost(device.At(host_ns));
      CHECK(when.Contains(host_ns));
      CHECK(std::abs(when.mid_ns - host_ns) <= 2);
      // The width has a round trip, two ticks, and on either side 2.5 ns for the chord and one for
      // rounding.
      CHECK(when.width_ns() <= 600 + 9);
    }
    CHECK(map->quality().rate_ppm == Approx(ppm).margin(0.01));
  }
}

TEST_CASE("a sample that those around it contradict is left out, and counted") {
  constexpr int kCount = 40, kPeriodNs = 50'000;
  for (const int wrong : {1, 7, kCount - 2}) {
    // Wrong samples that are earlier than the previous one, far from it, or off by less than a
    // clock may drift between two samples.
    for (const int64_t by_ns : {int64_t{-60'000}, int64_t{40'000}, int64_t{10'000}}) {
      const Device device{20};
      MapBuilder builder({1e9, 64});
      for (int i = 0; i < kCount; ++i) {
        const int64_t host_ns = 1'000'000 + i * kPeriodNs;
        const int64_t said_ns = host_ns + (i == wrong ? by_ns : 0);
        builder.Add(Sample{said_ns - 300, said_ns + 300, device.At(host_ns)});
      }
      const Result<Map> map = builder.Build();
      REQUIRE(map.ok());
      CAPTURE(wrong, by_ns);
      CHECK(map->quality().samples_wrong == 1);
      CHECK(map->quality().resets == 0);
      // As the first sample of all, it has none before it that would bound the times around it.
      if (by_ns < -wrong * kPeriodNs) continue;
      for (int64_t host_ns = 1'000'000; host_ns < 1'000'000 + (kCount - 1) * kPeriodNs;
           host_ns += 7'654) {
        const Interval when = map->ToHost(device.At(host_ns));
        CHECK(when.Contains(host_ns));
        CHECK(when.width_ns() <= 600 + 20);
      }
    }
  }
}

TEST_CASE("samples of no clock at all are refused, those of one that breaks often are not") {
  const auto broken = [](int count, int each) {
    MapBuilder builder({1e9, 64});
    for (int i = 0; i < count; ++i) {
      const int64_t host_ns = 1'000'000 + int64_t{i} * 1'000'000;
      const int64_t jumped_ns = int64_t{1} << 40;
      builder.Add(Sample{host_ns - 300, host_ns + 300,
                         static_cast<uint64_t>(host_ns + i / each % 7 * jumped_ns)});
    }
    return builder.Build();
  };
  const Result<Map> none = broken(20'000, 2);
  REQUIRE_FALSE(none.ok());
  CHECK(none.message().find("contradict each other") != std::string::npos);
  CHECK(broken(3'000, 2).ok());
  CHECK(broken(20'000, 40).ok());
}

TEST_CASE("a clock that wraps is followed") {
  const Device device{-20, 4'000'000'000, 32};
  const Result<Map> map = Sampled(device, 300, 100'000'000).Build();
  REQUIRE(map.ok());
  for (int64_t host_ns = 1'000'000; host_ns < 29'000'000'000; host_ns += 76'543'210) {
    CHECK(map->ToHost(device.At(host_ns), host_ns + 1'000'000'000).Contains(host_ns));
  }
}

TEST_CASE("two orders at the same ticks bound from both sides, and are no change of frequency") {
  const Device device{20};
  MapBuilder builder = Sampled(device, 50, 100'000'000);
  std::vector<Constraint> constraints;
  for (int i = 0; i < 50; ++i) {
    const int64_t host_ns = 1'010'000 + i * int64_t{100'000'000};
    // The latch happened soon after its request, and was read late.
    constraints.push_back({device.At(host_ns), host_ns - 100, Constraint::Order::kHostFirst});
    constraints.push_back({device.At(host_ns), host_ns + 700, Constraint::Order::kDeviceFirst});
  }
  builder.AddConstraints(constraints);
  const Result<Map> map = builder.Build();
  REQUIRE(map.ok());
  CHECK(map->quality().pieces == 1);
  CHECK(map->quality().constraints_rejected == 0);
  for (int64_t host_ns = 1'000'000; host_ns < 4'900'000'000; host_ns += 7'654'321) {
    const Interval when = map->ToHost(device.At(host_ns));
    CHECK(when.Contains(host_ns));
    CHECK(when.width_ns() <= 300 + 100 + 9);
  }
}

TEST_CASE("an order that denies a narrow bound by less than a round trip widens it") {
  const Device early{}, late{0, 12345 - 200};
  MapBuilder builder({1e9, 64});
  std::vector<Constraint> constraints;
  for (int i = 0; i < 50; ++i) {
    const int64_t host_ns = 1'000'000 + i * int64_t{100'000'000};
    const Device& device = i < 25 ? early : late;
    builder.Add(Sample{host_ns - 300, host_ns + 300, device.At(host_ns)});
    const int64_t after_ns = host_ns + 10'000;
    if (i < 25) {
      constraints.push_back({early.At(after_ns), after_ns + 20, Constraint::Order::kDeviceFirst});
    }
  }
  // A single event after the jump proves it, but no sample does.
  constexpr int64_t kOneNs = 3'050'000'000;
  constraints.push_back({late.At(kOneNs), kOneNs - 20, Constraint::Order::kHostFirst});
  builder.AddConstraints(constraints);
  const Result<Map> map = builder.Build();
  REQUIRE(map.ok());
  CHECK(map->quality().constraints_rejected == 0);
  CHECK(map->ToHost(late.At(kOneNs)).hi_ns >= kOneNs - 20);
  CHECK(map->ToHost(early.At(1'050'000'000)).Contains(1'050'000'000));

  // If it is further off than that, the order is wrong instead.
  constraints.push_back({late.At(kOneNs), kOneNs + 2'000, Constraint::Order::kHostFirst});
  MapBuilder again({1e9, 64});
  for (int i = 0; i < 50; ++i) {
    const int64_t host_ns = 1'000'000 + i * int64_t{100'000'000};
    again.Add(Sample{host_ns - 300, host_ns + 300, (i < 25 ? early : late).At(host_ns)});
  }
  again.AddConstraints(constraints);
  const Result<Map> wrong = again.Build();
  REQUIRE(wrong.ok());
  CHECK(wrong->quality().constraints_rejected == 1);
  CHECK(wrong->ToHost(late.At(kOneNs)).width_ns() <= 1'200);
}

TEST_CASE("a change that the device announced begins a piece") {
  const Device device{0};
  MapBuilder builder = Sampled(device, 50, 100'000'000);
  builder.AddCut(device.At(1'000'000), Cut::kFrequency, 1'000'000, 1e9);
  builder.AddCut(device.At(2'500'000'000), Cut::kFrequency, 2'500'000'000, 1e9 + 10);
  const Result<Map> map = builder.Build();
  REQUIRE(map.ok());
  CHECK(map->quality().pieces == 2);
}

TEST_CASE("too little is an error that says so") {
  CHECK(MapBuilder({1e9, 64}).Build().message().find("only 0 usable") == 0);
  CHECK_FALSE(Sampled(Device{}, 1, 1).Build().ok());
  CHECK_FALSE(MapBuilder({0, 64}).Build().ok());
}

TEST_CASE("changes of frequency before the first sample crash nothing") {
  const Device device{20};
  for (int changes : {1, 2, 3, 5}) {
    MapBuilder builder = Sampled(device, 20, 100'000'000);
    for (int i = 0; i < changes; ++i) {
      builder.AddCut(device.At(100'000 + 1000 * i), Cut::kFrequency, Map::kNoHint,
                     1e9 * (1 + 0.1 * (i % 2)));
    }
    const Result<Map> map = builder.Build();
    REQUIRE(map.ok());
    for (int64_t host_ns = 1'000'000; host_ns < 1'900'000'000; host_ns += 7'654'321) {
      CHECK(map->ToHost(device.At(host_ns)).Contains(host_ns));
    }
  }
}

TEST_CASE("impossible changes of frequency leave times in order") {
  const Device device{20};
  for (double hz : {1e-9, 1.0, 1e6, 1e12, 1e30}) {
    MapBuilder builder = Sampled(device, 20, 100'000'000);
    for (int i = 0; i < 8; ++i) {
      builder.AddCut(device.At(300'000'000 + 10'000'000 * i), Cut::kFrequency,
                     300'000'000 + 10'000'000 * i, i % 2 ? hz : 1e9);
    }
    const Result<Map> map = builder.Build();
    REQUIRE(map.ok());
    for (int64_t host_ns = 1'000'000; host_ns < 1'900'000'000; host_ns += 17'654'321) {
      const Interval when = map->ToHost(device.At(host_ns));
      CHECK(when.lo_ns <= when.mid_ns);
      CHECK(when.mid_ns <= when.hi_ns);
    }
  }
}

TEST_CASE("an announced jump is undone, and ticks go on over it") {
  constexpr int64_t kJumpNs = 1'234'567'890;
  for (int64_t jump : {12'345'678LL, -777LL, -123'456'789LL, -54'321LL}) {
    const Device before{37}, after{37, 12345 + static_cast<uint64_t>(jump)};
    const auto at = [&](int64_t ns) { return ns < kJumpNs ? before.At(ns) : after.At(ns); };
    MapBuilder builder({1e9, 64});
    for (int64_t ns = 1'000'000; ns < 3'000'000'000; ns += 100'000'000) {
      builder.Add(Sample{ns - 300, ns + 300, at(ns)});
    }
    Change change;
    change.cut = Cut::kJump;
    change.before = before.At(kJumpNs), change.ticks = after.At(kJumpNs);
    builder.Add(change);
    const Result<Map> map = builder.Build();
    REQUIRE(map.ok());
    for (int64_t ns = 2'000'000; ns < 2'900'000'000; ns += 3'456'789) {
      Window window;
      window.lo_ns = ns - 10'000, window.hi_ns = ns + 10'000;
      const DeviceTime time = map->Locate(at(ns), window);
      CHECK(time.host.Contains(ns));
      if (std::abs(ns - kJumpNs) < std::abs(jump) + 20'000) continue;
      CHECK(time.host.width_ns() < 640);
      CHECK(time.ticks == before.At(ns));
      CHECK(time.epoch == 0);
    }
  }
}

}  // namespace acceltrace::clock
