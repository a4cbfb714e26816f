// SPDX-License-Identifier: Apache-2.0
//
// Columns of numbers as a serialised message has them: varints.h, and what they must be. Internal.
#ifndef LIBTRACE_STREAM_NUMBERS_H_
#define LIBTRACE_STREAM_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libtrace/stream/varints.h"

namespace acceltrace::stream {

// How many there are. False: one of them is longer than protobuf takes, or the last one is cut.
bool CountSoundNumbers(std::string_view bytes, size_t* count, const VarintOps& ops = Varints());

inline uint64_t FromZigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }
void FromZigzags(uint64_t* values, size_t count);
// To the sums of these and *before, modulo 2^64; the last one becomes *before.
void SumZigzags(uint64_t* values, size_t count, uint64_t* before);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_NUMBERS_H_
