// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/numbers.h"

#include <bit>
#include <cstring>

namespace acceltrace::stream {
namespace {

// In each byte of a number but its last.
constexpr uint64_t kMore = 0x8080'8080'8080'8080;
constexpr uint64_t kOnes = 0x0101'0101'0101'0101;

uint64_t Word(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

}  // namespace

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
