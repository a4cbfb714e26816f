// SPDX-License-Identifier: Apache-2.0
//
// Compares Paces with Map::Length() on clocks of all kinds.
#include "libtrace/clock/paces.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/catch.h"

namespace acceltrace::clock {

namespace {

// A clock whose rate drifts and changes, and which wraps and is set, with or without announcement.
class RandomClock {
 public:
  explicit RandomClock(uint64_t seed) : random_(seed) {
    constexpr double kHz[] = {1e6, 25e6, 1e9, 2.4e9};
    info_.nominal_hz = kHz[Below(4)];
    info_.bits = Below(2) != 0 ? 64 : info_.nominal_hz > 1e8 ? 36 : 28;
    ticks_ = random_() >> Below(40);
    MapBuilder builder(info_);
    int64_t ns = 1'000'000'000;
    double rate = 1 + 1e-4 * Unit(), ramp = Below(3) == 0 ? 1e-6 * Unit() : 0;
    const uint64_t samples = 20 + Below(80);
    for (uint64_t i = 0; i < samples; ++i) {
      const auto half_ns = static_cast<int64_t>(20 + Below(400));
      builder.Add(Sample{ns - half_ns, ns + half_ns, Mask(ticks_)});
      readings_.push_back({ns, ticks_});
      const auto step_ns = static_cast<int64_t>(5'000'000 + Below(20'000'000));
      rate += ramp;
      const auto elapsed =
          static_cast<uint64_t>(static_cast<double>(step_ns) * info_.nominal_hz * 1e-9 * rate);
      ticks_ += elapsed, ns += step_ns;
      if (Below(12) == 0) Break(ns, elapsed, &rate, &ramp, &builder);
    }
    map_ = builder.Build();
  }

  const Result<Map>& map() const { return map_; }
  uint64_t Below(uint64_t n) { return random_() % n; }
  // Returns times on the clock, most of which are close to each other.
  DeviceTime Time(uint64_t ahead_ticks) {
    const Reading& near = readings_[last_];
    Window window;
    window.lo_ns = near.ns - 30'000'000, window.hi_ns = near.ns + 60'000'000;
    return map_->Locate(Mask(near.ticks + ahead_ticks), window);
  }
  uint64_t NearTicks() {
    last_ = Below(readings_.size());
    return Below(1 + static_cast<uint64_t>(info_.nominal_hz * 0.02));
  }

 private:
  struct Reading {
    int64_t ns;
    uint64_t ticks;
  };

  double Unit() { return 2 * static_cast<double>(random_() >> 11) * 0x1p-53 - 1; }
  uint64_t Mask(uint64_t ticks) const {
    return info_.bits == 64 ? ticks : ticks & ((uint64_t{1} << info_.bits) - 1);
  }
  void Break(int64_t ns, uint64_t elapsed, double* rate, double* ramp, MapBuilder* builder) {
    const int64_t near_ns = ns - 2'000'000;
    const uint64_t at = ticks_ - elapsed / 4;
    switch (Below(5)) {
      case 0:  // another frequency, announced
        *rate = 1 + 0.2 * Unit();
        builder->AddCut(Mask(at), Cut::kFrequency, near_ns, info_.nominal_hz * *rate);
        break;
      case 1:
        *rate = 1 + 0.2 * Unit();
        break;
      case 2: {  // the count is set, announced
        Change change;
        change.cut = Cut::kJump;
        change.before = Mask(ticks_);
        ticks_ += random_() >> 24;
        change.ticks = Mask(ticks_);
        change.when.near_ns = near_ns;
        builder->Add(change);
        break;
      }
      case 3:
        ticks_ = random_() >> Below(40);
        break;
      default:
        *ramp = 1e-6 * Unit();
        break;
    }
  }

  std::mt19937_64 random_;
  ClockInfo info_;
  uint64_t ticks_ = 0;
  std::vector<Reading> readings_;
  size_t last_ = 0;
  Result<Map> map_ = Status::Error("none");
};

}  // namespace

TEST_CASE("what is found between two knots is what the map says, to the ns") {
  uint64_t maps = 0, asked = 0, found = 0, differ = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RandomClock clock(seed);
    if (!clock.map().ok()) continue;
    ++maps;
    const uint64_t many = clock.Below(2) != 0 ? 1'000'000'000 : clock.Below(5000);
    Paces paces(*clock.map(), many);
    DeviceTime last;
    for (int i = 0; i < 400; ++i) {
      const uint64_t from_ticks = clock.NearTicks();
      DeviceTime from = clock.Time(from_ticks);
      DeviceTime to = clock.Time(from_ticks + clock.Below(clock.Below(3) == 0 ? 4 : 100'000));
      if (clock.Below(10) == 0) std::swap(from, to);
      if (clock.Below(10) == 0) to = last;
      last = from;
      Interval quick;
      ++asked;
      if (!paces.Find(from, to, &quick)) continue;
      ++found;
      const Interval slow = clock.map()->Length(many, many, from, to);
      differ +=
          quick.lo_ns != slow.lo_ns || quick.mid_ns != slow.mid_ns || quick.hi_ns != slow.hi_ns;
    }
  }
  INFO(maps << " clocks, " << found << " of " << asked << " found");
  CHECK(differ == 0);
  CHECK(maps > 250);
  CHECK(found > asked / 4);
}

}  // namespace acceltrace::clock
