// SPDX-License-Identifier: Apache-2.0
//
// What a finished Map holds. Internal.
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

// Longer gaps are those of damaged traces, or beyond all samples.
inline constexpr double kFarNs = 1e11;

// To whole ns, within int64_t and with room for a base to be added.
inline int64_t ToNs(double ns) { return static_cast<int64_t>(std::clamp(ns, -4e18, 4e18)); }

// Of host times that are no further from 0 the difference of any two is within int64_t.
inline constexpr int64_t kMostHostNs = 4'000'000'000'000'000'000;

inline int64_t HostNs(int64_t base_ns, double ns) {
  return std::clamp(base_ns + ToNs(ns), -kMostHostNs, kMostHostNs);
}

// Bounds of the offset (host - base_host_ns - position) and of the slope (ns/s) at a
// position. Two knots at one position: a change of frequency.
struct Knot {
  double position_ns = 0;
  double lo = 0, mid = 0, hi = 0;
  double slope_lo = 0, slope_mid = 0, slope_hi = 0;
  double bend = 1;  // of the curve's curvature, see Node
};

// One end of a curve: where it goes from there.
struct End {
  Region states;
  State mid{};
  // Smooth: nothing is known to have come after (before) it. Else the clock broke somewhere
  // beyond, and nothing is known there but the order of events.
  bool smooth = true;
  // Host times (ns) that the clock cannot have passed: of the neighbouring curve.
  int64_t limit_ns = 0;
  // One unannounced change of frequency would explain the break: the clock is likely to
  // have followed one curve until it met the other. That one, where its end is.
  bool is_step = false;
  State other{};
  double other_position_ns = 0;
};

// Where something was found last: the next one is close to it as a rule. Any value will do, from
// whichever thread.
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

// A stretch without jumps.
struct Curve {
  size_t count = 0;  // which one it is of
  uint64_t base_ticks = 0;
  int64_t base_host_ns = 0;
  double curvature = 0;     // ns/s^2, times the bend of the knots around a place
  std::vector<Knot> knots;  // by position, at least one
  // Knots where the frequency changed as announced: the next knot is what it was after.
  std::vector<size_t> cuts;
  End front, back;
  bool step_front = false;  // likely no more than a change of frequency after the one before it
  Hint last;                // of KnotAfter()

  // The first knot beyond a position, or as many as there are.
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

// As a vector of them grows they are moved.
static_assert(std::is_nothrow_move_constructible_v<Curve>);

struct Bounds {
  double lo = 0, mid = 0, hi = 0;
};

// Of the offset at a position.
Bounds OffsetAt(const Curve& curve, double position_ns);
// The same but for `mid`, which is not computed.
Bounds EndsAt(const Curve& curve, double position_ns);

struct Place {
  size_t curve = 0;
  int64_t position = 0;  // ticks from the curve's base
};

// The eras of a count, which the curves of it share.
struct CountEras {
  std::vector<Era> eras;
};

struct MapData {
  TickLine line;
  Rates rates;
  std::vector<CountEras> counts;
  std::vector<Curve> curves;  // by host time, at least one
  Quality quality;

  double PositionNs(int64_t position) const {
    return static_cast<double>(position) * line.ns_per_tick();
  }
  // The instants at which the clock showed a position.
  Interval At(const Place& place) const;
  // The same, from the offsets there and a tick later.
  Interval At(const Place& place, const Bounds& begin, const Bounds& end) const;
  // Between two curves: nothing is known there but the order of events.
  bool IsBetween(const Place& place) const;

  // Which curve, and where on it, the ticks of an event near a host time are; the last
  // one without a time.
  Place Locate(uint64_t ticks, int64_t near_ns) const;
  // All places that the window allows, or some if there are many, the first and the last
  // among them. Of curves without end only the nearest are looked at: *skipped is then when
  // the others were.
  std::vector<Place> Places(uint64_t ticks, const Window& window,
                            Interval* skipped = nullptr) const;
  // Times within the window that are between two curves, or beyond one that broke: nothing is
  // known there but order, and the clock may have shown anything, since it may have been changed
  // more than once.
  bool GapWithin(const Window& window, Interval* gap) const;
  // Which curve is likely to have been followed at a host time.
  size_t CurveNear(int64_t host_ns) const;

 private:
  double Earliest(const Curve& curve, int64_t ns) const;
  double Latest(const Curve& curve, int64_t ns) const;
  void AddPlaces(size_t curve, uint64_t ticks, const Window& window,
                 std::vector<Place>* places) const;
};

// Position along the estimate at a host time.
double PositionNear(const Curve& curve, int64_t host_ns);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_MAP_DATA_H_
