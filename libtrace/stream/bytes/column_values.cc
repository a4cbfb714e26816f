// SPDX-License-Identifier: Apache-2.0
//
// Works on blocks of a fixed size, so that the compiler vectorises the loops.
#include "libtrace/stream/bytes/column_values.h"

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

// A vector at any address. memcpy() would load it in halves, and clang ignores the alignment of a
// typedef within a template.
template <typename T>
struct __attribute__((packed, may_alias)) Loose {
  typedef T Lanes __attribute__((vector_size(32)));
  Lanes lanes;
};

template <typename T>
COLUMN_INLINE void WidenBody(const T* values, size_t rows, T* low, T* high) {
  typedef T Lanes __attribute__((vector_size(32)));
  constexpr size_t kLanes = sizeof(Lanes) / sizeof(T);
  const auto* at = reinterpret_cast<const Loose<T>*>(values);
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

template <typename T>
COLUMN_INLINE T LeastAboveBody(const T* values, size_t rows, T low, T high, uint64_t most) {
  typedef T Lanes __attribute__((vector_size(32)));
  constexpr size_t kLanes = sizeof(Lanes) / sizeof(T), kAtOnce = 8;
  const auto* at = reinterpret_cast<const Loose<T>*>(values);
  Lanes lows, highs;
  for (size_t lane = 0; lane < kLanes; ++lane) lows[lane] = low, highs[lane] = high;
  Lanes least = highs;
  T next = high;
  size_t row = 0;
  for (; row + kAtOnce * kLanes <= rows; row += kAtOnce * kLanes) {
    for (size_t i = 0; i < kAtOnce; ++i, ++at) {
      Lanes a = at->lanes;
      a = a == lows ? highs : a;
      least = a < least ? a : least;
    }
    for (size_t lane = 0; lane < kLanes; ++lane) next = std::min(next, T{least[lane]});
    if (static_cast<uint64_t>(high) - static_cast<uint64_t>(next) > most) return next;
  }
  for (; row < rows; ++row) next = std::min(next, values[row] == low ? high : values[row]);
  return next;
}

template <typename T>
WITH_AVX2 T LeastAboveAvx2(const T* values, size_t rows, T low, T high, uint64_t most) {
  return LeastAboveBody(values, rows, low, high, most);
}

COLUMN_INLINE size_t FallsBody(const uint32_t* numbers, size_t rows) {
  size_t falls = 0, row = 1;
  for (; row + kBlock <= rows; row += kBlock) {
    int32_t of_block = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      const uint32_t rise = numbers[row + i] - numbers[row + i - 1];
      of_block += static_cast<int32_t>(rise) <= 0 ? 1 : 0;
    }
    falls += static_cast<size_t>(of_block);
  }
  for (; row < rows; ++row) falls += static_cast<int32_t>(numbers[row] - numbers[row - 1]) <= 0;
  return falls;
}

WITH_AVX2 size_t FallsAvx2(const uint32_t* numbers, size_t rows) {
  return FallsBody(numbers, rows);
}

COLUMN_INLINE size_t AboveBody(const uint32_t* numbers, const uint32_t* others, size_t rows,
                               int64_t by) {
  int64_t above = 0;
  size_t row = 0;
  for (; row + kBlock <= rows; row += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) {
      above += int64_t{numbers[row + i]} - int64_t{others[row + i]} > by ? 1 : 0;
    }
  }
  for (; row < rows; ++row) above += int64_t{numbers[row]} - int64_t{others[row]} > by;
  return static_cast<size_t>(above);
}

WITH_AVX2 size_t AboveAvx2(const uint32_t* numbers, const uint32_t* others, size_t rows,
                           int64_t by) {
  return AboveBody(numbers, others, rows, by);
}

COLUMN_INLINE bool SumsBody(const uint32_t* __restrict a, const uint32_t* __restrict b, size_t rows,
                            uint32_t* __restrict sums) {
  uint32_t beyond = 0;
  size_t row = 0;
  for (; row + kBlock <= rows; row += kBlock) {
    uint32_t of_block = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      const uint32_t sum = a[row + i] + b[row + i];
      of_block |= sum < a[row + i] ? ~0U : 0;
      sums[row + i] = sum;
    }
    beyond |= of_block;
  }
  for (; row < rows; ++row) {
    sums[row] = a[row] + b[row];
    beyond |= sums[row] < a[row];
  }
  return beyond == 0;
}

