// SPDX-License-Identifier: Apache-2.0
//
// Of 64 bytes the last ones of numbers become the bits of a word. So the next number begins where
// a bit says, and its length is not what the one after it waits for.
#include "libtrace/stream/varints.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "libtrace/stream/lanes.h"
#include "libtrace/stream/wire.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace acceltrace::stream {
namespace {

constexpr size_t kBytes = VarintOps::kAtOnce;
constexpr uint64_t kHigh = 0x8080'8080'8080'8080;

uint64_t WordAt(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

size_t CountPortable(const char* bytes, size_t size) {
  constexpr uint64_t kLow = 0x0101'0101'0101'0101;
  size_t count = 0;
  for (size_t at = 0; at < size; at += 8) {
    count += ((~WordAt(bytes + at) >> 7 & kLow) * kLow) >> 56;
  }
  return count;
}

size_t TakePortable(const char* bytes, size_t size, size_t most, uint64_t* values, size_t* used) {
  const auto* at = reinterpret_cast<const uint8_t*>(bytes);
  const uint8_t* const end = at + size;
  size_t have = 0;
  while (have < most && end - at >= 8) {
    // Most are small, and so are those beside them.
    const uint64_t word = WordAt(reinterpret_cast<const char*>(at));
    if ((word & kHigh) == 0 && most - have >= 8) {
      for (size_t k = 0; k < 8; ++k) values[have + k] = word >> (8 * k) & 0xff;
      at += 8, have += 8;
      continue;
    }
    uint64_t value = *at++;
    for (uint32_t shift = 7; at[-1] >= 0x80 && shift < 56; shift += 7) {
      value ^= uint64_t{1} << shift ^ uint64_t { *at++ }
                                          << shift;  // without the bit that says more
    }
    if (at[-1] >= 0x80) {
      at -= 8;
      break;
    }
    values[have++] = value;
  }
  *used = static_cast<size_t>(reinterpret_cast<const char*>(at) - bytes);
  return have;
}

bool SoundPortable(const char* bytes, size_t size, size_t* count, int* before) {
  constexpr uint64_t kOnes = 0x0101'0101'0101'0101;
  for (size_t at = 0; at < size; at += 8) {
    const uint64_t last = ~WordAt(bytes + at) & kHigh;  // of a number each
    if (last == kHigh) {
      *count += 8, *before = 0;
      continue;
    }
    // 8, if there is none.
    if (*before + std::countr_zero(last) / 8 > VarintOps::kMostBefore) return false;
    *before = last == 0 ? *before + 8 : std::countl_zero(last) / 8;
    *count += (last >> 7) * kOnes >> 56;
  }
  return true;
}

constexpr VarintOps kPortable = {CountPortable, TakePortable, SoundPortable};

#if defined(__x86_64__)
#define VARINTS_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt")))

VARINTS_AVX2 inline uint64_t Ends(const char* bytes) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32));
  return ~(static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
           uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(high))} << 32);
}

VARINTS_AVX2 size_t CountAvx2(const char* bytes, size_t size) {
  size_t count = 0;
  for (size_t at = 0; at < size; at += kBytes) {
    count += static_cast<size_t>(_mm_popcnt_u64(Ends(bytes + at)));
  }
  return count;
}

VARINTS_AVX2 bool SoundAvx2(const char* bytes, size_t size, size_t* count, int* before) {
  static_assert(VarintOps::kMostBefore == 9);
  size_t numbers = 0;
  int open = *before;
  for (size_t at = 0; at < size; at += kBytes) {
    const uint64_t ends = Ends(bytes + at), more = ~ends;
    numbers += static_cast<size_t>(_mm_popcnt_u64(ends));
    // Bits behind which there are one, three, seven and nine more.
    const uint64_t two = more & more >> 1, four = two & two >> 2, eight = four & four >> 4;
    if ((eight & two >> 8) != 0) return false;
    if (open + std::countr_zero(ends) > VarintOps::kMostBefore) return false;  // 64: none ends
    open = std::countl_zero(ends);
  }
  *count += numbers, *before = open;
  return true;
}

// `count` numbers, a multiple of four, of kLength bytes each.
template <size_t kLength>
VARINTS_AVX2 inline void TakeAlike(const char* from, size_t count, uint64_t* values) {
  // The bytes of each number in eight of their own; both lanes have the same 16.
  static constexpr auto kPlaces = [] {
    std::array<char, 32> places{};
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] = static_cast<char>(i % 8 < kLength ? i / 8 * kLength + i % 8 : 0x80);
    }
    return places;
  }();
  const __m256i spread = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kPlaces.data()));
  ACCELTRACE_UNROLL
  for (size_t i = 0; i < count; i += 4) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * kLength));
    __m256i four = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), spread);
    if constexpr (kLength > 1) {
      // Seven bits of each byte, of two together, of four together.
      four = _mm256_and_si256(four, _mm256_set1_epi8(0x7f));
      four = _mm256_maddubs_epi16(_mm256_set1_epi16(static_cast<int16_t>(0x8001)), four);
      if constexpr (kLength > 2) {
        four = _mm256_madd_epi16(four, _mm256_set1_epi32(0x4000'0001));
      }
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + i), four);
  }
}

