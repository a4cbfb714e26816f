// SPDX-License-Identifier: Apache-2.0
//
// Loops over eight values at once, for AVX2 where the processor has it. Internal. A group is kLanes
// values; every count is at least one group.
#ifndef LIBTRACE_STREAM_LANES_H_
#define LIBTRACE_STREAM_LANES_H_

#include <cstddef>
#include <cstdint>

// Before a loop: of short ones counting is a third of the work.
#if defined(__clang__)
#define ACCELTRACE_UNROLL _Pragma("unroll 4")
#else
#define ACCELTRACE_UNROLL _Pragma("GCC unroll 4")
#endif

namespace acceltrace::stream {

struct LaneOps {
  // The smallest and the largest of the values.
  void (*range)(const uint32_t* values, size_t groups, uint32_t* lowest, uint32_t* highest);
  // Their number that are not zero.
  size_t (*count)(const uint32_t* values, size_t groups);
  // to = values - subtract + 2^31, cut to 32 bits. False if some did not fit.
  bool (*offsets)(const uint64_t* values, size_t groups, uint64_t subtract, uint32_t* to);
  // The same of each value's difference to the one before it, which for the first is itself.
  bool (*deltas)(const uint64_t* values, size_t groups, uint32_t* to);
  bool (*deltas32)(const uint32_t* values, size_t groups, uint32_t* to);
  // to = (values >> shift) & mask.
  void (*part)(const uint32_t* values, size_t groups, uint32_t shift, uint32_t mask, uint32_t* to);
  // (values - base) of 1 to 32 bits each, in the layout of pack.h. Returns words written.
  size_t (*pack)(const uint32_t* values, size_t groups, uint32_t width, uint32_t base,
                 uint32_t* to);
  // Whether each value is not zero, one bit each in the same layout.
  size_t (*bits)(const uint32_t* values, size_t groups, uint32_t* to);
};

const LaneOps& Lanes();

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_LANES_H_
