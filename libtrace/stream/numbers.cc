// SPDX-License-Identifier: Apache-2.0
//
// As in lanes.cc, the loops are written once and compiled twice.
#include "libtrace/stream/numbers.h"

#include <cstring>

#include "libtrace/stream/lanes.h"

namespace acceltrace::stream {
namespace {

typedef uint64_t Longs __attribute__((vector_size(32)));
constexpr size_t kLongs = sizeof(Longs) / sizeof(uint64_t);

#define NUMBERS_INLINE inline __attribute__((always_inline))

// By reference: passing vectors depends on the target.
NUMBERS_INLINE void Load(const uint64_t* values, Longs* longs) {
  Longs x;
  std::memcpy(&x, values, sizeof(x));
  *longs = x >> 1 ^ (Longs{} - (x & 1));
}

NUMBERS_INLINE void PlainBody(uint64_t* values, size_t count) {
  size_t i = 0;
  for (; i + kLongs <= count; i += kLongs) {
    Longs x;
    Load(values + i, &x);
    std::memcpy(values + i, &x, sizeof(x));
  }
  for (; i < count; ++i) values[i] = FromZigzag(values[i]);
}

NUMBERS_INLINE void SumBody(uint64_t* values, size_t count, uint64_t* before) {
  size_t i = 0;
  const Longs zeros = {};
  Longs sum = zeros + *before;
  ACCELTRACE_UNROLL
  for (; i + kLongs <= count; i += kLongs) {
    Longs x;
    Load(values + i, &x);
    x += __builtin_shufflevector(zeros, x, 0, 4, 5, 6);
    x += __builtin_shufflevector(zeros, x, 0, 1, 4, 5);
    const Longs sums = x + sum;
    sum += __builtin_shufflevector(x, x, 3, 3, 3, 3);
    std::memcpy(values + i, &sums, sizeof(sums));
  }
  uint64_t last = sum[0];
  for (; i < count; ++i) values[i] = last += FromZigzag(values[i]);
  *before = last;
}

#if defined(__x86_64__)
#define WITH_AVX2 __attribute__((target("avx2")))
WITH_AVX2 void PlainAvx2(uint64_t* values, size_t count) { PlainBody(values, count); }
WITH_AVX2 void SumAvx2(uint64_t* values, size_t count, uint64_t* before) {
  SumBody(values, count, before);
}
bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#else
constexpr auto PlainAvx2 = PlainBody;
constexpr auto SumAvx2 = SumBody;
bool HasAvx2() { return false; }
#endif

}  // namespace

void FromZigzags(uint64_t* values, size_t count) {
  HasAvx2() ? PlainAvx2(values, count) : PlainBody(values, count);
}

void SumZigzags(uint64_t* values, size_t count, uint64_t* before) {
  HasAvx2() ? SumAvx2(values, count, before) : SumBody(values, count, before);
}

bool CountSoundNumbers(std::string_view bytes, size_t* count, const VarintOps& ops) {
  const size_t most = bytes.size() / VarintOps::kAtOnce * VarintOps::kAtOnce;
  size_t numbers = 0;
  int before = 0;  // bytes of a number that goes on
  if (!ops.sound(bytes.data(), most, &numbers, &before)) return false;
  for (const char byte : bytes.substr(most)) {
    before = static_cast<uint8_t>(byte) < 0x80 ? 0 : before + 1;
    if (before > VarintOps::kMostBefore) return false;
    numbers += before == 0;
  }
  *count = numbers;
  return before == 0;
}

}  // namespace acceltrace::stream
