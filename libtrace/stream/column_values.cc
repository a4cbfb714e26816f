// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a fixed size, so that the compiler makes vectors of them.
#include "libtrace/stream/column_values.h"

#include <algorithm>

namespace acceltrace::stream {
namespace {

#define COLUMN_INLINE inline __attribute__((always_inline))
#define WITH_AVX2 __attribute__((target("avx2")))

constexpr size_t kBlock = 32;  // values

bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

template <typename T>
COLUMN_INLINE void WidenBody(const T* values, size_t rows, T* low, T* high) {
  typedef T Lanes __attribute__((vector_size(32)));
  // Anywhere in memory. Through memcpy() it would come in halves; of a typedef within a template
  // clang forgets how it is aligned.
  struct __attribute__((packed, may_alias)) Loose {
    Lanes lanes;
  };
  constexpr size_t kLanes = sizeof(Lanes) / sizeof(T);
  const auto* at = reinterpret_cast<const Loose*>(values);
  size_t row = 0;
  if (rows >= 2 * kLanes) {
    Lanes least_a = at[0].lanes, least_b = at[1].lanes, most_a = least_a, most_b = least_b;
    for (row = 2 * kLanes; row + 2 * kLanes <= rows; row += 2 * kLanes) {
      at += 2;
      const Lanes a = at[0].lanes, b = at[1].lanes;
      least_a = a < least_a ? a : least_a, most_a = a > most_a ? a : most_a;
      least_b = b < least_b ? b : least_b, most_b = b > most_b ? b : most_b;
    }
    least_a = least_a < least_b ? least_a : least_b, most_a = most_a > most_b ? most_a : most_b;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      *low = std::min(*low, T{least_a[lane]}), *high = std::max(*high, T{most_a[lane]});
    }
  }
  for (; row < rows; ++row)
    *low = std::min(*low, values[row]), *high = std::max(*high, values[row]);
}

template <typename T>
WITH_AVX2 void WidenAvx2(const T* values, size_t rows, T* low, T* high) {
  WidenBody(values, rows, low, high);
}

COLUMN_INLINE bool RiseBody(const int64_t* values, size_t rows) {
  size_t row = 1;
  for (; row + kBlock <= rows; row += kBlock) {
    int64_t falls = 0;
    for (size_t i = 0; i < kBlock; ++i) falls |= values[row + i] <= values[row + i - 1] ? 1 : 0;
    if (falls != 0) return false;
  }
  for (; row < rows; ++row) {
    if (values[row] <= values[row - 1]) return false;
  }
  return true;
}

WITH_AVX2 bool RiseAvx2(const int64_t* values, size_t rows) { return RiseBody(values, rows); }

template <typename T, typename Number>
COLUMN_INLINE void ToBody(const T* __restrict values, size_t rows, T base, Number* __restrict to) {
  size_t row = 0;
  for (; row + kBlock <= rows; row += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) to[row + i] = static_cast<Number>(values[row + i] - base);
  }
  for (; row < rows; ++row) to[row] = static_cast<Number>(values[row] - base);
}

template <typename T, typename Number>
COLUMN_INLINE void FromBody(const Number* __restrict from, size_t rows, T base,
                            T* __restrict values) {
  size_t row = 0;
  for (; row + kBlock <= rows; row += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) values[row + i] = static_cast<T>(base + from[row + i]);
  }
  for (; row < rows; ++row) values[row] = static_cast<T>(base + from[row]);
}

COLUMN_INLINE void AddBody(const uint64_t* __restrict more, size_t rows, uint64_t* __restrict to) {
  size_t row = 0;
  for (; row + kBlock <= rows; row += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) to[row + i] += more[row + i];
  }
  for (; row < rows; ++row) to[row] += more[row];
}

WITH_AVX2 void AddAvx2(const uint64_t* more, size_t rows, uint64_t* to) { AddBody(more, rows, to); }

template <typename T>
COLUMN_INLINE void FillBody(T* values, size_t rows, T value) {
  size_t row = 0;
  for (; row + kBlock <= rows; row += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) values[row + i] = value;
  }
  for (; row < rows; ++row) values[row] = value;
}

