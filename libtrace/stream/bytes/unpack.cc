// SPDX-License-Identifier: Apache-2.0
//
// The reader's counterpart of pack.h. As in lanes.cc, the loops are written once and compiled
// twice.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "libtrace/stream/bytes/column_values.h"
#include "libtrace/stream/bytes/pack.h"

namespace acceltrace::stream {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(16)));
typedef uint16_t Pairs __attribute__((vector_size(16)));
typedef uint32_t Words __attribute__((vector_size(32)));
typedef uint32_t Half __attribute__((vector_size(16)));
typedef uint64_t Longs __attribute__((vector_size(32)));
static_assert(std::endian::native == std::endian::little, "words are read as they are");

#define UNPACK_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define UNPACK_UNROLL _Pragma("unroll")
#else
#define UNPACK_UNROLL _Pragma("GCC unroll 32")
#endif

constexpr size_t kWord = kLanes * sizeof(uint32_t);
// This many values fill whole words at any width.
constexpr size_t kTileGroups = 32, kTile = kTileGroups * kLanes;

constexpr size_t kMerged = sizeof(Bytes);

constexpr uint32_t Mask(uint32_t width) {
  return width >= 32 ? 0xffffffffu : (uint32_t{1} << width) - 1;
}

// By reference, because how vectors are passed depends on the target.
UNPACK_INLINE void Load(const void* from, Words* words) {
  std::memcpy(words, from, sizeof(*words));
}

// Unpacks groups of kLanes values of 1 to 32 bits each.
UNPACK_INLINE void GroupsBody(const char* in, size_t groups, uint32_t width, uint32_t* to) {
  const uint32_t mask = Mask(width);
  uint32_t shift = 0;
  for (size_t g = 0; g < groups; ++g, to += kLanes) {
    Words x, next;
    Load(in, &x);
    x >>= shift;
    shift += width;
    if (shift >= 32) {
      in += kWord;
      shift -= 32;
      if (shift > 0) {
        Load(in, &next);
        x |= next << (width - shift);
      }
    }
    x &= mask;
    std::memcpy(to, &x, sizeof(x));
  }
}

// Unpacks whole tiles of one width: the place of each value is known at compile time.
template <uint32_t kWidth>
UNPACK_INLINE void TilesBody(const char* in, size_t tiles, uint32_t* to) {
  for (; tiles > 0; --tiles, in += kWidth * kWord, to += kTile) {
    UNPACK_UNROLL
    for (uint32_t g = 0; g < kTileGroups; ++g) {
      const uint32_t bit = g * kWidth, word = bit / 32, shift = bit % 32;
      Words x, next;
      Load(in + word * kWord, &x);
      x >>= shift;
      if (shift + kWidth > 32) {
        Load(in + (word + 1) * kWord, &next);
        x |= next << (32 - shift);
      }
      x &= Mask(kWidth);
      std::memcpy(to + g * kLanes, &x, sizeof(x));
    }
  }
}

// Merges bytes of kPlanes planes to numbers, kMerged at once: bytes are paired, then pairs are.
template <size_t kPlanes>
UNPACK_INLINE void PlanesBody(const char* in, size_t stride, size_t merges, uint32_t* to) {
  for (size_t m = 0; m < merges; ++m, in += kMerged, to += kMerged) {
    Bytes planes[4] = {};
    for (size_t p = 0; p < kPlanes; ++p) std::memcpy(&planes[p], in + p * stride, kMerged);
    const auto first = [](const Bytes& a, const Bytes& b, Pairs* pairs) {
      *pairs = reinterpret_cast<Pairs>(
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    };
    const auto last = [](const Bytes& a, const Bytes& b, Pairs* pairs) {
      *pairs = reinterpret_cast<Pairs>(__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27,
                                                               12, 28, 13, 29, 14, 30, 15, 31));
    };
    Pairs low[2], high[2];
    first(planes[0], planes[1], &low[0]), last(planes[0], planes[1], &low[1]);
    first(planes[2], planes[3], &high[0]), last(planes[2], planes[3], &high[1]);
    for (size_t half = 0; half < 2; ++half) {
      const Pairs a = low[half], b = high[half];
      const Pairs four = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
      const Pairs next = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
      std::memcpy(to + 8 * half, &four, sizeof(four));
      std::memcpy(to + 8 * half + 4, &next, sizeof(next));
    }
  }
}
template <size_t kPlanes = 4>
UNPACK_INLINE void SomePlanes(size_t planes, const char* in, size_t stride, size_t merges,
                              uint32_t* to) {
  if (planes == kPlanes) return PlanesBody<kPlanes>(in, stride, merges, to);
  if constexpr (kPlanes > 1) SomePlanes<kPlanes - 1>(planes, in, stride, merges, to);
}

