// SPDX-License-Identifier: Apache-2.0
//
// Compares each answer with a sum over all events.
#include "libtrace/view/html/pyramid.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::view {
namespace {

constexpr size_t kParts = 3;

struct Event {
  int64_t begin_ns, end_ns;
  uint64_t amount;
  std::array<uint64_t, kParts> parts;
};

// Events whose rows are in random order, as in a lane: rows sorted by begin.
struct Lane {
  std::vector<Event> events;  // by row
  PyramidSource source;

  std::vector<uint32_t> Rows() const {
    std::vector<uint32_t> rows(events.size());
    for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    std::stable_sort(rows.begin(), rows.end(), [this](uint32_t a, uint32_t b) {
      return events[a].begin_ns < events[b].begin_ns;
    });
    return rows;
  }
  const PyramidSource* Source() {
    source.span = [this](uint32_t row) {
      return std::pair{events[row].begin_ns, events[row].end_ns};
    };
    source.amount = [this](uint32_t row) { return events[row].amount; };
    source.parts = [this](uint32_t row) { return events[row].parts.data(); };
    source.num_parts = kParts;
    return &source;
  }
};

uint64_t Apart(int64_t from_ns, int64_t to_ns) {
  return static_cast<uint64_t>(to_ns) - static_cast<uint64_t>(from_ns);
}

void CheckWindow(const Lane& lane, const std::vector<uint32_t>& rows, const Pyramid& pyramid,
                 int64_t from_ns, int64_t to_ns, size_t pixels) {
  const PyramidWindow window = pyramid.Window(from_ns, to_ns, pixels);
  REQUIRE(window.count.size() == pixels);
  for (size_t p = 0; p < pixels; ++p) {
    const int64_t begin_ns = PixelEdge(from_ns, to_ns, pixels, p);
    const int64_t end_ns = PixelEdge(from_ns, to_ns, pixels, p + 1);
    uint64_t count = 0, amount = 0, busy_ns = 0, most_ns = 0;
    std::array<uint64_t, kParts> parts{};
    uint32_t longest = PyramidWindow::kNone;
    for (uint32_t row : rows) {
      const Event& event = lane.events[row];
      const int64_t until_ns = std::max(event.begin_ns, event.end_ns);
      const int64_t a = std::max(event.begin_ns, begin_ns), b = std::min(until_ns, end_ns);
      if (b > a) busy_ns += Apart(a, b);
      if (event.begin_ns < begin_ns || event.begin_ns >= end_ns) continue;
      ++count, amount += event.amount;
      for (size_t s = 0; s < kParts; ++s) parts[s] += event.parts[s];
      const uint64_t length_ns = Apart(event.begin_ns, until_ns);
      if (longest == PyramidWindow::kNone || length_ns > most_ns) {
        longest = row, most_ns = length_ns;
      }
    }
    REQUIRE(window.count[p] == count);
    REQUIRE(window.amount[p] == amount);
    REQUIRE(window.busy_ns[p] == busy_ns);
    REQUIRE(window.longest[p] == longest);
    for (size_t s = 0; s < kParts; ++s) REQUIRE(window.parts[p * kParts + s] == parts[s]);
  }
  std::vector<uint32_t> carried;
  for (uint32_t row : rows) {
    if (lane.events[row].begin_ns < from_ns && lane.events[row].end_ns > from_ns) {
      carried.push_back(row);
    }
  }
  REQUIRE(window.carried_all == (carried.size() <= Pyramid::kMostCarried));
  if (carried.size() > Pyramid::kMostCarried) {
    carried.erase(carried.begin(), carried.end() - Pyramid::kMostCarried);
  }
  REQUIRE(window.carried == carried);
}

void CheckWindows(Lane* lane, std::mt19937_64* random, int windows) {
  const std::vector<uint32_t> rows = lane->Rows();
  const Pyramid pyramid(lane->Source(), rows);
  REQUIRE(pyramid.size() == lane->events.size());
  int64_t first_ns = 0, last_ns = 1000;
  for (const Event& event : lane->events) {
    first_ns = std::min(first_ns, event.begin_ns), last_ns = std::max(last_ns, event.end_ns);
  }
  const auto at = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>((*random)() % (Apart(low, high) + 1));
  };
  for (int w = 0; w < windows; ++w) {
    int64_t from_ns = at(first_ns - 500, last_ns + 500);
    // All sizes, down to a few ns.
    const int64_t width_ns = std::max<int64_t>(1, (last_ns - first_ns) >> ((*random)() % 40));
    if (w % 7 == 0) from_ns = first_ns - 10;
    CheckWindow(*lane, rows, pyramid, from_ns, from_ns + width_ns, 1 + (*random)() % 60);
  }
  CheckWindow(*lane, rows, pyramid, first_ns - 1, last_ns + 1, 97);
}

