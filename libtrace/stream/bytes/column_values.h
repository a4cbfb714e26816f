// SPDX-License-Identifier: Apache-2.0
//
// Loops over the values of a column that use the processor's wider registers if it has them.
// Internal, but also used by the columns of the model.
#ifndef LIBTRACE_STREAM_BYTES_COLUMN_VALUES_H_
#define LIBTRACE_STREAM_BYTES_COLUMN_VALUES_H_

#include <cstddef>
#include <cstdint>

namespace acceltrace::stream {

// Lowers *low and raises *high to the bounds of the values. For int32_t, uint32_t, int64_t,
// uint64_t and uint8_t.
template <typename T>
void WidenTo(const T* values, size_t rows, T* low, T* high);

// Returns the least value other than `low`, where all values are within [low, high]. If a value is
// more than `most` below `high`, any such value may be returned. For the same types.
template <typename T>
T LeastAbove(const T* values, size_t rows, T low, T high, uint64_t most);

// Returns true if each value is greater than the one before it.
bool AllRise(const int64_t* values, size_t rows);

// Sets all values to `value`. For the same types.
template <typename T>
void FillAll(T* values, size_t rows, T value);

// Converts values to numbers over a base, modulo 2^64, of `width` bytes (1, 2, 4 or 8), and back;
// narrower ones are truncated. Numbers are aligned to their width.
void ToNumbers(const uint64_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to);
void ToNumbers(const uint32_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to);
void ToNumbers(const uint8_t* values, size_t rows, uint64_t base, uint8_t width, uint8_t* to);
void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint64_t* values);
void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint32_t* values);
void FromNumbers(const uint8_t* from, size_t rows, uint64_t base, uint8_t width, uint8_t* values);

// Returns how many numbers except for the first do not follow the one before them, modulo 2^32.
size_t CountFalls(const uint32_t* numbers, size_t rows);

// Returns how many numbers exceed the other one by more than `by`, whose absolute value is at most
// 2^62.
size_t CountAbove(const uint32_t* numbers, const uint32_t* others, size_t rows, int64_t by);

// Adds pairs of numbers. Returns false if a sum is 2^32 or more.
bool AddNumbers(const uint32_t* a, const uint32_t* b, size_t rows, uint32_t* sums);
// The same modulo 2^64; `sums` may be one of the inputs.
void AddValues(const uint64_t* a, const uint64_t* b, size_t rows, uint64_t* sums);

// Converts values to numbers above a base, modulo 2^64, and returns their bounds. Returns false if
// one is 2^32 or more. `rows` must not be 0.
bool ToNumbersAbove(uint64_t base, const uint64_t* values, size_t rows, uint32_t* numbers,
                    uint32_t* low, uint32_t* high);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BYTES_COLUMN_VALUES_H_
