// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/transpose.h"

#include <cstring>

namespace acceltrace::daemon {
namespace {

typedef uint64_t Longs __attribute__((vector_size(32)));

inline __attribute__((always_inline)) void Body(const axl_record* const* records, size_t count,
                                                uint64_t* columns, size_t stride) {
  for (size_t i = 0; i < count; i += 4) {
    // After the end, the last record is repeated.
    const size_t last = count - 1;
    const __u8* from0 = records[i]->bytes;
    const __u8* from1 = records[i + 1 < count ? i + 1 : last]->bytes;
    const __u8* from2 = records[i + 2 < count ? i + 2 : last]->bytes;
    const __u8* from3 = records[i + 3 < count ? i + 3 : last]->bytes;
    for (size_t word = 0; word < kRecordWords; word += 4) {
      Longs a, b, c, d;
      std::memcpy(&a, from0 + 8 * word, sizeof(a));
      std::memcpy(&b, from1 + 8 * word, sizeof(b));
      std::memcpy(&c, from2 + 8 * word, sizeof(c));
      std::memcpy(&d, from3 + 8 * word, sizeof(d));
      const Longs ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6);
      const Longs ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
      const Longs cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6);
      const Longs cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
      const Longs row0 = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
      const Longs row1 = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
      const Longs row2 = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
      const Longs row3 = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
      uint64_t* to = columns + word * stride + i;
      std::memcpy(to, &row0, sizeof(row0));
      std::memcpy(to + stride, &row1, sizeof(row1));
      std::memcpy(to + 2 * stride, &row2, sizeof(row2));
      std::memcpy(to + 3 * stride, &row3, sizeof(row3));
    }
  }
}

void Baseline(const axl_record* const* records, size_t count, uint64_t* columns, size_t stride) {
  Body(records, count, columns, stride);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void Avx2(const axl_record* const* records, size_t count,
                                          uint64_t* columns, size_t stride) {
  Body(records, count, columns, stride);
}
#endif

}  // namespace

void Transpose(const axl_record* const* records, size_t count, uint64_t* columns, size_t stride) {
  if (count == 0) return;
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2) return Avx2(records, count, columns, stride);
#endif
  Baseline(records, count, columns, stride);
}

}  // namespace acceltrace::daemon
