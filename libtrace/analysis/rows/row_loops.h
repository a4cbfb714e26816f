// SPDX-License-Identifier: Apache-2.0
//
// Tests properties of many rows at once, using wide vector registers if the processor has them.
// Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_ROW_LOOPS_H_
#define LIBTRACE_ANALYSIS_ROWS_ROW_LOOPS_H_

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

// Returns true if each value differs from the previous one. values[-1] must be valid.
bool AreApart(const uint64_t* values, size_t rows);

// Returns true if earlier[i] <= later[i] for all rows.
bool NoneAfter(const int64_t* earlier, const int64_t* later, size_t rows);
bool NoneBelow(const int64_t* values, size_t rows, int64_t least);
// Returns true if every time that is not `unseen` is at or after last_ns[i], which is then set to
// it. *seen counts these times.
bool Follow(const int64_t* at_ns, int64_t unseen, size_t rows, int64_t* last_ns, uint64_t* seen);

// Intervals as their middles and the distances of both ends.
struct IntervalRows {
  const int64_t* mid_ns;
  const uint64_t *before_ns, *after_ns;
};
// Returns true if no interval is entirely before its instant. *certain counts those that begin at
// or after it.
bool CountAfter(const int64_t* at_ns, const IntervalRows& times, size_t rows, uint64_t* certain);
// Returns true if no interval is entirely after its instant. *certain counts those that end at or
// before it.
bool CountBefore(const IntervalRows& times, const int64_t* at_ns, size_t rows, uint64_t* certain);

// Returns true if to[i] - (from[i] + least) is below 2^63 for all rows, modulo 2^64.
bool NoneBehind(const uint64_t* from, const uint64_t* to, size_t rows, uint64_t least = 0);
// Returns true if values[i] - first is below `length` for all rows, modulo 2^64. length must be
// from 1 to 2^63.
bool AreWithin(const uint64_t* values, size_t rows, uint64_t first, uint64_t length);

// Returns the sum modulo 2^64.
uint64_t SumOf(const uint64_t* values, size_t rows);
uint64_t SumOf(const uint32_t* values, size_t rows);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_ROW_LOOPS_H_
