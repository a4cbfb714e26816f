// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/region.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libtrace/clock/corners.h"

namespace acceltrace::clock::internal {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

State Minus(const State& a, const State& b) { return {a.offset - b.offset, a.slope - b.slope}; }

double Cross(const State& a, const State& b) { return a.offset * b.slope - a.slope * b.offset; }

double Square(const State& a) { return a.offset * a.offset + a.slope * a.slope; }

// Returns true if the path turns left from one edge to the next by more than a rounding error.
bool TurnsLeft(const State& in, const State& out, double cross) {
  return cross > 0 && cross * cross > kParallel * kParallel * Square(in) * Square(out);
}

}  // namespace

Region Region::Box(Range offset, Range slope) {
  Region region;
  if (offset.empty() || slope.empty()) return region;
  region.size_ = 4;
  region.vertices_[0] = {offset.lo, slope.lo};
  region.vertices_[1] = {offset.hi, slope.lo};
  region.vertices_[2] = {offset.hi, slope.hi};
  region.vertices_[3] = {offset.lo, slope.hi};
  return region;
}

void Region::Advance(double seconds, double curvature) {
  for (size_t i = 0; i < size_; ++i) vertices_[i].offset += vertices_[i].slope * seconds;
  const double kick = 0.5 * curvature * std::abs(seconds);
  if (kick == 0 || size_ == 0) return;
  // A bounded bend can reach no more than a kick of half its size at the start and another one at
  // the end (docs/clocks.md).
  Sweep(kick * seconds, kick);
  Sweep(0, kick);
  Tidy();
  Simplify();
}

void Region::Kick(double kick, Range slopes) {
  if (size_ == 0 || kick == 0) return;
  if (std::isinf(kick)) {
    *this = Box(OffsetAt(0), slopes);
    return;
  }
  Sweep(0, kick);
  Simplify();
}

void Region::Blur(double offset) {
  if (size_ == 0 || !(offset > 0)) return;
  Sweep(offset, 0);
  Tidy();
  Simplify();
}

void Region::Sweep(double offset, double slope) {
  const State g{offset, slope};
  size_t right = 0, left = 0;
  double least = Cross(g, vertices_[0]), most = least;
  for (size_t i = 1; i < size_; ++i) {
    const double cross = Cross(g, vertices_[i]);
    if (cross < least) right = i, least = cross;
    if (cross > most) left = i, most = cross;
  }
  if (right == left) return;  // after rounding it is a point, with no direction to sweep
  double offsets[kMostVertices], slopes[kMostVertices];
  size_t count = 0;
  for (size_t i = right;; i = i + 1 == size_ ? 0 : i + 1) {
    offsets[count] = vertices_[i].offset + g.offset, slopes[count++] = vertices_[i].slope + g.slope;
    if (i == left) break;
  }
  for (size_t i = left;; i = i + 1 == size_ ? 0 : i + 1) {
    offsets[count] = vertices_[i].offset - g.offset, slopes[count++] = vertices_[i].slope - g.slope;
    if (i == right) break;
  }
  size_ = count;
  for (size_t i = 0; i < count; ++i) vertices_[i] = {offsets[i], slopes[i]};
}

void Region::ClipHalfPlane(double a, double b, double limit) {
  double excess[kMostVertices];
  bool cut = false;
  for (size_t i = 0; i < size_; ++i) {
    excess[i] = a * vertices_[i].offset + b * vertices_[i].slope - limit;
    cut |= excess[i] > 0;
  }
  if (!cut) return;
  State kept[kMostVertices];
  size_t count = 0;
  for (size_t i = 0; i < size_; ++i) {
    if (count + 2 > vertices_.size()) return;  // rounding made it jagged: keep the larger set
    const size_t next = i + 1 == size_ ? 0 : i + 1;
    const double at_v = excess[i], at_w = excess[next];
    if (at_v <= 0) kept[count++] = vertices_[i];
    if ((at_v < 0 && at_w > 0) || (at_v > 0 && at_w < 0)) {
      const State &v = vertices_[i], &w = vertices_[next];
      const double weight = at_v / (at_v - at_w);
      kept[count++] = {v.offset + weight * (w.offset - v.offset),
                       v.slope + weight * (w.slope - v.slope)};
    }
  }
  size_ = count < 3 ? 0 : count;
  std::copy_n(kept, count, vertices_.begin());
  Tidy();
  Simplify();
}

bool Region::ClipOffset(Range range) {
  if (size_ > 0 && range.lo > -kInfinity) ClipHalfPlane(-1, 0, -range.lo);
  if (size_ > 0 && range.hi < kInfinity) ClipHalfPlane(1, 0, range.hi);
  return size_ > 0;
}

void Region::Shift(double offset, double slope) {
  for (size_t i = 0; i < size_; ++i) {
    vertices_[i].offset += offset;
    vertices_[i].slope += slope;
  }
}

