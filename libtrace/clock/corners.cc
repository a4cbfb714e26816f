// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/corners.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "libtrace/clock/curve_part.h"

namespace acceltrace::clock::internal {
namespace {

// Larger than any real area, so that it is only chosen if there is no other corner.
constexpr double kBeyond = 1e30;

LANES_INLINE void Load(const double* from, Doubles* to) { std::memcpy(to, from, sizeof(*to)); }
LANES_INLINE void Store(const Doubles& from, double* to) { std::memcpy(to, &from, sizeof(from)); }

// The vertices starting with the last one, followed by the first ones again.
struct Around {
  double offsets[Region::kMostVertices + 3], slopes[Region::kMostVertices + 3];
};

// Lets the last group of lanes end with the last of `count`, so that it overlaps the previous one.
LANES_INLINE size_t LaneStart(size_t i, size_t count) { return std::min(i, count - kLanes); }

LANES_INLINE void Spread(const State* vertices, size_t count, Around* to) {
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t at = LaneStart(i, count);
    Doubles a, b;
    std::memcpy(&a, vertices + at, sizeof(a)), std::memcpy(&b, vertices + at + 2, sizeof(b));
    Store(__builtin_shufflevector(a, b, 0, 2, 4, 6), to->offsets + 1 + at);
    Store(__builtin_shufflevector(a, b, 1, 3, 5, 7), to->slopes + 1 + at);
  }
  for (double* of : {to->offsets, to->slopes}) {
    of[0] = of[count], of[count + 1] = of[1], of[count + 2] = of[2];
  }
}

LANES_INLINE void FindBody(const State* vertices, size_t count, const Range& within,
                           Corners* corners) {
  Around around;
  Spread(vertices, count, &around);
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t at = LaneStart(i, count);
    Doubles before_x, before_y, from_x, from_y, to_x, to_y, after_x, after_y;
    Load(around.offsets + at, &before_x), Load(around.slopes + at, &before_y);
    Load(around.offsets + at + 1, &from_x), Load(around.slopes + at + 1, &from_y);
    Load(around.offsets + at + 2, &to_x), Load(around.slopes + at + 2, &to_y);
    Load(around.offsets + at + 3, &after_x), Load(around.slopes + at + 3, &after_y);
    const Doubles in_x = from_x - before_x, in_y = from_y - before_y;
    const Doubles edge_x = to_x - from_x, edge_y = to_y - from_y;
    const Doubles out_x = after_x - to_x, out_y = after_y - to_y;
    const Doubles turn = in_x * out_y - in_y * out_x;
    const Doubles in_square = in_x * in_x + in_y * in_y;
    const Doubles out_square = out_x * out_x + out_y * out_y;
    const Doubles along = (edge_x * out_y - edge_y * out_x) / turn;
    const Doubles back = (in_x * edge_y - in_y * edge_x) / turn;
    const Doubles x = from_x + along * in_x, y = from_y + along * in_y;
    const Doubles to_corner_x = x - to_x, to_corner_y = y - to_y;
    Doubles area = edge_x * to_corner_y - edge_y * to_corner_x;
    area = area < 0 ? -area : area;
    area = ((x < within.lo) | (x > within.hi)) ? area + kBeyond : area;
    // If they are nearly parallel, the corner would be dominated by rounding errors.
    const auto meet = (turn > 0) & (turn * turn > kParallel * kParallel * in_square * out_square) &
                      (along >= 0) & (back >= 0);
    const Doubles none = Doubles{} + kInfinity;
    area = meet ? area : none;
    Store(x, corners->offsets + at), Store(y, corners->slopes + at);
    Store(area, corners->areas + at);
  }
}

LANES_INLINE bool TurnsBody(const State* vertices, size_t count) {
  Around around;
  Spread(vertices, count, &around);
  Longs left = ~Longs{};
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t at = LaneStart(i, count);
    Doubles before_x, before_y, x, y, after_x, after_y;
    Load(around.offsets + at, &before_x), Load(around.slopes + at, &before_y);
    Load(around.offsets + at + 1, &x), Load(around.slopes + at + 1, &y);
    Load(around.offsets + at + 2, &after_x), Load(around.slopes + at + 2, &after_y);
    const Doubles in_x = x - before_x, in_y = y - before_y;
    const Doubles out_x = after_x - x, out_y = after_y - y;
    const Doubles turn = in_x * out_y - in_y * out_x;
    const Doubles in_square = in_x * in_x + in_y * in_y;
    const Doubles out_square = out_x * out_x + out_y * out_y;
    left &= (Longs)((turn > 0) & (turn * turn > kParallel * kParallel * in_square * out_square));
  }
  return (left[0] & left[1] & left[2] & left[3]) != 0;
}

#define EDGES_FOR(NAME, TARGET)                                                    \
  TARGET void Find##NAME(const State* vertices, size_t count, const Range& within, \
                         Corners* corners) {                                       \
    FindBody(vertices, count, within, corners);                                    \
  }                                                                                \
  TARGET bool Turns##NAME(const State* vertices, size_t count) {                   \
    return TurnsBody(vertices, count);                                             \
  }

EDGES_FOR(Baseline, )
#if defined(__x86_64__)
EDGES_FOR(Avx2, __attribute__((target("avx2"))))
#endif

bool HasAvx2() {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  return avx2;
#else
  return false;
#endif
}

}  // namespace

void FindCorners(const State* vertices, size_t count, const Range& offsets, Corners* corners) {
#if defined(__x86_64__)
  if (HasAvx2()) return FindAvx2(vertices, count, offsets, corners);
#endif
  FindBaseline(vertices, count, offsets, corners);
}

bool TurnsLeftAll(const State* vertices, size_t count) {
#if defined(__x86_64__)
  if (HasAvx2()) return TurnsAvx2(vertices, count);
#endif
  return TurnsBaseline(vertices, count);
}

}  // namespace acceltrace::clock::internal