Event Random(std::mt19937_64* random, int64_t begin_ns, int64_t length_ns) {
  return {begin_ns,
          begin_ns + length_ns,
          (*random)() % 9000,
          {(*random)() % 50, (*random)() % 2, (*random)()}};
}

}  // namespace

TEST_CASE("a window of a lane is what its events are, pixel by pixel") {
  std::mt19937_64 random(7);
  for (size_t n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 256, 1025, 3000}) {
    Lane lane;
    int64_t at_ns = 1000;
    for (size_t i = 0; i < n; ++i) {
      // Bursts, simultaneous instants, and pauses of very different lengths.
      at_ns += random() % 3 == 0 ? static_cast<int64_t>(random() % (1u << (random() % 20))) : 0;
      const auto length_ns = static_cast<int64_t>(random() % 4 == 0 ? 0 : random() % 900);
      lane.events.push_back(Random(&random, at_ns, length_ns));
      at_ns += length_ns;
    }
    CheckWindows(&lane, &random, 12);
  }
}

TEST_CASE("events that overlap, and rows in no order, give exact windows too") {
  std::mt19937_64 random(11);
  for (size_t n : {2, 40, 333, 2000}) {
    Lane lane;
    for (size_t i = 0; i < n; ++i) {
      const auto begin_ns = static_cast<int64_t>(random() % 100'000);
      const auto length_ns = static_cast<int64_t>(random() % (1u << (random() % 17)));
      lane.events.push_back(Random(&random, begin_ns, length_ns));
      // An event that ends before it begins counts as an instant.
      if (i % 50 == 49) lane.events.back().end_ns = begin_ns - 5;
    }
    CheckWindows(&lane, &random, 12);
  }
}

TEST_CASE("times at the ends of what a number holds do no harm") {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Lane lane;
  lane.events = {{kLeast, kMost, 1, {}},
                 {kLeast, kLeast, 2, {}},
                 {-5, kMost, 3, {}},
                 {0, 10, 4, {}},
                 {kMost, kMost, 5, {}}};
  const std::vector<uint32_t> rows = lane.Rows();
  const Pyramid pyramid(lane.Source(), rows);
  CheckWindow(lane, rows, pyramid, kLeast, kMost, 33);
  CheckWindow(lane, rows, pyramid, -100, 100, 7);
  CheckWindow(lane, rows, pyramid, kMost - 1, kMost, 4);
}

TEST_CASE("nothing that is as wide as a pixel is left out of a lane, and each loss is seen") {
  std::mt19937_64 random(13);
  Lane lane;
  int64_t at_ns = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto length_ns = static_cast<int64_t>(random() % 1000 == 0 ? 30'000 : random() % 90);
    lane.events.push_back(Random(&random, at_ns, length_ns));
    at_ns += length_ns + static_cast<int64_t>(random() % 30);
  }
  const Pyramid pyramid(lane.Source(), lane.Rows());
  constexpr size_t kPixels = 300;
  const PyramidWindow window = pyramid.Window(0, at_ns, kPixels);
  std::vector<bool> kept(lane.events.size());
  uint64_t count = 0, amount = 0, all = 0;
  for (size_t p = 0; p < kPixels; ++p) {
    if (window.longest[p] != PyramidWindow::kNone) kept[window.longest[p]] = true;
    count += window.count[p], amount += window.amount[p];
    CHECK((window.count[p] > 0) == (window.longest[p] != PyramidWindow::kNone));
  }
  for (size_t i = 0; i < lane.events.size(); ++i) {
    const Event& event = lane.events[i];
    all += event.amount;
    if (event.end_ns - event.begin_ns >= at_ns / static_cast<int64_t>(kPixels) + 1) CHECK(kept[i]);
  }
  CHECK(count == lane.events.size());
  CHECK(amount == all);
  // It must take no more than a few bytes per event.
  CHECK(pyramid.Bytes() < lane.events.size() * 16);
}

}  // namespace acceltrace::view
