// SPDX-License-Identifier: Apache-2.0
//
// Clocks that change their rate without announcement, and announce changes after that.
#include "libtrace/clock/estimator.h"
#include "tests/catch.h"

namespace acceltrace::clock {

namespace {

// A clock with a nominal rate of 1 GHz that changes its rate at given times.
class Changing {
 public:
  explicit Changing(uint32_t bits) : bits_(bits) {}
  void SetRate(double from_ns, double ratio, double wander_ppm_per_s = 0) {
    const double count = CountAt(from_ns);
    pieces_.push_back({from_ns, count, ratio, wander_ppm_per_s * 1e-15});
  }
  uint64_t At(double ns) const {
    const auto ticks = 1'000'000 + static_cast<uint64_t>(CountAt(ns));
    return bits_ == 64 ? ticks : ticks & ((uint64_t{1} << bits_) - 1);
  }
  MapBuilder Sampled(int64_t from_ns, int64_t to_ns, int64_t period_ns) const {
    MapBuilder builder({1e9, bits_});
    Sample(from_ns, to_ns, period_ns, &builder);
    return builder;
  }
  void Sample(int64_t from_ns, int64_t to_ns, int64_t period_ns, MapBuilder* builder) const {
    for (int64_t ns = from_ns; ns < to_ns; ns += period_ns) {
      builder->Add(clock::Sample{ns - 50, ns + 50, At(static_cast<double>(ns))});
    }
  }

