// SPDX-License-Identifier: Apache-2.0
//
// The reader's half of pack.h. As in lanes.cc, the loops are written once and compiled twice.
#include <algorithm>
#include <bit>
#include <cstring>

#include "libtrace/stream/pack.h"

namespace acceltrace::stream {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(8)));
typedef uint32_t Words __attribute__((vector_size(32)));
typedef uint32_t Half __attribute__((vector_size(16)));
typedef uint64_t Longs __attribute__((vector_size(32)));
static_assert(std::endian::native == std::endian::little, "words are read as they are");

#define UNPACK_INLINE inline __attribute__((always_inline))

// Eight words, 64 bits wide each, above `base`.
template <bool kHigh>
UNPACK_INLINE void Widen(const Words& words, uint64_t base, uint64_t* to) {
  Half halves[2];
  std::memcpy(halves, &words, sizeof(words));
  for (int h = 0; h < 2; ++h) {
    Longs wide = __builtin_convertvector(halves[h], Longs);
    if (kHigh) {
      Longs low;
      std::memcpy(&low, to + 4 * h, sizeof(low));
      wide = low + (wide << 32);
    } else {
      wide += base;
    }
    std::memcpy(to + 4 * h, &wide, sizeof(wide));
  }
}

// Groups of kLanes values of 1 to 32 bits each. kHigh: the upper halves of those that are there.
template <bool kHigh>
UNPACK_INLINE void UnpackBody(const char* in, size_t groups, uint32_t width, uint64_t base,
                              uint64_t* to) {
  const uint32_t mask = width == 32 ? 0xffffffffu : (1u << width) - 1;
  constexpr size_t kWord = kLanes * sizeof(uint32_t);
  uint32_t shift = 0;
  for (size_t g = 0; g < groups; ++g) {
    Words x;
    std::memcpy(&x, in, sizeof(x));
    x >>= shift;
    shift += width;
    if (shift >= 32) {
      in += kWord;
      shift -= 32;
      if (shift > 0) {
        Words next;
        std::memcpy(&next, in, sizeof(next));
        x |= next << (width - shift);
      }
    }
    x &= mask;
    Widen<kHigh>(x, base, to + g * kLanes);
  }
}

UNPACK_INLINE void PlanesBody(const char* in, size_t planes, size_t count, size_t groups,
                              uint64_t base, uint64_t* to) {
  for (size_t g = 0; g < groups; ++g, in += kLanes, to += kLanes) {
    Words low = {}, high = {};
    for (size_t plane = 0; plane < planes; ++plane) {
      Bytes bytes;
      std::memcpy(&bytes, in + plane * count, sizeof(bytes));
      const Words words = __builtin_convertvector(bytes, Words);
      (plane < 4 ? low : high) |= words << (8 * (plane % 4));
    }
    Widen<false>(low, base, to);
    if (planes > 4) Widen<true>(high, 0, to);
  }
}

struct UnpackOps {
  void (*low)(const char*, size_t, uint32_t, uint64_t, uint64_t*);
  void (*high)(const char*, size_t, uint32_t, uint64_t, uint64_t*);
  void (*planes)(const char*, size_t, size_t, size_t, uint64_t, uint64_t*);
};

#define UNPACK_FOR(NAME, TARGET)                                                       \
  TARGET void Low##NAME(const char* in, size_t groups, uint32_t width, uint64_t base,  \
                        uint64_t* to) {                                                \
    UnpackBody<false>(in, groups, width, base, to);                                    \
  }                                                                                    \
  TARGET void High##NAME(const char* in, size_t groups, uint32_t width, uint64_t base, \
                         uint64_t* to) {                                               \
    UnpackBody<true>(in, groups, width, base, to);                                     \
  }                                                                                    \
  TARGET void Planes##NAME(const char* in, size_t planes, size_t count, size_t groups, \
                           uint64_t base, uint64_t* to) {                              \
    PlanesBody(in, planes, count, groups, base, to);                                   \
  }                                                                                    \
  constexpr UnpackOps k##NAME = {Low##NAME, High##NAME, Planes##NAME};

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

// All values of up to 32 bits, or the upper halves of them. The last group may be a part of one.
void UnpackAll(bool high, const char* in, size_t count, uint32_t width, uint64_t base,
               uint64_t* values) {
  const auto unpack = high ? Ops().high : Ops().low;
  const size_t groups = count / kLanes, rest = count % kLanes;
  // From the last group whose first bit is that of a word on.
  const size_t whole = rest == 0 ? groups : groups / 32 * 32;
  unpack(in, whole, width, base, values);
  if (rest == 0) return;
  uint64_t tail[32 * kLanes];
  const size_t left = count - whole * kLanes;
  std::copy_n(values + whole * kLanes, left, tail);
  unpack(in + whole / 32 * width * kLanes * sizeof(uint32_t), RoundToLanes(left) / kLanes, width,
         base, tail);
  std::copy_n(tail, left, values + whole * kLanes);
}

}  // namespace

void Unpack(std::string_view bytes, size_t count, uint32_t width, uint64_t* values, uint64_t base) {
  if (width == 0 || bytes.size() < PackedBytes(count, width)) {
    std::fill_n(values, count, base);
    return;
  }
  const uint32_t low = width < 32 ? width : 32;
  UnpackAll(false, bytes.data(), count, low, width > 32 ? 0 : base, values);
  if (width > low) {
    UnpackAll(true, bytes.data() + PackedBytes(count, low), count, width - low, 0, values);
  }
}

void MergePlanes(std::string_view planes, size_t count, uint64_t base, uint64_t* values) {
  const size_t number = count == 0 ? 0 : planes.size() / count;
  const size_t groups = number == 0 ? 0 : count / kLanes;
  if (groups > 0) Ops().planes(planes.data(), number, count, groups, base, values);
  for (size_t row = groups * kLanes; row < count; ++row) {
    uint64_t value = 0;
    for (size_t plane = 0; plane < number; ++plane) {
      value |= uint64_t{static_cast<uint8_t>(planes[plane * count + row])} << (8 * plane);
    }
    values[row] = value + base;
  }
}

}  // namespace acceltrace::stream
