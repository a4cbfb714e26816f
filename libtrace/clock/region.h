// SPDX-License-Identifier: Apache-2.0
//
// A convex set of what a clock may be at one instant: its offset (ns) and its
// slope (ns per second). Internal.
//
// Every operation gives the exact set or a larger one, never a smaller one (but
// for rounding, which callers allow for): what is outside is impossible.
#ifndef LIBTRACE_CLOCK_REGION_H_
#define LIBTRACE_CLOCK_REGION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace acceltrace::clock::internal {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Not zero from the beginning: regions have room for many, and are made often.
struct State {
  double offset;  // ns
  double slope;   // ns/s
};

struct Range {
  double lo = -kInfinity;
  double hi = kInfinity;
  bool empty() const { return lo > hi; }
};

class Region {
 public:
  // More vertices are rounded off outwards. Twelve keep the area within a percent
  // of the exact set's in the tests; a lens of two parabolas needs few.
  static constexpr size_t kMaxVertices = 12;
  // With what Advance adds before it is rounded off.
  static constexpr size_t kMostVertices = kMaxVertices + 6;

  Region() {}  // empty
  // Of the vertices those that are there.
  Region(const Region& other) noexcept { *this = other; }
  Region& operator=(const Region& other) noexcept {
    if (this == &other) return *this;
    size_ = other.size_;
    std::copy_n(other.vertices_.begin(), size_, vertices_.begin());
    return *this;
  }
  static Region Box(Range offset, Range slope);

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  const State& operator[](size_t i) const { return vertices_[i]; }

  // What the states become `seconds` later (or earlier) if the slope may change by
  // up to `curvature` (ns/s^2) meanwhile.
  void Advance(double seconds, double curvature);
  // The slope may change by up to `kick` at once; infinite: to anything in `slopes`.
  void Kick(double kick, Range slopes);
  // The offset may be off by so much either way.
  void Blur(double offset);
  // The same states counted from another origin.
  void Shift(double offset, double slope);
  // Keeps what has an offset within the range. False if nothing is left.
  bool ClipOffset(Range range);
  bool Intersect(const Region& with);

  // Of offset + slope * seconds.
  Range OffsetAt(double seconds) const;
  Range Slopes() const;
  // The mean of the states, all equally likely. Not for the empty region.
  State Centroid() const;
  double Area() const;

 private:
  // Keeps a * offset + b * slope <= limit.
  void ClipHalfPlane(double a, double b, double limit);
  // Minkowski sum with the segment from -(offset, slope) to +(offset, slope).
  void Sweep(double offset, double slope);
  void Tidy();
  void Simplify();
  void Drop(size_t vertex);
  double Reach() const;  // largest coordinate

  size_t size_ = 0;
  std::array<State, kMostVertices> vertices_;  // counter-clockwise
};

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_REGION_H_
