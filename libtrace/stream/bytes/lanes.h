// SPDX-License-Identifier: Apache-2.0
//
// Loops over eight values at once, with AVX2 if the processor has it. A group is kLanes values, and
// every count is at least one group. Internal.
#ifndef LIBTRACE_STREAM_BYTES_LANES_H_
#define LIBTRACE_STREAM_BYTES_LANES_H_

#include <cstddef>
#include <cstdint>

// The check is done before a loop because it takes a third of the time of short ones.
#if defined(__clang__)
#define ACCELTRACE_UNROLL _Pragma("unroll 4")
#else
#define ACCELTRACE_UNROLL _Pragma("GCC unroll 4")
#endif

namespace acceltrace::stream {

struct LaneOps {
  // Finds the smallest and the largest value.
  void (*range)(const uint32_t* values, size_t groups, uint32_t* lowest, uint32_t* highest);
  // Counts the values that are not zero.
  size_t (*count)(const uint32_t* values, size_t groups);
  // to = values - subtract + 2^31, truncated to 32 bits. Returns false if some did not fit.
  bool (*offsets)(const uint64_t* values, size_t groups, uint64_t subtract, uint32_t* to);
  // The same for each value's difference to the previous one, or to 0 for the first.
  bool (*deltas)(const uint64_t* values, size_t groups, uint32_t* to);
  bool (*deltas32)(const uint32_t* values, size_t groups, uint32_t* to);
  // to = (values >> shift) & mask.
  void (*part)(const uint32_t* values, size_t groups, uint32_t shift, uint32_t mask, uint32_t* to);
  // (values - base) of 1 to 32 bits each, in the layout of pack.h. Returns words written.
  size_t (*pack)(const uint32_t* values, size_t groups, uint32_t width, uint32_t base,
                 uint32_t* to);
  // Packs one bit for each value, which is set if it is not zero, in the same layout.
  size_t (*bits)(const uint32_t* values, size_t groups, uint32_t* to);
};

const LaneOps& Lanes();

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BYTES_LANES_H_
