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

// Adds to each of `to`, modulo 2^64.
void AddValues(const uint64_t* more, size_t rows, uint64_t* to);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMN_VALUES_H_