double Region::Reach() const {
  double reach = 0;
  for (size_t i = 0; i < size_; ++i) {
    reach = std::max({reach, std::abs(vertices_[i].offset), std::abs(vertices_[i].slope)});
  }
  return reach;
}

bool Region::Intersect(const Region& with) {
  // Cut the smaller set by the larger one, which leaves fewer corners to simplify.
  const Region other = with.Area() < Area() ? std::exchange(*this, with) : with;
  const double reach = std::max(Reach(), other.Reach());
  for (size_t i = 0; i < other.size_ && size_ > 0; ++i) {
    const State& v = other.vertices_[i];
    const State edge = Minus(other.vertices_[i + 1 == other.size_ ? 0 : i + 1], v);
    // The inside is left of the edge: cross(edge, p - v) >= 0.
    const double length = std::sqrt(Square(edge));
    if (length == 0) continue;
    const double a = edge.slope / length, b = -edge.offset / length;
    // Rounding rotates a short edge, so allow for errors that make the set larger.
    const double slack = 4 * kEpsilon * reach * (1 + reach / length);
    ClipHalfPlane(a, b, a * v.offset + b * v.slope + slack);
  }
  if (other.size_ == 0) size_ = 0;
  return size_ > 0;
}

Range Region::OffsetAt(double seconds) const {
  Range range{kInfinity, -kInfinity};
  for (size_t i = 0; i < size_; ++i) {
    const double offset = vertices_[i].offset + vertices_[i].slope * seconds;
    range.lo = std::min(range.lo, offset);
    range.hi = std::max(range.hi, offset);
  }
  return range;
}

Range Region::Slopes() const {
  Range range{kInfinity, -kInfinity};
  for (size_t i = 0; i < size_; ++i) {
    range.lo = std::min(range.lo, vertices_[i].slope);
    range.hi = std::max(range.hi, vertices_[i].slope);
  }
  return range;
}

double Region::Area() const {
  double twice = 0;
  for (size_t i = 2; i < size_; ++i) {
    twice += Cross(Minus(vertices_[i - 1], vertices_[0]), Minus(vertices_[i], vertices_[0]));
  }
  return 0.5 * twice;
}

State Region::Centroid() const {
  State sum{};
  double twice = 0;
  for (size_t i = 2; i < size_; ++i) {
    const State a = Minus(vertices_[i - 1], vertices_[0]);
    const State b = Minus(vertices_[i], vertices_[0]);
    const double weight = Cross(a, b);
    twice += weight;
    sum.offset += weight * (a.offset + b.offset) / 3;
    sum.slope += weight * (a.slope + b.slope) / 3;
  }
  if (twice <= 0) {
    const Range offset = OffsetAt(0), slope = Slopes();
    return {0.5 * (offset.lo + offset.hi), 0.5 * (slope.lo + slope.hi)};
  }
  return {vertices_[0].offset + sum.offset / twice, vertices_[0].slope + sum.slope / twice};
}

// Removes edges by prolonging their neighbours until they meet, beginning with the one that adds
// the smallest area.
void Region::Simplify() {
  if (size_ <= kMaxVertices) return;
  // Stay within the present offsets, since these are the final result.
  const Range offsets = OffsetAt(0);
  Corners corners;
  while (size_ > kMaxVertices) {
    FindCorners(vertices_.data(), size_, offsets, &corners);
    size_t best = size_;
    double best_area = kInfinity;
    for (size_t i = 0; i < size_; ++i) {
      if (corners.areas[i] < best_area) best = i, best_area = corners.areas[i];
    }
    if (best == size_) {
      *this = Box(OffsetAt(0), Slopes());
      return;
    }
    vertices_[best] = {corners.offsets[best], corners.slopes[best]};
    Drop((best + 1) % size_);
  }
}

void Region::Drop(size_t vertex) {
  std::copy(vertices_.begin() + static_cast<ptrdiff_t>(vertex) + 1,
            vertices_.begin() + static_cast<ptrdiff_t>(size_),
            vertices_.begin() + static_cast<ptrdiff_t>(vertex));
  --size_;
}

// Removes vertices that do not stick out to the right of the line through their neighbours:
// collinear ones, duplicates, and the effects of rounding.
void Region::Tidy() {
  if (size_ <= 3 || TurnsLeftAll(vertices_.data(), size_)) return;
  for (size_t i = 0; i < size_ && size_ > 3;) {
    const State& before = vertices_[i == 0 ? size_ - 1 : i - 1];
    const State& after = vertices_[(i + 1) % size_];
    const State in = Minus(vertices_[i], before), out = Minus(after, vertices_[i]);
    if (!TurnsLeft(in, out, Cross(in, out))) {
      Drop(i);
      if (i > 0) --i;
    } else {
      ++i;
    }
  }
}

}  // namespace acceltrace::clock::internal
