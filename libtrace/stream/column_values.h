// SPDX-License-Identifier: Apache-2.0
//
// Loops over the values of a column, with the processor's wider registers where it has them.
// Internal, and the model's columns'.
#ifndef LIBTRACE_STREAM_COLUMN_VALUES_H_
#define LIBTRACE_STREAM_COLUMN_VALUES_H_

#include <cstddef>
#include <cstdint>

namespace acceltrace::stream {

// Lowers *low and raises *high to those of the values. Of int32_t, uint32_t, int64_t, uint64_t,
// uint8_t.
template <typename T>
void WidenTo(const T* values, size_t rows, T* low, T* high);

// The least of the values but `low`, which none is below as none is above `high`; or, if one of
// these is more than `most` below `high`, any such. Of the same types.
template <typename T>
T LeastAbove(const T* values, size_t rows, T low, T high, uint64_t most);

// Whether each value is above the one before it.
bool AllRise(const int64_t* values, size_t rows);

// Each of them is `value`. Of the same types.
template <typename T>
void FillAll(T* values, size_t rows, T value);

// Values over a base as numbers of `width` bytes, 1, 2, 4 or 8, and back, modulo 2^64: cut to what
// is narrower. Numbers are aligned as their width asks for.
void ToNumbers(const uint64_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to);
void ToNumbers(const uint32_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to);
void ToNumbers(const uint8_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to);
void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint64_t* values);
void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint32_t* values);
void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint8_t* values);

// How many but the first do not come behind the one before them, counted modulo 2^32.
size_t CountFalls(const uint32_t* numbers, size_t rows);

// How many are above another one by more than so much, which is within 2^62.
size_t CountAbove(const uint32_t* numbers, const uint32_t* others, size_t rows, int64_t by);

// The sums of two and two; false: one is 2^32 or more.
bool AddNumbers(const uint32_t* a, const uint32_t* b, size_t rows, uint32_t* sums);
// The same modulo 2^64; `sums` may be one of them.
void AddValues(const uint64_t* a, const uint64_t* b, size_t rows, uint64_t* sums);

// Values as numbers above a base, modulo 2^64, and the least and the greatest of these. False: one
// is 2^32 or more. Some rows.
bool ToNumbersAbove(uint64_t base, const uint64_t* values, size_t rows, uint32_t* numbers,
                    uint32_t* low, uint32_t* high);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMN_VALUES_H_
