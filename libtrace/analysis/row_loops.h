// SPDX-License-Identifier: Apache-2.0
//
// What holds of many rows at once, with the processor's wider registers where it has them.
// Internal.
#ifndef LIBTRACE_ANALYSIS_ROW_LOOPS_H_
#define LIBTRACE_ANALYSIS_ROW_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace acceltrace::analysis {

template <typename T>
bool AreSame(const T* a, const T* b, size_t rows) {
  return std::memcmp(a, b, rows * sizeof(T)) == 0;
}
template <typename T>
bool AreAlike(const T* values, size_t rows) {
  return rows < 2 || AreSame(values, values + 1, rows - 1);
}
template <typename T>
bool AreAll(const T* values, size_t rows, T value) {
  return rows == 0 || (values[0] == value && AreAlike(values, rows));
}

// Each of them is another one than the one before it, which is there for the first one, too.
bool AreApart(const uint64_t* values, size_t rows);

// earlier[i] <= later[i].
bool NoneAfter(const int64_t* earlier, const int64_t* later, size_t rows);
bool NoneBelow(const int64_t* values, size_t rows, int64_t least);
// Whether what was seen, which is not `unseen`, comes when it may: at last_ns[i] or after it, which
// it then is. Counts it.
bool Follow(const int64_t* at_ns, int64_t unseen, size_t rows, int64_t* last_ns, uint64_t* seen);

// Intervals by their middles, and how far the ends are from there.
struct IntervalRows {
  const int64_t* mid_ns;
  const uint64_t *before_ns, *after_ns;
};
// Whether none lies before its instant as a whole, and how many begin no earlier.
bool CountAfter(const int64_t* at_ns, const IntervalRows& times, size_t rows, uint64_t* certain);
// Whether none lies after its instant as a whole, and how many end no later.
bool CountBefore(const IntervalRows& times, const int64_t* at_ns, size_t rows, uint64_t* certain);

// from[i] + least + a distance below 2^63 = to[i], modulo 2^64.
bool NoneBehind(const uint64_t* from, const uint64_t* to, size_t rows, uint64_t least = 0);
// first + a distance below `length` = values[i], modulo 2^64. length: 1 to 2^63.
bool AreWithin(const uint64_t* values, size_t rows, uint64_t first, uint64_t length);

// Modulo 2^64.
uint64_t SumOf(const uint64_t* values, size_t rows);
uint64_t SumOf(const uint32_t* values, size_t rows);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROW_LOOPS_H_
