// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/constraints.h"

#include <random>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::clock {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

bool Alike(const Constraint& a, const Constraint& b) {
  return a.ticks == b.ticks && a.host_ns == b.host_ns && a.order == b.order &&
         a.when.lo_ns == b.when.lo_ns && a.when.hi_ns == b.when.hi_ns &&
         a.when.near_ns == b.when.near_ns && a.when.min_jumps == b.when.min_jumps &&
         a.when.max_jumps == b.when.max_jumps;
}

size_t Differences(const Constraints& list, const std::vector<Constraint>& plain) {
  size_t next = 0, different = list.size() != plain.size();
  list.Each([&](const Constraint& one) {
    different += next >= plain.size() || !Alike(one, plain[next]);
    ++next;
  });
  return different + (next != plain.size());
}

// Returns a time near the host's, at the limit of what counts as near, far off, or none.
int64_t TimeOf(std::mt19937_64& random, int64_t host_ns, int64_t none) {
  constexpr int64_t kFar[] = {0,
                              1,
                              (int64_t{1} << 31) - 2,
                              (int64_t{1} << 31) - 1,
                              int64_t{1} << 31,
                              (int64_t{1} << 32) - 2,
                              (int64_t{1} << 32) - 1,
                              int64_t{1} << 32,
                              kSecondNs * 3600};
  const int64_t apart = kFar[random() % std::size(kFar)];
  switch (random() % 4) {
    case 0:
      return none;
    case 1:
      return host_ns - apart;
    case 2:
      return host_ns + apart;
    default:
      return host_ns + static_cast<int64_t>(random() % 10'000) - 5'000;
  }
}

TEST_CASE("a list of orders of events holds what was added") {
  std::mt19937_64 random(7);
  Constraints list, copy;
  std::vector<Constraint> plain, copied;
  CHECK(list.empty());
  Window rest;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 200 == 0) {
      rest.near_ns = static_cast<int64_t>(random() % 3) - 1;
      rest.min_jumps = random() % 2, rest.max_jumps = random() % 2 == 0 ? ~0u : 5;
    }
    Constraint one{random(), static_cast<int64_t>(random() % 100) * kSecondNs,
                   static_cast<Constraint::Order>(random() % 2), rest};
    if (random() % 500 == 0) one.host_ns = random() % 2 == 0 ? Window::kMin : Window::kMax;
    if (one.host_ns > Window::kMin / 2 && one.host_ns < Window::kMax / 2) {
      one.when.lo_ns = TimeOf(random, one.host_ns, Window::kMin);
      one.when.hi_ns = TimeOf(random, one.host_ns, Window::kMax);
    }
    list.Add(one);
    plain.push_back(one);
    // The copy and the original continue independently.
    if (i == 9'000) copy = list, copied = plain;
    if (i == 9'500) copy.Add(plain[3]), copied.push_back(plain[3]);
  }
  CHECK(Differences(list, plain) == 0);
  CHECK(Differences(copy, copied) == 0);
}

}  // namespace
}  // namespace acceltrace::clock