// `count` numbers, of eight bytes at most, that end where the bits say; how many bytes they take.
VARINTS_AVX2 inline size_t TakeEach(const char* from, uint64_t ends, size_t count,
                                    uint64_t* values) {
  // The seven low bits of each byte, of one to eight.
  static constexpr uint64_t kLow[] = {~kHigh >> 56, ~kHigh >> 48, ~kHigh >> 40, ~kHigh >> 32,
                                      ~kHigh >> 24, ~kHigh >> 16, ~kHigh >> 8,  ~kHigh};
  size_t begin = 0;
  ACCELTRACE_UNROLL
  for (size_t i = 0; i < count; ++i, ends &= ends - 1) {
    const size_t last = _tzcnt_u64(ends);
    values[i] = _pext_u64(WordAt(from + begin), kLow[last - begin]);
    begin = last + 1;
  }
  return begin;
}

// The ends before a number of more than eight bytes.
VARINTS_AVX2 inline uint64_t EndsOfShort(uint64_t ends) {
  const uint64_t two = ~ends & ~ends >> 1, four = two & two >> 2, eight = four & four >> 4;
  return ends & (eight ^ (eight - 1));
}

VARINTS_AVX2 size_t TakeAvx2(const char* bytes, size_t size, size_t most, uint64_t* values,
                             size_t* used) {
  // Of numbers of one byte each, of two, of three.
  constexpr uint64_t kOnes = ~uint64_t{0}, kTwos = 0xaaaa'aaaa'aaaa'aaaa;
  constexpr size_t kBehind = 16;  // that are read, too
  constexpr uint64_t kThreeBytes = 48, kThrees = 0x9249'2492'4924;
  size_t at = 0, have = 0;
  while (at + kBytes + kBehind <= size && have < most) {
    const char* const from = bytes + at;
    uint64_t* const to = values + have;
    const uint64_t ends = Ends(from);
    if (ends == kOnes && most - have >= kBytes) {
      TakeAlike<1>(from, kBytes, to);
      at += kBytes, have += kBytes;
    } else if (ends == kTwos && most - have >= kBytes / 2) {
      TakeAlike<2>(from, kBytes / 2, to);
      at += kBytes, have += kBytes / 2;
    } else if (ends << (64 - kThreeBytes) == kThrees << (64 - kThreeBytes) &&
               most - have >= kThreeBytes / 3) {
      TakeAlike<3>(from, kThreeBytes / 3, to);
      at += kThreeBytes, have += kThreeBytes / 3;
    } else {
      const uint64_t some = EndsOfShort(ends);
      if (some == 0) break;  // the first is a longer one
      const size_t count = std::min(static_cast<size_t>(_mm_popcnt_u64(some)), most - have);
      at += TakeEach(from, some, count, to), have += count;
    }
  }
  *used = at;
  return have;
}

constexpr VarintOps kAvx2 = {CountAvx2, TakeAvx2, SoundAvx2};
#endif

}  // namespace

const VarintOps& Varints() {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  if (avx2) return kAvx2;
#endif
  return kPortable;
}

const VarintOps& PortableVarints() { return kPortable; }

size_t CountNumbers(std::string_view bytes) {
  const size_t most = bytes.size() / kBytes * kBytes;
  size_t count = most == 0 ? 0 : Varints().count(bytes.data(), most);
  for (size_t at = most; at < bytes.size(); ++at) count += static_cast<uint8_t>(bytes[at]) < 0x80;
  return count;
}

void SkipNumbers(size_t count, std::string_view* bytes) {
  size_t at = 0;
  // So many bytes are no more numbers.
  const auto some = [&] { return std::min(count, bytes->size() - at) / kBytes * kBytes; };
  for (size_t size = some(); size > 0; size = some()) {
    count -= Varints().count(bytes->data() + at, size);
    at += size;
  }
  for (; count > 0 && at < bytes->size(); ++at) {
    count -= static_cast<uint8_t>((*bytes)[at]) < 0x80;
  }
  bytes->remove_prefix(at);
}

bool TakeNumbers(size_t count, std::string_view* bytes, uint64_t* values, const VarintOps& ops) {
  for (size_t i = 0; i < count;) {
    size_t used = 0;
    i += ops.take(bytes->data(), bytes->size(), count - i, values + i, &used);
    bytes->remove_prefix(used);
    if (i == count) break;
    // What is short of a stretch, or a longer one; then perhaps there is one again.
    const size_t some = std::min(count, i + kBytes);
    for (; i < some; ++i) {
      if (!TakeNumber(bytes, &values[i])) return false;
    }
  }
  return true;
}

}  // namespace acceltrace::stream
