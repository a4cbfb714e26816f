// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/region.h"

#include <cmath>
#include <random>

#include "tests/catch.h"

namespace acceltrace::clock::internal {

namespace {

// Returns how far a state is outside of an edge, or a negative number if it is inside.
double Outside(const Region& region, const State& state) {
  double worst = -kInfinity;
  for (size_t i = 0; i < region.size(); ++i) {
    const State& a = region[i];
    const State& b = region[(i + 1) % region.size()];
    const double dx = b.offset - a.offset, dy = b.slope - a.slope;
    const double length = std::hypot(dx, dy);
    if (length == 0) continue;
    worst =
        std::max(worst, (dy * (state.offset - a.offset) - dx * (state.slope - a.slope)) / length);
  }
  return worst;
}

bool Near(double a, double b) { return std::abs(a - b) < 1e-9; }

}  // namespace

TEST_CASE("a box moves along its slopes") {
  Region region = Region::Box({-1, 1}, {10, 20});
  region.Advance(0.5, 0);
  CHECK(Near(region.OffsetAt(0).lo, 4));
  CHECK(Near(region.OffsetAt(0).hi, 11));
  CHECK(Near(region.OffsetAt(-0.5).lo, -1));
  CHECK(Near(region.Slopes().hi, 20));
  CHECK(Near(region.Area(), 20));
  const State mean = region.Centroid();
  CHECK(Near(mean.offset, 7.5));
  CHECK(Near(mean.slope, 15));
  CHECK(region.ClipOffset({6, 7}));
  CHECK(region.Slopes().lo < 15);
  CHECK_FALSE(region.ClipOffset({8, 9}));
  CHECK(region.empty());
}

TEST_CASE("a bend reaches what bounded curves reach, and little more") {
  Region region = Region::Box({-1e-6, 1e-6}, {-1e-6, 1e-6});
  region.Advance(2, 10);
  // The end of the lens is reached with the full bend all the way.
  CHECK(Outside(region, {20, 20}) < 1e-3);
  CHECK(Outside(region, {-20, -20}) < 1e-3);
  // The belly of the lens is reached by bending up half of the way and down the other half.
  CHECK(Outside(region, {10, 0}) < 1e-3);
  CHECK(region.OffsetAt(0).hi < 20.001);
  CHECK(region.Slopes().hi < 20.001);
}

TEST_CASE("what is possible stays inside through any sequence of steps") {
  std::mt19937_64 random(7);
  const auto uniform = [&](double from, double to) {
    return std::uniform_real_distribution<>(from, to)(random);
  };
  for (int round = 0; round < 300; ++round) {
    // Follow a bent curve forwards and backwards to the same state.
    Region met;
    for (double sign : {1.0, -1.0}) {
      State truth{uniform(-1e3, 1e3), uniform(-1e5, 1e5)};
      Region region =
          Region::Box({truth.offset - uniform(0, 3), truth.offset + uniform(0, 3)}, {-1e9, 3e9});
      for (int i = 0; i < 60; ++i) {
        const double seconds = sign * uniform(1e-4, 0.03);
        const double bend = uniform(-1, 1) > 0 ? 2000 : -2000;
        truth.offset += truth.slope * seconds + 0.5 * bend * seconds * seconds;
        truth.slope += bend * seconds;
        region.Advance(seconds, 2000);
        if (i % 17 == 0) {
          const double kick = uniform(0, 500);
          truth.slope += uniform(-kick, kick);
          region.Kick(kick, {-1e9, 3e9});
        }
        const double room = i % 3 == 0 ? 400 : 3;
        REQUIRE(
            region.ClipOffset({truth.offset - uniform(0, room), truth.offset + uniform(0, room)}));
        REQUIRE(Outside(region, truth) < 1e-5);
        REQUIRE(region.size() <= Region::kMaxVertices);
        region.Shift(-truth.offset, -truth.slope);
        truth = {0, 0};
      }
      if (met.empty()) {
        met = region;
      } else {
        REQUIRE(met.Intersect(region));
        REQUIRE(Outside(met, truth) < 1e-5);
        // Only the intersection may be left.
        for (size_t i = 0; i < met.size(); ++i) CHECK(Outside(region, met[i]) < 1e-3);
      }
    }
  }
}

}  // namespace acceltrace::clock::internal
