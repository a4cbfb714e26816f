// SPDX-License-Identifier: Apache-2.0
//
// The loops are written once, with the compilers' vector types, and compiled twice.
#include "libtrace/stream/bytes/lanes.h"

#include <cstring>

#include "libtrace/stream/bytes/pack.h"

namespace acceltrace::stream {
namespace {

typedef uint32_t Words __attribute__((vector_size(32)));
typedef uint64_t Longs __attribute__((vector_size(32)));

#define LANES_INLINE inline __attribute__((always_inline))
constexpr uint64_t kBias = uint64_t{1} << 31;

// Stores the low halves of both. By reference, because how vectors are passed depends on the
// target.
LANES_INLINE void PutLow(const Longs& a, const Longs& b, uint32_t* to) {
  const Words first = reinterpret_cast<Words>(a), second = reinterpret_cast<Words>(b);
  const Words low = __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14);
  std::memcpy(to, &low, sizeof(low));
}

LANES_INLINE void RangeBody(const uint32_t* values, size_t groups, uint32_t* lowest,
                            uint32_t* highest) {
  Words low, high;
  std::memcpy(&low, values, sizeof(low));
  high = low;
  ACCELTRACE_UNROLL
  for (size_t g = 1; g < groups; ++g) {
    Words x;
    std::memcpy(&x, values + kLanes * g, sizeof(x));
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  *lowest = low[0];
  *highest = high[0];
  for (size_t lane = 1; lane < kLanes; ++lane) {
    if (low[lane] < *lowest) *lowest = low[lane];
    if (high[lane] > *highest) *highest = high[lane];
  }
}

LANES_INLINE size_t CountBody(const uint32_t* values, size_t groups) {
  Words zeros = {};
  ACCELTRACE_UNROLL
  for (size_t g = 0; g < groups; ++g) {
    Words x;
    std::memcpy(&x, values + kLanes * g, sizeof(x));
    zeros -= reinterpret_cast<Words>(x == 0);
  }
  size_t sum = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) sum += zeros[lane];
  return kLanes * groups - sum;
}

LANES_INLINE bool OffsetsBody(const uint64_t* values, size_t groups, uint64_t subtract,
                              uint32_t* to) {
  const uint64_t shift = kBias - subtract;
  Longs seen = {};
  ACCELTRACE_UNROLL
  for (size_t i = 0; i < groups * kLanes; i += kLanes) {
    Longs x, y;
    std::memcpy(&x, values + i, sizeof(x));
    std::memcpy(&y, values + i + 4, sizeof(y));
    x += shift;
    y += shift;
    seen |= x | y;
    PutLow(x, y, to + i);
  }
  return ((seen[0] | seen[1] | seen[2] | seen[3]) >> 32) == 0;
}

LANES_INLINE bool DeltasBody(const uint64_t* values, size_t groups, uint32_t* to) {
  uint64_t first = 0;
  to[0] = static_cast<uint32_t>(kBias);
  for (size_t i = 1; i < kLanes; ++i) {
    const uint64_t x = values[i] - values[i - 1] + kBias;
    first |= x;
    to[i] = static_cast<uint32_t>(x);
  }
  Longs seen = {first, 0, 0, 0};
  ACCELTRACE_UNROLL
  for (size_t i = kLanes; i < groups * kLanes; i += kLanes) {
    Longs x, y, before_x, before_y;
    std::memcpy(&x, values + i, sizeof(x));
    std::memcpy(&y, values + i + 4, sizeof(y));
    std::memcpy(&before_x, values + i - 1, sizeof(before_x));
    std::memcpy(&before_y, values + i + 3, sizeof(before_y));
    x = x - before_x + kBias;
    y = y - before_y + kBias;
    seen |= x | y;
    PutLow(x, y, to + i);
  }
  return ((seen[0] | seen[1] | seen[2] | seen[3]) >> 32) == 0;
}

LANES_INLINE bool Deltas32Body(const uint32_t* values, size_t groups, uint32_t* to) {
  constexpr auto kHalf = static_cast<uint32_t>(kBias);
  to[0] = kHalf;
  for (size_t i = 1; i < kLanes; ++i) to[i] = values[i] - values[i - 1] + kHalf;
  ACCELTRACE_UNROLL
  for (size_t i = kLanes; i < groups * kLanes; i += kLanes) {
    Words x, before;
    std::memcpy(&x, values + i, sizeof(x));
    std::memcpy(&before, values + i - 1, sizeof(before));
    x = x - before + kHalf;
    std::memcpy(to + i, &x, sizeof(x));
  }
  return true;
}

LANES_INLINE void PartBody(const uint32_t* values, size_t groups, uint32_t shift, uint32_t mask,
                           uint32_t* to) {
  ACCELTRACE_UNROLL
  for (size_t i = 0; i < groups * kLanes; i += kLanes) {
    Words x;
    std::memcpy(&x, values + i, sizeof(x));
    x = x >> shift & mask;
    std::memcpy(to + i, &x, sizeof(x));
  }
}

LANES_INLINE size_t PackBody(const uint32_t* values, size_t groups, uint32_t width, uint32_t base,
                             uint32_t* to) {
  uint32_t* out = to;
  Words word = {};
  uint32_t filled = 0;
  for (size_t g = 0; g < groups; ++g) {
    Words x;
    std::memcpy(&x, values + kLanes * g, sizeof(x));
    x -= base;
    word |= x << filled;
    filled += width;
    if (filled >= 32) {
      std::memcpy(out, &word, sizeof(word));
      out += kLanes;
      filled -= 32;
      word = filled != 0 ? x >> (width - filled) : Words{};
    }
  }
  if (filled != 0) {
    std::memcpy(out, &word, sizeof(word));
    out += kLanes;
  }
  return static_cast<size_t>(out - to);
}

LANES_INLINE size_t BitsBody(const uint32_t* values, size_t groups, uint32_t* to) {
  uint32_t* out = to;
  for (size_t g = 0; g < groups; g += 32) {
    Words word = {};
    for (uint32_t bit = 0; bit < 32 && g + bit < groups; ++bit) {
      Words x;
      std::memcpy(&x, values + kLanes * (g + bit), sizeof(x));
      word |= (reinterpret_cast<Words>(x != 0) & 1u) << bit;
    }
    std::memcpy(out, &word, sizeof(word));
    out += kLanes;
  }
  return static_cast<size_t>(out - to);
}

#define LANES_FOR(NAME, TARGET)                                                             \
  TARGET void Range##NAME(const uint32_t* v, size_t n, uint32_t* low, uint32_t* high) {     \
    RangeBody(v, n, low, high);                                                             \
  }                                                                                         \
  TARGET size_t Count##NAME(const uint32_t* v, size_t n) { return CountBody(v, n); }        \
  TARGET bool Offsets##NAME(const uint64_t* v, size_t n, uint64_t subtract, uint32_t* to) { \
    return OffsetsBody(v, n, subtract, to);                                                 \
  }                                                                                         \
  TARGET bool Deltas##NAME(const uint64_t* v, size_t n, uint32_t* to) {                     \
    return DeltasBody(v, n, to);                                                            \
  }                                                                                         \
  TARGET bool Deltas32##NAME(const uint32_t* v, size_t n, uint32_t* to) {                   \
    return Deltas32Body(v, n, to);                                                          \
  }                                                                                         \
  TARGET void Part##NAME(const uint32_t* v, size_t n, uint32_t shift, uint32_t mask,        \
                         uint32_t* to) {                                                    \
    PartBody(v, n, shift, mask, to);                                                        \
  }                                                                                         \
  TARGET size_t Pack##NAME(const uint32_t* v, size_t n, uint32_t width, uint32_t base,      \
                           uint32_t* to) {                                                  \
    return PackBody(v, n, width, base, to);                                                 \
  }                                                                                         \
  TARGET size_t Bits##NAME(const uint32_t* v, size_t n, uint32_t* to) {                     \
    return BitsBody(v, n, to);                                                              \
  }                                                                                         \
  constexpr LaneOps k##NAME = {Range##NAME,    Count##NAME, Offsets##NAME, Deltas##NAME,    \
                               Deltas32##NAME, Part##NAME,  Pack##NAME,    Bits##NAME};

LANES_FOR(Baseline, )
#if defined(__x86_64__)
LANES_FOR(Avx2, __attribute__((target("avx2"))))
#endif

}  // namespace

const LaneOps& Lanes() {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) return kAvx2;
#endif
  return kBaseline;
}

}  // namespace acceltrace::stream