WITH_AVX2 bool SumsAvx2(const uint32_t* a, const uint32_t* b, size_t rows, uint32_t* sums) {
  return SumsBody(a, b, rows, sums);
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

// `sums` may be one of the inputs: each vector is loaded before it is stored.
COLUMN_INLINE void AddBody(const uint64_t* a, const uint64_t* b, size_t rows, uint64_t* sums) {
  using Lanes = Loose<uint64_t>;
  constexpr size_t kLanes = sizeof(Lanes) / sizeof(uint64_t);
  size_t row = 0;
  for (; row + 2 * kLanes <= rows; row += 2 * kLanes) {
    const auto* of_a = reinterpret_cast<const Lanes*>(a + row);
    const auto* of_b = reinterpret_cast<const Lanes*>(b + row);
    auto* to = reinterpret_cast<Lanes*>(sums + row);
    to[0].lanes = of_a[0].lanes + of_b[0].lanes;
    to[1].lanes = of_a[1].lanes + of_b[1].lanes;
  }
  for (; row < rows; ++row) sums[row] = a[row] + b[row];
}

WITH_AVX2 void AddAvx2(const uint64_t* a, const uint64_t* b, size_t rows, uint64_t* sums) {
  AddBody(a, b, rows, sums);
}

COLUMN_INLINE bool NumbersAboveBody(uint64_t base, const uint64_t* __restrict values, size_t rows,
                                    uint32_t* __restrict numbers, uint32_t* low, uint32_t* high) {
  typedef uint64_t Longs __attribute__((vector_size(32)));
  typedef uint32_t Words __attribute__((vector_size(32)));
  constexpr size_t kLanes = sizeof(Words) / sizeof(uint32_t);
  Longs bits = {};
  Words least = Words{} - 1, most = {};
  uint64_t rest = 0;
  *low = UINT32_MAX, *high = 0;
  size_t row = 0;
  for (; row + kLanes <= rows; row += kLanes) {
    const auto* at = reinterpret_cast<const Loose<uint64_t>*>(values + row);
    const Longs a = at[0].lanes - base, b = at[1].lanes - base;
    bits |= a | b;
    // The low halves of each value.
    const Words words = __builtin_shufflevector((Words)a, (Words)b, 0, 2, 4, 6, 8, 10, 12, 14);
    least = words < least ? words : least, most = words > most ? words : most;
    reinterpret_cast<Loose<uint32_t>*>(numbers + row)->lanes = words;
  }
  for (; row < rows; ++row) {
    const uint64_t number = values[row] - base;
    rest |= number, numbers[row] = static_cast<uint32_t>(number);
    *low = std::min(*low, numbers[row]), *high = std::max(*high, numbers[row]);
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    *low = std::min(*low, uint32_t{least[lane]}), *high = std::max(*high, uint32_t{most[lane]});
  }
  return (bits[0] | bits[1] | bits[2] | bits[3] | rest) >> 32 == 0;
}

WITH_AVX2 bool NumbersAboveAvx2(uint64_t base, const uint64_t* values, size_t rows,
                                uint32_t* numbers, uint32_t* low, uint32_t* high) {
  return NumbersAboveBody(base, values, rows, numbers, low, high);
}

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

// The buffer of a chunk is aligned for any width, and each number is at a multiple of its width.
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
T LeastAbove(const T* values, size_t rows, T low, T high, uint64_t most) {
  return HasAvx2() ? LeastAboveAvx2(values, rows, low, high, most)
                   : LeastAboveBody(values, rows, low, high, most);
}
template uint8_t LeastAbove(const uint8_t*, size_t, uint8_t, uint8_t, uint64_t);
template int32_t LeastAbove(const int32_t*, size_t, int32_t, int32_t, uint64_t);
template uint32_t LeastAbove(const uint32_t*, size_t, uint32_t, uint32_t, uint64_t);
template int64_t LeastAbove(const int64_t*, size_t, int64_t, int64_t, uint64_t);
template uint64_t LeastAbove(const uint64_t*, size_t, uint64_t, uint64_t, uint64_t);

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

size_t CountFalls(const uint32_t* numbers, size_t rows) {
  return HasAvx2() ? FallsAvx2(numbers, rows) : FallsBody(numbers, rows);
}

size_t CountAbove(const uint32_t* numbers, const uint32_t* others, size_t rows, int64_t by) {
  return HasAvx2() ? AboveAvx2(numbers, others, rows, by) : AboveBody(numbers, others, rows, by);
}

bool AddNumbers(const uint32_t* a, const uint32_t* b, size_t rows, uint32_t* sums) {
  return HasAvx2() ? SumsAvx2(a, b, rows, sums) : SumsBody(a, b, rows, sums);
}

void AddValues(const uint64_t* a, const uint64_t* b, size_t rows, uint64_t* sums) {
  HasAvx2() ? AddAvx2(a, b, rows, sums) : AddBody(a, b, rows, sums);
}

bool ToNumbersAbove(uint64_t base, const uint64_t* values, size_t rows, uint32_t* numbers,
                    uint32_t* low, uint32_t* high) {
  return HasAvx2() ? NumbersAboveAvx2(base, values, rows, numbers, low, high)
                   : NumbersAboveBody(base, values, rows, numbers, low, high);
}

void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint8_t* values) {
  HasAvx2() ? FromAvx2(from, rows, base, width, values) : From(from, rows, base, width, values);
}

}  // namespace acceltrace::stream