// Adds numbers as the upper halves of values whose lower halves are there.
UNPACK_INLINE void RaiseBody(const uint32_t* from, size_t groups, uint64_t* to) {
  for (size_t h = 0; h < 2 * groups; ++h, from += 4, to += 4) {
    Half half;
    Longs low;
    std::memcpy(&half, from, sizeof(half)), std::memcpy(&low, to, sizeof(low));
    low += __builtin_convertvector(half, Longs) << 32;
    std::memcpy(to, &low, sizeof(low));
  }
}

UNPACK_INLINE void SumBody(uint32_t* values, size_t groups, uint32_t step, uint32_t before) {
  const Words zero = {};
  Words sum = zero + before;
  for (size_t g = 0; g < groups; ++g, values += kLanes) {
    Words x;
    Load(values, &x);
    x += step;
    x += __builtin_shufflevector(x, zero, 8, 0, 1, 2, 8, 4, 5, 6);
    x += __builtin_shufflevector(x, zero, 8, 8, 0, 1, 8, 8, 4, 5);
    x += __builtin_shufflevector(x, zero, 8, 8, 8, 8, 3, 3, 3, 3);
    const Words all = x + sum;
    std::memcpy(values, &all, sizeof(all));
    // Only this depends on the previous group.
    sum += __builtin_shufflevector(x, x, 7, 7, 7, 7, 7, 7, 7, 7);
  }
}

UNPACK_INLINE void AddBody(const uint32_t* from, size_t groups, uint32_t* to) {
  for (size_t g = 0; g < groups; ++g, from += kLanes, to += kLanes) {
    Words a, b;
    Load(from, &a), Load(to, &b);
    b += a;
    std::memcpy(to, &b, sizeof(b));
  }
}

using Tiles = void (*)(const char*, size_t, uint32_t*);
constexpr uint32_t kTileWidths = 16;  // larger widths are rare

struct UnpackOps {
  std::array<Tiles, kTileWidths + 1> tiles;  // by width
  void (*groups)(const char*, size_t, uint32_t, uint32_t*);
  void (*planes)(const char*, size_t, size_t, size_t, uint32_t*);
  void (*raise)(const uint32_t*, size_t, uint64_t*);
  void (*sum)(uint32_t*, size_t, uint32_t, uint32_t);
  void (*add)(const uint32_t*, size_t, uint32_t*);
};

#define UNPACK_FOR(NAME, TARGET)                                                           \
  template <uint32_t kWidth>                                                               \
  TARGET void Tiles##NAME(const char* in, size_t tiles, uint32_t* to) {                    \
    TilesBody<kWidth>(in, tiles, to);                                                      \
  }                                                                                        \
  template <uint32_t... kWidths>                                                           \
  constexpr std::array<Tiles, kTileWidths + 1> AllTiles##NAME(                             \
      std::integer_sequence<uint32_t, kWidths...>) {                                       \
    return {nullptr, Tiles##NAME<kWidths + 1>...};                                         \
  }                                                                                        \
  TARGET void Groups##NAME(const char* in, size_t groups, uint32_t width, uint32_t* to) {  \
    GroupsBody(in, groups, width, to);                                                     \
  }                                                                                        \
  TARGET void Planes##NAME(const char* in, size_t planes, size_t stride, size_t merges,    \
                           uint32_t* to) {                                                 \
    SomePlanes(planes, in, stride, merges, to);                                            \
  }                                                                                        \
  TARGET void Raise##NAME(const uint32_t* from, size_t groups, uint64_t* to) {             \
    RaiseBody(from, groups, to);                                                           \
  }                                                                                        \
  TARGET void Sum##NAME(uint32_t* values, size_t groups, uint32_t step, uint32_t before) { \
    SumBody(values, groups, step, before);                                                 \
  }                                                                                        \
  TARGET void Add##NAME(const uint32_t* from, size_t groups, uint32_t* to) {               \
    AddBody(from, groups, to);                                                             \
  }                                                                                        \
  constexpr UnpackOps k##NAME = {                                                          \
      AllTiles##NAME(std::make_integer_sequence<uint32_t, kTileWidths>()),                 \
      Groups##NAME,                                                                        \
      Planes##NAME,                                                                        \
      Raise##NAME,                                                                         \
      Sum##NAME,                                                                           \
      Add##NAME};

