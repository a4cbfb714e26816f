// SPDX-License-Identifier: Apache-2.0
//
// Columns of numbers as a serialised message has them, many at a time. Internal.
#ifndef LIBTRACE_STREAM_NUMBERS_H_
#define LIBTRACE_STREAM_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace acceltrace::stream {

// The next `count` of them; these are gone then. False: one is none, or they end before.
bool TakeNumbers(size_t count, std::string_view* bytes, uint64_t* values);
// Over so many numbers, which are there.
void SkipNumbers(size_t count, std::string_view* bytes);
// How many there are. False: one of them is longer than protobuf takes, or the last one is cut.
bool CountSoundNumbers(std::string_view bytes, size_t* count);

inline uint64_t FromZigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_NUMBERS_H_
