// SPDX-License-Identifier: Apache-2.0
//
// The loops are written once, with the compilers' vector types, and compiled twice.
#include "libtrace/analysis/rows/row_loops.h"

namespace acceltrace::analysis {
namespace {

#define ROWS_INLINE inline __attribute__((always_inline))
#define WITH_AVX2 __attribute__((target("avx2")))

typedef uint64_t Longs __attribute__((vector_size(32)));
typedef int64_t SignedLongs __attribute__((vector_size(32)));
typedef uint32_t Words __attribute__((vector_size(32)));
constexpr size_t kLongs = 4;
constexpr uint64_t kSign = uint64_t{1} << 63;

bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

// Need not be aligned.
template <typename Lanes>
struct __attribute__((packed, may_alias)) Loose {
  Lanes lanes;
};
template <typename Lanes, typename T>
ROWS_INLINE const Loose<Lanes>* Of(const T* values) {
  return reinterpret_cast<const Loose<Lanes>*>(values);
}

template <typename Lanes>
ROWS_INLINE uint64_t AnyOf(const Lanes& lanes) {
  return static_cast<uint64_t>(lanes[0] | lanes[1] | lanes[2] | lanes[3]);
}

ROWS_INLINE bool AreApartBody(const uint64_t* values, size_t rows) {
  SignedLongs alike = {};
  size_t i = 0;
  for (; i + 2 * kLongs <= rows; i += 2 * kLongs) {
    const auto *a = Of<Longs>(values + i - 1), *b = Of<Longs>(values + i);
    alike |= (a[0].lanes == b[0].lanes) | (a[1].lanes == b[1].lanes);
  }
  bool apart = AnyOf(alike) == 0;
  for (; i < rows; ++i) apart &= values[i] != *(values + i - 1);
  return apart;
}

ROWS_INLINE bool NoneAfterBody(const int64_t* earlier, const int64_t* later, size_t rows) {
  SignedLongs after = {};
  size_t i = 0;
  for (; i + 2 * kLongs <= rows; i += 2 * kLongs) {
    const auto *a = Of<SignedLongs>(earlier + i), *b = Of<SignedLongs>(later + i);
    after |= (a[0].lanes > b[0].lanes) | (a[1].lanes > b[1].lanes);
  }
  bool none = AnyOf(after) == 0;
  for (; i < rows; ++i) none &= earlier[i] <= later[i];
  return none;
}

ROWS_INLINE bool NoneBelowBody(const int64_t* values, size_t rows, int64_t least) {
  const SignedLongs bound = {least, least, least, least};
  SignedLongs below = {};
  size_t i = 0;
  for (; i + 2 * kLongs <= rows; i += 2 * kLongs) {
    const auto* a = Of<SignedLongs>(values + i);
    below |= (bound > a[0].lanes) | (bound > a[1].lanes);
  }
  bool none = AnyOf(below) == 0;
  for (; i < rows; ++i) none &= values[i] >= least;
  return none;
}

ROWS_INLINE bool NoneBehindBody(const uint64_t* from, const uint64_t* to, size_t rows,
                                uint64_t least) {
  const Longs more = {least, least, least, least};
  Longs apart = {};
  size_t i = 0;
  for (; i + 2 * kLongs <= rows; i += 2 * kLongs) {
    const auto *a = Of<Longs>(from + i), *b = Of<Longs>(to + i);
    apart |= (b[0].lanes - a[0].lanes - more) | (b[1].lanes - a[1].lanes - more);
  }
  uint64_t any = AnyOf(apart);
  for (; i < rows; ++i) any |= to[i] - from[i] - least;
  return any < kSign;
}

ROWS_INLINE bool AreWithinBody(const uint64_t* values, size_t rows, uint64_t first,
                               uint64_t length) {
  const uint64_t last = first + length - 1;
  const Longs low = {first, first, first, first}, high = {last, last, last, last};
  Longs apart = {};
  size_t i = 0;
  for (; i + 2 * kLongs <= rows; i += 2 * kLongs) {
    const auto* at = Of<Longs>(values + i);
    const Longs a = at[0].lanes, b = at[1].lanes;
    apart |= (a - low) | (high - a) | (b - low) | (high - b);
  }
  uint64_t any = AnyOf(apart);
  for (; i < rows; ++i) any |= (values[i] - first) | (last - values[i]);
  return any < kSign;
}

ROWS_INLINE bool FollowBody(const int64_t* at_ns, int64_t unseen, size_t rows, int64_t* last_ns,
                            uint64_t* seen) {
  const SignedLongs none = {unseen, unseen, unseen, unseen};
  SignedLongs before = {}, count = {};
  size_t i = 0;
  for (; i + kLongs <= rows; i += kLongs) {
    auto* to = reinterpret_cast<Loose<SignedLongs>*>(last_ns + i);
    const SignedLongs at = Of<SignedLongs>(at_ns + i)->lanes, last = to->lanes;
    const SignedLongs skip = at == none, next = skip ? last : at;
    before |= last > next;
    count += skip + 1;
    to->lanes = next;
  }
  bool all = AnyOf(before) == 0;
  *seen += static_cast<uint64_t>(count[0] + count[1] + count[2] + count[3]);
  for (; i < rows; ++i) {
    if (at_ns[i] == unseen) continue;
    all &= last_ns[i] <= at_ns[i];
    last_ns[i] = at_ns[i];
    ++*seen;
  }
  return all;
}

// `after` means that the instant must come after the interval, otherwise before it.
ROWS_INLINE bool CountApartBody(const int64_t* at_ns, const IntervalRows& times, bool after,
                                size_t rows, uint64_t* certain) {
  const int64_t* mid_ns = times.mid_ns;
  const uint64_t *before_ns = times.before_ns, *after_ns = times.after_ns;
  SignedLongs apart = {}, count = {};
  size_t i = 0;
  for (; i + kLongs <= rows; i += kLongs) {
    const SignedLongs at = Of<SignedLongs>(at_ns + i)->lanes;
    const Longs mid = Of<Longs>(mid_ns + i)->lanes;
    const auto low = reinterpret_cast<SignedLongs>(mid - Of<Longs>(before_ns + i)->lanes);
    const auto high = reinterpret_cast<SignedLongs>(mid + Of<Longs>(after_ns + i)->lanes);
    apart |= after ? low > at : at > high;
    count -= after ? at >= high : low >= at;
  }
  bool all = AnyOf(apart) == 0;
  *certain += static_cast<uint64_t>(count[0] + count[1] + count[2] + count[3]);
  for (; i < rows; ++i) {
    const auto mid = static_cast<uint64_t>(mid_ns[i]);
    const auto low = static_cast<int64_t>(mid - before_ns[i]);
    const auto high = static_cast<int64_t>(mid + after_ns[i]);
    all &= after ? low <= at_ns[i] : at_ns[i] <= high;
    *certain += after ? at_ns[i] >= high : low >= at_ns[i];
  }
  return all;
}

ROWS_INLINE uint64_t SumBody(const uint64_t* values, size_t rows) {
  Longs sums = {};
  size_t i = 0;
  for (; i + 2 * kLongs <= rows; i += 2 * kLongs) {
    const auto* at = Of<Longs>(values + i);
    sums += at[0].lanes + at[1].lanes;
  }
  uint64_t sum = sums[0] + sums[1] + sums[2] + sums[3];
  for (; i < rows; ++i) sum += values[i];
  return sum;
}

ROWS_INLINE uint64_t SumBody(const uint32_t* values, size_t rows) {
  Longs sums = {};
  size_t i = 0;
  for (; i + 2 * kLongs <= rows; i += 2 * kLongs) {
    const Words words = Of<Words>(values + i)->lanes;
    const auto longs = reinterpret_cast<Longs>(words);
    sums += (longs & 0xffffffff) + (longs >> 32);
  }
  uint64_t sum = sums[0] + sums[1] + sums[2] + sums[3];
  for (; i < rows; ++i) sum += values[i];
  return sum;
}

WITH_AVX2 bool AreApartAvx2(const uint64_t* values, size_t rows) {
  return AreApartBody(values, rows);
}
WITH_AVX2 bool NoneAfterAvx2(const int64_t* earlier, const int64_t* later, size_t rows) {
  return NoneAfterBody(earlier, later, rows);
}
WITH_AVX2 bool NoneBelowAvx2(const int64_t* values, size_t rows, int64_t least) {
  return NoneBelowBody(values, rows, least);
}
WITH_AVX2 bool NoneBehindAvx2(const uint64_t* from, const uint64_t* to, size_t rows,
                              uint64_t least) {
  return NoneBehindBody(from, to, rows, least);
}
WITH_AVX2 bool AreWithinAvx2(const uint64_t* values, size_t rows, uint64_t first, uint64_t length) {
  return AreWithinBody(values, rows, first, length);
}
WITH_AVX2 bool FollowAvx2(const int64_t* at_ns, int64_t unseen, size_t rows, int64_t* last_ns,
                          uint64_t* seen) {
  return FollowBody(at_ns, unseen, rows, last_ns, seen);
}
WITH_AVX2 bool CountAfterAvx2(const int64_t* at_ns, const IntervalRows& times, size_t rows,
                              uint64_t* certain) {
  return CountApartBody(at_ns, times, false, rows, certain);
}
WITH_AVX2 bool CountBeforeAvx2(const int64_t* at_ns, const IntervalRows& times, size_t rows,
                               uint64_t* certain) {
  return CountApartBody(at_ns, times, true, rows, certain);
}
template <typename T>
WITH_AVX2 uint64_t SumAvx2(const T* values, size_t rows) {
  return SumBody(values, rows);
}

}  // namespace

bool AreApart(const uint64_t* values, size_t rows) {
  return HasAvx2() ? AreApartAvx2(values, rows) : AreApartBody(values, rows);
}

bool NoneAfter(const int64_t* earlier, const int64_t* later, size_t rows) {
  return HasAvx2() ? NoneAfterAvx2(earlier, later, rows) : NoneAfterBody(earlier, later, rows);
}

bool NoneBelow(const int64_t* values, size_t rows, int64_t least) {
  return HasAvx2() ? NoneBelowAvx2(values, rows, least) : NoneBelowBody(values, rows, least);
}

bool NoneBehind(const uint64_t* from, const uint64_t* to, size_t rows, uint64_t least) {
  return HasAvx2() ? NoneBehindAvx2(from, to, rows, least) : NoneBehindBody(from, to, rows, least);
}

bool AreWithin(const uint64_t* values, size_t rows, uint64_t first, uint64_t length) {
  return HasAvx2() ? AreWithinAvx2(values, rows, first, length)
                   : AreWithinBody(values, rows, first, length);
}

bool Follow(const int64_t* at_ns, int64_t unseen, size_t rows, int64_t* last_ns, uint64_t* seen) {
  return HasAvx2() ? FollowAvx2(at_ns, unseen, rows, last_ns, seen)
                   : FollowBody(at_ns, unseen, rows, last_ns, seen);
}

bool CountAfter(const int64_t* at_ns, const IntervalRows& times, size_t rows, uint64_t* certain) {
  return HasAvx2() ? CountAfterAvx2(at_ns, times, rows, certain)
                   : CountApartBody(at_ns, times, false, rows, certain);
}

bool CountBefore(const IntervalRows& times, const int64_t* at_ns, size_t rows, uint64_t* certain) {
  return HasAvx2() ? CountBeforeAvx2(at_ns, times, rows, certain)
                   : CountApartBody(at_ns, times, true, rows, certain);
}

uint64_t SumOf(const uint64_t* values, size_t rows) {
  return HasAvx2() ? SumAvx2(values, rows) : SumBody(values, rows);
}

uint64_t SumOf(const uint32_t* values, size_t rows) {
  return HasAvx2() ? SumAvx2(values, rows) : SumBody(values, rows);
}

}  // namespace acceltrace::analysis
