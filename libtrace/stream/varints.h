// SPDX-License-Identifier: Apache-2.0
//
// Columns of varints, many at once, for AVX2 and BMI2 where the processor has them. Internal.
#ifndef LIBTRACE_STREAM_VARINTS_H_
#define LIBTRACE_STREAM_VARINTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace acceltrace::stream {

struct VarintOps {
  // Of so many bytes, a multiple of kAtOnce, how many are the last of a number.
  size_t (*count)(const char* bytes, size_t size);
  // The next numbers, as far as there are enough of them at once and none takes more than eight
  // bytes: how many were; *used: their bytes. No more than `most`.
  size_t (*take)(const char* bytes, size_t size, size_t most, uint64_t* values, size_t* used);
  // As count(), added to *count. False: a number has more than kMostBefore bytes before its last.
  // *before: those of a number that began earlier, then of one that goes on.
  bool (*sound)(const char* bytes, size_t size, size_t* count, int* before);

  static constexpr int kMostBefore = 9;
  static constexpr size_t kAtOnce = 64;  // bytes
};

// The fastest that the processor has, and those that each has.
const VarintOps& Varints();
const VarintOps& PortableVarints();

// How many numbers end there.
size_t CountNumbers(std::string_view bytes);
// Over so many, or all that there are.
void SkipNumbers(size_t count, std::string_view* bytes);
// The next ones, as TakeNumber() reads them. False: there are not as many.
bool TakeNumbers(size_t count, std::string_view* bytes, uint64_t* values,
                 const VarintOps& ops = Varints());

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_VARINTS_H_
