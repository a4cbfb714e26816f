// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/numbers.h"

#include <bit>
#include <cstring>

#include "libtrace/stream/wire.h"

namespace acceltrace::stream {
namespace {

// In each byte of a number but its last.
constexpr uint64_t kMore = 0x8080'8080'8080'8080;
// Words of numbers that are two or three bytes long each, as these are.
constexpr uint64_t kTwos = 0x0080'0080'0080'0080, kThrees = 0x0000'0080'8000'8080;
constexpr uint64_t kOnes = 0x0101'0101'0101'0101;
constexpr uint64_t kSixBytes = 0x0000'ffff'ffff'ffff;

uint64_t Word(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

uint64_t OfThree(uint64_t word) {
  return (word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1f'c000);
}

// Takes what the next word begins with, where many numbers are alike; how many that were.
inline __attribute__((always_inline)) size_t TakeAlike(uint64_t word, size_t most, size_t* length,
                                                       uint64_t* values) {
  const uint64_t more = word & kMore;
  if (more == 0 && most >= 8) {
    for (size_t k = 0; k < 8; ++k) values[k] = word >> (8 * k) & 0xff;
    *length = 8;
    return 8;
  }
  if (more == kTwos && most >= 4) {
    const uint64_t all = (word & 0x007f'007f'007f'007f) | (word >> 1 & 0x3f80'3f80'3f80'3f80);
    for (size_t k = 0; k < 4; ++k) values[k] = all >> (16 * k) & 0xffff;
    *length = 8;
    return 4;
  }
  if ((more & kSixBytes) == kThrees && most >= 2) {
    values[0] = OfThree(word), values[1] = OfThree(word >> 24);
    *length = 6;
    return 2;
  }
  return 0;
}

// Those of up to eight bytes that have as many behind them; how many that were.
size_t TakeShortPlain(size_t count, std::string_view* bytes, uint64_t* values) {
  const auto* at = reinterpret_cast<const uint8_t*>(bytes->data());
  const uint8_t* const end = at + bytes->size();
  size_t i = 0, length = 0;
  while (i < count && end - at >= 8) {
    const uint64_t word = Word(at);
    if (const size_t alike = TakeAlike(word, count - i, &length, values + i); alike > 0) {
      i += alike, at += length;
      continue;
    }
    if ((word & kMore) == kMore) break;
    uint64_t value = *at++;
    for (uint32_t shift = 7; at[-1] >= 0x80; shift += 7) {
      // Without the bit that says more.
      value ^= uint64_t{1} << shift ^ uint64_t { *at++ } << shift;
    }
    values[i++] = value;
  }
  bytes->remove_prefix(static_cast<size_t>(reinterpret_cast<const char*>(at) - bytes->data()));
  return i;
}

#ifdef __x86_64__
// The same, where the processor takes a number out of a word at once: how long the next one is
// cannot be foreseen where short and long ones alternate.
__attribute__((target("bmi,bmi2"))) size_t TakeShortBmi2(size_t count, std::string_view* bytes,
                                                         uint64_t* values) {
  const auto* at = reinterpret_cast<const uint8_t*>(bytes->data());
  const uint8_t* const end = at + bytes->size();
  size_t i = 0, length = 0;
  while (i < count && end - at >= 8) {
    const uint64_t word = Word(at), last = ~word & kMore;
    if (const size_t alike = TakeAlike(word, count - i, &length, values + i); alike > 0) {
      i += alike, at += length;
      continue;
    }
    if (last == 0) break;
    // All that end in the word: where the next one begins is known before this one is.
    uint64_t before = 0;  // bytes of the numbers so far
    for (uint64_t left = last; left != 0 && i < count; left &= left - 1) {
      const uint64_t bits = left ^ (left - 1);  // up to the number's last byte
      values[i++] = __builtin_ia32_pext_di(word, bits & ~before & ~kMore);
      before = bits;
    }
    at += std::bit_width(before) / 8;
  }
  bytes->remove_prefix(static_cast<size_t>(reinterpret_cast<const char*>(at) - bytes->data()));
  return i;
}

bool HasBmi2() {
  static const bool has = __builtin_cpu_supports("bmi2") != 0;
  return has;
}
#endif

size_t TakeShortNumbers(size_t count, std::string_view* bytes, uint64_t* values) {
#ifdef __x86_64__
  if (HasBmi2()) return TakeShortBmi2(count, bytes, values);
#endif
  return TakeShortPlain(count, bytes, values);
}

}  // namespace

bool TakeNumbers(size_t count, std::string_view* bytes, uint64_t* values) {
  for (size_t i = 0; i < count;) {
    i += TakeShortNumbers(count - i, bytes, values + i);
    if (i < count && !TakeNumber(bytes, &values[i++])) return false;
  }
  return true;
}

void SkipNumbers(size_t count, std::string_view* bytes) {
  size_t at = 0;
  for (; count >= 8 && at + 8 <= bytes->size(); at += 8) {
    count -= NumbersInWord(bytes->data() + at);
  }
  for (; count > 0 && at < bytes->size(); ++at) {
    count -= static_cast<uint8_t>((*bytes)[at]) < 0x80;
  }
  bytes->remove_prefix(at);
}

bool CountSoundNumbers(std::string_view bytes, size_t* count) {
  constexpr int kMost = 9;  // bytes before a number's last one
  const auto* at = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* const end = at + bytes.size();
  size_t numbers = 0;
  int before = 0;  // bytes of a number that goes on
  for (; end - at >= 8; at += 8) {
    const uint64_t last = ~Word(at) & kMore;  // of a number each
    if (last == kMore) {
      numbers += 8, before = 0;
      continue;
    }
    if (before + std::countr_zero(last) / 8 > kMost) return false;  // 8, if there is none
    before = last == 0 ? before + 8 : std::countl_zero(last) / 8;
    numbers += (last >> 7) * kOnes >> 56;
  }
  for (; at < end; ++at) {
    before = *at < 0x80 ? 0 : before + 1;
    if (before > kMost) return false;
    numbers += before == 0;
  }
  *count = numbers;
  return before == 0;
}

}  // namespace acceltrace::stream