template <typename T>
WITH_AVX2 void FillAvx2(T* values, size_t rows, T value) {
  FillBody(values, rows, value);
}

// A chunk's bytes are aligned for any number: each lies at a multiple of its width.
template <typename T>
COLUMN_INLINE void To(const T* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to) {
  const T low = static_cast<T>(base);
  switch (width) {
    case 1:
      return ToBody(values, rows, low, to);
    case 2:
      return ToBody(values, rows, low, reinterpret_cast<uint16_t*>(to));
    case 4:
      return ToBody(values, rows, low, reinterpret_cast<uint32_t*>(to));
    default:
      return ToBody(values, rows, low, reinterpret_cast<uint64_t*>(to));
  }
}

template <typename T>
COLUMN_INLINE void From(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, T* values) {
  const T low = static_cast<T>(base);
  switch (width) {
    case 1:
      return FromBody(from, rows, low, values);
    case 2:
      return FromBody(reinterpret_cast<const uint16_t*>(from), rows, low, values);
    case 4:
      return FromBody(reinterpret_cast<const uint32_t*>(from), rows, low, values);
    default:
      return FromBody(reinterpret_cast<const uint64_t*>(from), rows, low, values);
  }
}

template <typename T>
WITH_AVX2 void ToAvx2(const T* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to) {
  To(values, rows, base, width, to);
}

template <typename T>
WITH_AVX2 void FromAvx2(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, T* values) {
  From(from, rows, base, width, values);
}

}  // namespace

template <typename T>
void WidenTo(const T* values, size_t rows, T* low, T* high) {
  if (HasAvx2()) return WidenAvx2(values, rows, low, high);
  for (size_t i = 0; i < rows; ++i) {
    *low = std::min(*low, values[i]), *high = std::max(*high, values[i]);
  }
}
template void WidenTo(const uint8_t*, size_t, uint8_t*, uint8_t*);
template void WidenTo(const int32_t*, size_t, int32_t*, int32_t*);
template void WidenTo(const uint32_t*, size_t, uint32_t*, uint32_t*);
template void WidenTo(const int64_t*, size_t, int64_t*, int64_t*);
template void WidenTo(const uint64_t*, size_t, uint64_t*, uint64_t*);

bool AllRise(const int64_t* values, size_t rows) {
  return HasAvx2() ? RiseAvx2(values, rows) : RiseBody(values, rows);
}

template <typename T>
void FillAll(T* values, size_t rows, T value) {
  HasAvx2() ? FillAvx2(values, rows, value) : FillBody(values, rows, value);
}
template void FillAll(uint8_t*, size_t, uint8_t);
template void FillAll(int32_t*, size_t, int32_t);
template void FillAll(uint32_t*, size_t, uint32_t);
template void FillAll(int64_t*, size_t, int64_t);
template void FillAll(uint64_t*, size_t, uint64_t);

void ToNumbers(const uint64_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to) {
  HasAvx2() ? ToAvx2(values, rows, base, width, to) : To(values, rows, base, width, to);
}

void ToNumbers(const uint32_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to) {
  HasAvx2() ? ToAvx2(values, rows, base, width, to) : To(values, rows, base, width, to);
}

void ToNumbers(const uint8_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to) {
  HasAvx2() ? ToAvx2(values, rows, base, width, to) : To(values, rows, base, width, to);
}

void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint64_t* values) {
  HasAvx2() ? FromAvx2(from, rows, base, width, values) : From(from, rows, base, width, values);
}

void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint32_t* values) {
  HasAvx2() ? FromAvx2(from, rows, base, width, values) : From(from, rows, base, width, values);
}

void AddValues(const uint64_t* more, size_t rows, uint64_t* to) {
  HasAvx2() ? AddAvx2(more, rows, to) : AddBody(more, rows, to);
}

void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint8_t* values) {
  HasAvx2() ? FromAvx2(from, rows, base, width, values) : From(from, rows, base, width, values);
}

}  // namespace acceltrace::stream
