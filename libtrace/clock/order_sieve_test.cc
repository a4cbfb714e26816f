// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "tests/catch.h"

namespace acceltrace::clock {
namespace {

constexpr double kSpanNs = 3e9;

// A clock that runs a little fast and drifts, with events on the device and the host.
class Machine {
 public:
  explicit Machine(uint64_t seed) : random_(seed), tick_ns_(Below(3) == 0 ? 52.1 : 1) {}

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  double tick_ns() const { return tick_ns_; }
  uint64_t TicksAt(double ns) const {
    return static_cast<uint64_t>(1e12 + (ns * (1 + 3e-5) + 2e-16 * ns * ns) / tick_ns_);
  }

  std::vector<Sample> Samples() {
    std::vector<Sample> samples;
    for (double ns = 0; ns < kSpanNs; ns += 1e7 + static_cast<double>(Below(300'000'000))) {
      const double before = 500 + static_cast<double>(Below(5000));
      const double after = 500 + static_cast<double>(Below(5000));
      samples.push_back(
          {static_cast<int64_t>(ns - before), static_cast<int64_t>(ns + after) + 1, TicksAt(ns)});
    }
    return samples;
  }
  // Most orders have similar distances, and a few are wrong.
  Constraint Order() {
    const double ns = -1e8 + static_cast<double>(Below(static_cast<uint64_t>(kSpanNs + 2e8)));
    double apart = static_cast<double>(Below(2) == 0 ? 700 : Below(4000));
    if (Below(3000) == 0) apart = -static_cast<double>(Below(20'000));
    Constraint one;
    one.order = Below(2) == 0 ? Constraint::Order::kHostFirst : Constraint::Order::kDeviceFirst;
    const bool host_first = one.order == Constraint::Order::kHostFirst;
    one.host_ns = static_cast<int64_t>(host_first ? ns - apart : ns + apart);
    one.ticks = TicksAt(ns);
    const auto at_ns = static_cast<int64_t>(ns);
    if (Below(4) > 0) one.when.lo_ns = host_first ? one.host_ns : at_ns - TimeApart();
    if (Below(4) > 0) one.when.hi_ns = host_first ? at_ns + 1 + TimeApart() : one.host_ns;
    return one;
  }

 private:
  int64_t TimeApart() {
    const uint64_t limit = Below(100) == 0 ? 6'000'000'000 : 2'000'000'000;
    return static_cast<int64_t>(Below(8) == 0 ? 0 : Below(limit));
  }

  std::mt19937_64 random_;
  double tick_ns_;
};

bool Alike(const Interval& a, const Interval& b) {
  return a.lo_ns == b.lo_ns && a.mid_ns == b.mid_ns && a.hi_ns == b.hi_ns;
}

TEST_CASE("curves are the same whether orders are looked at four at a time or one by one") {
  size_t maps = 0, different = 0;
  uint64_t rejected = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Machine machine(seed);
    const ClockInfo info{1e9 / machine.tick_ns(), 64};
    MapBuilder many(info), one_by_one(info);
    for (const Sample& sample : machine.Samples()) many.Add(sample), one_by_one.Add(sample);
    std::vector<Constraint> orders(3000);
    for (Constraint& order : orders) order = machine.Order();
    if (machine.Below(3) > 0) {
      std::sort(orders.begin(), orders.end(),
                [](const Constraint& a, const Constraint& b) { return a.ticks < b.ticks; });
    }
    for (Constraint& order : orders) order.when.max_jumps = 7;
    many.AddConstraints(orders);
    // Neighbours with different windows are not examined together.
    for (size_t i = 0; i < orders.size(); i += 2) orders[i].when.max_jumps = 8;
    one_by_one.AddConstraints(orders);
    const Result<Map> a = many.Build(), b = one_by_one.Build();
    REQUIRE(a.ok() == b.ok());
    if (!a.ok()) continue;
    ++maps;
    rejected += a->quality().constraints_rejected;
    different += a->quality().constraints_rejected != b->quality().constraints_rejected;
    for (double ns = -2e8; ns < kSpanNs + 2e8; ns += 1.1e6) {
      const uint64_t ticks = machine.TicksAt(ns);
      different += !Alike(a->Locate(ticks, {}).host, b->Locate(ticks, {}).host);
    }
  }
  CHECK(maps > 50);
  CHECK(rejected > 10);
  CHECK(different == 0);
}

}  // namespace
}  // namespace acceltrace::clock