UNPACK_FOR(Baseline, )
#if defined(__x86_64__)
UNPACK_FOR(Avx2, __attribute__((target("avx2"))))
#endif

const UnpackOps& Ops() {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) return kAvx2;
#endif
  return kBaseline;
}

// Converts 32-bit numbers to values, or to the upper halves of existing ones.
void Spread(bool high, const uint32_t* numbers, size_t count, uint64_t* values) {
  if (!high) {
    return FromNumbers(reinterpret_cast<const uint8_t*>(numbers), count, 0, sizeof(*numbers),
                       values);
  }
  const size_t groups = count / kLanes;
  Ops().raise(numbers, groups, values);
  for (size_t i = groups * kLanes; i < count; ++i) values[i] += uint64_t{numbers[i]} << 32;
}

// Merges the planes of `count` numbers, which are `stride` bytes apart.
void Merge(const char* in, size_t planes, size_t stride, size_t count, uint32_t* to) {
  const size_t merges = count / kMerged;
  Ops().planes(in, planes, stride, merges, to);
  for (size_t i = merges * kMerged; i < count; ++i) {
    to[i] = 0;
    for (size_t plane = 0; plane < planes; ++plane) {
      to[i] |= uint32_t{static_cast<uint8_t>(in[plane * stride + i])} << (8 * plane);
    }
  }
}

void UnpackHalf(bool high, std::string_view bytes, size_t count, uint32_t width, uint64_t* values) {
  uint32_t tile[kTile];
  for (size_t row = 0; row < count; row += kTile) {
    const size_t some = std::min(kTile, count - row);
    UnpackNarrow(bytes.substr(row / kTile * width * kWord), some, width, tile);
    Spread(high, tile, some, values + row);
  }
}

}  // namespace

void UnpackNarrow(std::string_view bytes, size_t count, uint32_t width, uint32_t* to) {
  size_t groups = RoundToLanes(count) / kLanes;
  if (width == 0 || bytes.size() < PackedBytes(count, width)) {
    std::fill_n(to, groups * kLanes, 0);
    return;
  }
  const UnpackOps& ops = Ops();
  const char* in = bytes.data();
  if (const size_t tiles = groups / kTileGroups; tiles > 0 && width <= kTileWidths) {
    ops.tiles[width](in, tiles, to);
    in += tiles * width * kWord, to += tiles * kTile, groups -= tiles * kTileGroups;
  }
  ops.groups(in, groups, width, to);
}

void Unpack(std::string_view bytes, size_t count, uint32_t width, uint64_t* values) {
  if (width == 0 || bytes.size() < PackedBytes(count, width)) {
    std::fill_n(values, count, 0);
    return;
  }
  const uint32_t low = std::min(width, uint32_t{32});
  UnpackHalf(false, bytes, count, low, values);
  if (width == low) return;
  UnpackHalf(true, bytes.substr(PackedBytes(count, low)), count, width - low, values);
}

void MergeNarrowPlanes(std::string_view planes, size_t count, uint32_t* to) {
  const size_t number = count == 0 ? 0 : std::min<size_t>(planes.size() / count, 4);
  if (number == 0) return std::fill_n(to, count, 0), void();
  Merge(planes.data(), number, count, count, to);
}

void MergePlanes(std::string_view planes, size_t count, uint64_t* values) {
  uint32_t tile[kTile];
  const size_t number = count == 0 ? 0 : planes.size() / count;
  if (number == 0) return std::fill_n(values, count, 0), void();
  for (size_t row = 0; row < count; row += kTile) {
    const size_t some = std::min(kTile, count - row);
    const char* in = planes.data() + row;
    Merge(in, std::min<size_t>(number, 4), count, some, tile);
    Spread(false, tile, some, values + row);
    if (number <= 4) continue;
    Merge(in + 4 * count, number - 4, count, some, tile);
    Spread(true, tile, some, values + row);
  }
}

void SumUp(uint32_t* values, size_t count, uint32_t step, uint32_t before) {
  Ops().sum(values, RoundToLanes(count) / kLanes, step, before);
}

void AddTo(const uint32_t* from, size_t count, uint32_t* to) {
  Ops().add(from, RoundToLanes(count) / kLanes, to);
}

}  // namespace acceltrace::stream
