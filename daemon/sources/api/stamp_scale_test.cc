// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/stamp_scale.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

// Adds a mark every 1000 ticks; each interval has a rate of its own.
void AddMarks(int count, uint64_t* tsc, int64_t* ns, StampScale* scale) {
  for (int i = 0; i < count; ++i) {
    *tsc += 1000;
    *ns += 400 + static_cast<int64_t>(*tsc / 1000 % 7) * 30;
    scale->Add({*tsc, *tsc, *ns});
  }
}

// Counts the stamps whose time differs from that by a scale that has found no line before.
size_t Differences(const std::vector<uint64_t>& stamps, StampScale* scale,
                   const StampScale& unused) {
  size_t wrong = 0;
  for (const uint64_t stamp : stamps) {
    StampScale fresh = unused;
    wrong += scale->ToNs(stamp) != fresh.ToNs(stamp);
  }
  return wrong;
}

TEST_CASE("the time of a stamp does not depend on the stamps before it") {
  StampScale scale;
  uint64_t tsc = 5'000;
  int64_t ns = 1'000'000;
  AddMarks(40, &tsc, &ns, &scale);
  std::vector<uint64_t> stamps;
  for (uint64_t stamp = tsc - 39'000; stamp <= tsc + 500; stamp += 125) stamps.push_back(stamp);
  const StampScale unused = scale;
  CHECK(Differences(stamps, &scale, unused) == 0);  // in order
  std::mt19937 random(1);
  std::shuffle(stamps.begin(), stamps.end(), random);
  CHECK(Differences(stamps, &scale, unused) == 0);
  // What was the newest line ends now.
  StampScale later = unused;
  uint64_t later_tsc = tsc;
  int64_t later_ns = ns;
  AddMarks(3, &later_tsc, &later_ns, &later);
  AddMarks(3, &tsc, &ns, &scale);
  stamps.clear();
  for (uint64_t stamp = tsc - 9'000; stamp <= tsc; stamp += 125) stamps.push_back(stamp);
  CHECK(Differences(stamps, &scale, later) == 0);
}

TEST_CASE("each stamp is converted by the marks around it") {
  StampScale scale;
  uint64_t tsc = 5'000;
  int64_t ns = 1'000'000;
  std::vector<std::pair<uint64_t, int64_t>> marks;
  for (int i = 0; i < 20; ++i) {
    AddMarks(1, &tsc, &ns, &scale);
    marks.emplace_back(tsc, ns);
  }
  size_t wrong = 0;
  for (size_t i = marks.size() - 1; i-- > 1;) {
    const auto [begin, begin_ns] = marks[i];
    const auto [end, end_ns] = marks[i + 1];
    const int64_t middle_ns = (begin_ns + end_ns) / 2;
    wrong += std::abs(scale.ToNs(begin) - begin_ns) > 1;
    wrong += std::abs(scale.ToNs((begin + end) / 2) - middle_ns) > 1;
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace acceltrace::daemon
