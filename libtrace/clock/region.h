// SPDX-License-Identifier: Apache-2.0
//
// A convex set of the states that a clock may have at an instant: its offset (ns) and its slope (ns
// per second). Internal.
//
// Every operation yields the exact set or a larger one, but never a smaller one, except for
// rounding errors, which callers allow for. States outside of the set are impossible.
#ifndef LIBTRACE_CLOCK_REGION_H_
#define LIBTRACE_CLOCK_REGION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace acceltrace::clock::internal {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Left uninitialised, since regions have large arrays of states and are made often.
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
  // If there are more vertices, the polygon is simplified outwards. In the tests, twelve keep the
  // area within a percent of the exact set's; a lens of two parabolas needs few.
  static constexpr size_t kMaxVertices = 12;
  // Includes the vertices that Advance adds before the polygon is simplified.
  static constexpr size_t kMostVertices = kMaxVertices + 6;

  Region() {}  // the empty region
  // Copies only the vertices in use.
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

  // Advances the states by `seconds` (or back in time, if negative), during which the slope may
  // change by up to `curvature` (ns/s^2).
  void Advance(double seconds, double curvature);
  // The slope may change by up to `kick` at once; if it is infinite, to any slope in `slopes`.
  void Kick(double kick, Range slopes);
  // The offset may be off by this much in either direction.
  void Blur(double offset);
  // Counts the same states from another origin.
  void Shift(double offset, double slope);
  // Keeps the states whose offset is within the range. Returns false if none is left.
  bool ClipOffset(Range range);
  bool Intersect(const Region& with);

  // Returns the range of offset + slope * seconds.
  Range OffsetAt(double seconds) const;
  Range Slopes() const;
  // Returns the mean of the states, all taken as equally likely. Must not be called on the empty
  // region.
  State Centroid() const;
  double Area() const;

 private:
  // Keeps the states with a * offset + b * slope <= limit.
  void ClipHalfPlane(double a, double b, double limit);
  // Computes the Minkowski sum with the segment from -(offset, slope) to +(offset, slope).
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
