// SPDX-License-Identifier: Apache-2.0
//
// The contents of a finished Map. Internal.
#ifndef LIBTRACE_CLOCK_MAP_DATA_H_
#define LIBTRACE_CLOCK_MAP_DATA_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "libtrace/clock/counts.h"
#include "libtrace/clock/estimator.h"
#include "libtrace/clock/region.h"

namespace acceltrace::clock::internal {

// Longer gaps only occur in damaged traces or beyond all samples.
inline constexpr double kFarNs = 1e11;

// Converts to whole ns, limited so that a base can be added without overflow.
inline int64_t ToNs(double ns) { return static_cast<int64_t>(std::clamp(ns, -4e18, 4e18)); }

// Limits host times so that the difference of any two of them does not overflow.
inline constexpr int64_t kMostHostNs = 4'000'000'000'000'000'000;

inline int64_t HostNs(int64_t base_ns, double ns) {
  return std::clamp(base_ns + ToNs(ns), -kMostHostNs, kMostHostNs);
}

// Bounds of the offset (host - base_host_ns - position) and of the slope (ns/s) at a position. Two
// knots at the same position represent a change of frequency.
struct Knot {
  double position_ns = 0;
  double lo = 0, mid = 0, hi = 0;
  double slope_lo = 0, slope_mid = 0, slope_hi = 0;
  double bend = 1;  // multiplies the curve's curvature, see Node
};

// An end of a curve, and how the clock may continue there.
struct End {
  Region states;
  State mid{};
  // If true, there is no evidence that the clock changed after (before) it. Otherwise the clock
  // broke somewhere beyond, where only the order of events is known.
  bool smooth = true;
  // The host time at which the neighbouring curve begins or ends, which this clock cannot pass.
  int64_t limit_ns = 0;
  // A single unannounced change of frequency would explain the break: the clock likely followed
  // this curve until it met the neighbouring one. `other` is that curve's state at its end.
  bool is_step = false;
  State other{};
  double other_position_ns = 0;
};

// Caches where something was found last, since the next search is usually close to it. It is only a
// hint, so that any thread may store any value.
class Hint {
 public:
  Hint() = default;
  Hint(const Hint& other) noexcept : at_(other.at()) {}
  Hint& operator=(const Hint& other) noexcept { return set(other.at()), *this; }
  size_t at() const { return at_.load(std::memory_order_relaxed); }
  void set(size_t at) const { at_.store(at, std::memory_order_relaxed); }

 private:
  mutable std::atomic<size_t> at_{0};
};

// A part of a count without unannounced jumps.
struct Curve {
  size_t count = 0;  // index of its count
  uint64_t base_ticks = 0;
  int64_t base_host_ns = 0;
  double curvature = 0;     // ns/s^2, to be multiplied by the bend of the knots around a place
  std::vector<Knot> knots;  // sorted by position, never empty
  // Indexes of knots at which the announced frequency changed; the next knot has the state after
  // it.
  std::vector<size_t> cuts;
  End front, back;
  bool step_front = false;  // likely follows the previous curve after a single change of frequency
  Hint last;                // for KnotAfter()

  // Returns the index of the first knot after a position, or the number of knots.
  size_t KnotAfter(double position_ns) const {
    const auto is_after = [&](size_t i) {
      return (i == 0 || knots[i - 1].position_ns <= position_ns) &&
             (i == knots.size() || position_ns < knots[i].position_ns);
    };
    const size_t guess = last.at();
    if (guess <= knots.size() && is_after(guess)) return guess;
    const auto found = std::upper_bound(knots.begin(), knots.end(), position_ns,
                                        [](double p, const Knot& k) { return p < k.position_ns; });
    const auto at = static_cast<size_t>(found - knots.begin());
    last.set(at);
    return at;
  }
  double CurvatureBetween(const Knot& a, const Knot& b) const {
    return curvature * std::max(a.bend, b.bend);
  }
  int64_t first_host_ns() const;
  int64_t last_host_ns() const;
};

// A growing vector must move curves instead of copying them.
static_assert(std::is_nothrow_move_constructible_v<Curve>);

struct Bounds {
  double lo = 0, mid = 0, hi = 0;
};

// Returns bounds of the offset at a position.
Bounds OffsetAt(const Curve& curve, double position_ns);
// Does the same without computing `mid`.
Bounds EndsAt(const Curve& curve, double position_ns);

struct Place {
  size_t curve = 0;
  int64_t position = 0;  // in ticks from the curve's base
};

// The eras of a count, shared by its curves.
struct CountEras {
  std::vector<Era> eras;
};

struct MapData {
  TickLine line;
  Rates rates;
  std::vector<CountEras> counts;
  std::vector<Curve> curves;  // ordered by host time, never empty
  Quality quality;

  double PositionNs(int64_t position) const {
    return static_cast<double>(position) * line.ns_per_tick();
  }
  // Returns the range of instants at which the clock showed a position.
  Interval At(const Place& place) const;
  // Does the same, given the offsets at the position and a tick later.
  Interval At(const Place& place, const Bounds& begin, const Bounds& end) const;
  // Returns true if the place is between two curves, where only the order of events is known.
  bool IsBetween(const Place& place) const;

  // Returns the curve and the position on it of an event near a host time; without a hint, those on
  // the last curve.
  Place Locate(uint64_t ticks, int64_t near_ns) const;
  // Returns all places that the window allows. If there are many, only some of them, including the
  // first and the last. Of very many curves only the nearest are examined: *skipped is then the
  // time covered by the others.
  std::vector<Place> Places(uint64_t ticks, const Window& window,
                            Interval* skipped = nullptr) const;
  // Finds the times in the window that are between two curves, or beyond one that broke. Only the
  // order of events is known there: the clock may have shown anything, since it may have changed
  // more than once.
  bool GapWithin(const Window& window, Interval* gap) const;
  // Returns the curve that the clock most likely followed at a host time.
  size_t CurveNear(int64_t host_ns) const;

 private:
  double Earliest(const Curve& curve, int64_t ns) const;
  double Latest(const Curve& curve, int64_t ns) const;
  void AddPlaces(size_t curve, uint64_t ticks, const Window& window,
                 std::vector<Place>* places) const;
};

// Returns the position along the estimate at a host time.
double PositionNear(const Curve& curve, int64_t host_ns);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_MAP_DATA_H_