 private:
  struct Piece {
    double from_ns = 0, count = 0, ratio = 1, wander = 0;
  };
  double CountAt(double ns) const {
    Piece piece;
    for (const Piece& candidate : pieces_) {
      if (candidate.from_ns <= ns) piece = candidate;
    }
    const double t = ns - piece.from_ns;
    return piece.count + piece.ratio * t * (1 + 0.5 * piece.wander * t);
  }
  uint32_t bits_;
  std::vector<Piece> pieces_;
};

constexpr int64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("a window of a time determines its wrap though the rate changed nearby") {
  Changing device(48);
  device.SetRate(965.3 * kMs, 0.65);
  const Result<Map> map = device.Sampled(kMs, 2000 * kMs, 12 * kMs).Build();
  REQUIRE(map.ok());
  for (int64_t ns = 950 * kMs; ns < 990 * kMs; ns += 123'456) {
    const uint64_t ticks = device.At(static_cast<double>(ns));
    Window up_to, from;
    up_to.hi_ns = ns + 300, from.lo_ns = ns - 300;
    CHECK(map->Locate(ticks, up_to).host.Contains(ns));
    CHECK(map->Locate(ticks, from).host.Contains(ns));
    up_to.lo_ns = ns - 5 * kMs;
    CHECK(map->Locate(ticks, up_to).host.width_ns() < 6 * kMs);
  }
}

TEST_CASE("a clock may wander by a part of its rate, however slow it runs") {
  for (double ratio : {0.3, 0.53, 1.0, 1.6}) {
    for (double wander : {-1.9, 1.9}) {
      Changing device(64);
      device.SetRate(0, ratio, wander);
      const Result<Map> map = device.Sampled(kMs, 4000 * kMs, 45 * kMs).Build();
      REQUIRE(map.ok());
      CAPTURE(ratio, wander);
      for (int64_t ns = kMs; ns < 3950 * kMs; ns += 7'654'321) {
        const Interval when = map->ToHost(device.At(static_cast<double>(ns)));
        CHECK(when.Contains(ns));
        CHECK(when.width_ns() < 125);
      }
    }
  }
}

TEST_CASE("an announced rate is no change from one that no longer held") {
  for (double unannounced : {0.7, 0.97, 1.03, 1.4}) {
    Changing device(64);
    device.SetRate(300.1 * kMs, 1.2);
    device.SetRate(1234.5 * kMs, unannounced);
    device.SetRate(2345.6 * kMs, unannounced * 1.02);
    device.SetRate(2352.7 * kMs, unannounced * 1.04);
    MapBuilder builder = device.Sampled(kMs, 4000 * kMs, 100 * kMs);
    const auto announce = [&](double ns, double ratio) {
      builder.AddCut(device.At(ns), Cut::kFrequency, static_cast<int64_t>(ns), 1e9 * ratio);
    };
    announce(300.1 * kMs, 1.2);
    announce(2345.6 * kMs, unannounced * 1.02);
    announce(2352.7 * kMs, unannounced * 1.04);
    const Result<Map> map = builder.Build();
    REQUIRE(map.ok());
    CAPTURE(unannounced);
    for (int64_t ns = kMs; ns < 3900 * kMs; ns += 1'234'567) {
      const Interval when = map->ToHost(device.At(static_cast<double>(ns)), ns);
      CHECK(when.Contains(ns));
    }
    CHECK(map->ToHost(device.At(2000 * kMs), 2000 * kMs).width_ns() < 115);
    CHECK(map->ToHost(device.At(3000 * kMs), 3000 * kMs).width_ns() < 115);
  }
}

TEST_CASE("an announced step and an unannounced one are no single step") {
  for (double announced_ms : {2210.0, 2240.0, 2260.0, 2290.0}) {
    Changing device(64);
    device.SetRate(300.1 * kMs, 1.2);
    const bool first = announced_ms < 2250;
    device.SetRate((first ? announced_ms : 2250) * kMs, first ? 1.3 : 0.8);
    device.SetRate((first ? 2250 : announced_ms) * kMs, first ? 0.8 : 1.3);
    MapBuilder builder = device.Sampled(kMs, 4000 * kMs, 100 * kMs);
    builder.AddCut(device.At(300.1 * kMs), Cut::kFrequency, 300 * kMs, 1.2e9);
    builder.AddCut(device.At(announced_ms * kMs), Cut::kFrequency,
                   static_cast<int64_t>(announced_ms * kMs), 1.3e9);
    const Result<Map> map = builder.Build();
    REQUIRE(map.ok());
    CAPTURE(announced_ms);
    for (int64_t ns = kMs; ns < 3900 * kMs; ns += 1'234'567) {
      CHECK(map->ToHost(device.At(static_cast<double>(ns)), ns).Contains(ns));
    }
  }
}

TEST_CASE("wraps are not counted by a rate that the clock had left when another was announced") {
  // The clock wraps every 268 ms, and every 181 ms at the unannounced rate.
  Changing device(28);
  device.SetRate(1160 * kMs, 1.478);
  MapBuilder builder = device.Sampled(kMs, 1000 * kMs, 10 * kMs);
  device.Sample(1000 * kMs, 4000 * kMs, 250 * kMs, &builder);
  const auto announce = [&](int64_t ns, double ratio) {
    Change change;
    change.ticks = device.At(static_cast<double>(ns)), change.hz = ratio * 1e9;
    change.when.lo_ns = ns - 20 * kMs, change.when.hi_ns = ns + 20 * kMs;
    builder.Add(change);
  };
  announce(500 * kMs, 1);
  announce(2400 * kMs, 1.478);
  const Result<Map> map = builder.Build();
  REQUIRE(map.ok());
  for (int64_t ns = kMs; ns < 3900 * kMs; ns += 1'234'567) {
    Window window;
    window.lo_ns = ns - 30 * kMs, window.hi_ns = ns + 30 * kMs;
    CHECK(map->Locate(device.At(static_cast<double>(ns)), window).host.Contains(ns));
  }
}

TEST_CASE("samples around a jump announced in an unknown wrap are on either side of it") {
  // The clock wraps every 66 ms; the time of the jump is known to within 240 ms.
  constexpr int64_t kJumpNs = 1050 * kMs;
  constexpr uint64_t kJump = 33'353'352;
  Changing device(26);
  const auto at = [&](int64_t ns) {
    const uint64_t ticks = device.At(static_cast<double>(ns)) + (ns < kJumpNs ? 0 : kJump);
    return ticks & ((uint64_t{1} << 26) - 1);
  };
  MapBuilder builder({1e9, 26});
  for (int64_t ns = kMs; ns < 2000 * kMs; ns += 12 * kMs) {
    builder.Add(Sample{ns - 50, ns + 50, at(ns)});
  }
  Change change;
  change.cut = Cut::kJump;
  change.before = device.At(kJumpNs), change.ticks = at(kJumpNs);
  change.when.lo_ns = 990 * kMs, change.when.hi_ns = 1230 * kMs;
  builder.Add(change);
  const Result<Map> map = builder.Build();
  REQUIRE(map.ok());
  for (int64_t ns = 900 * kMs; ns < 1400 * kMs; ns += 765'432) {
    Window window;
    window.min_jumps = window.max_jumps = ns < kJumpNs ? 0 : 1;
    window.lo_ns = std::max(ns < kJumpNs ? 0 : 990 * kMs, ns - 60 * kMs);
    window.hi_ns = std::min(ns < kJumpNs ? 1230 * kMs : 2000 * kMs, ns + 60 * kMs);
    CAPTURE(ns);
    CHECK(map->Locate(at(ns), window).host.Contains(ns));
  }
}

}  // namespace acceltrace::clock
