// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace acceltrace::stream {

namespace {

constexpr uint32_t kReversedPolynomial = 0x82f63b78;

// Eight tables: table[k][b] is byte b followed by k zero bytes, so that eight
// bytes go through at once.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) ? kReversedPolynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t before = tables[k - 1][b];
      tables[k][b] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Crc32cSse42(std::string_view bytes, uint32_t before) {
  uint64_t crc = static_cast<uint32_t>(~before);
  const char* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto crc32 = static_cast<uint32_t>(crc);
  for (; left > 0; --left, ++p) crc32 = _mm_crc32_u8(crc32, static_cast<uint8_t>(*p));
  return ~crc32;
}
#endif

}  // namespace

uint32_t Crc32cPortable(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  const char* p = bytes.data();
  size_t left = bytes.size();
  if constexpr (std::endian::native == std::endian::little) {
    for (; left >= 8; left -= 8, p += 8) {
      uint32_t low, high;
      std::memcpy(&low, p, 4);
      std::memcpy(&high, p + 4, 4);
      low ^= crc;
      crc = kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^
            kTables[5][(low >> 16) & 0xff] ^ kTables[4][low >> 24] ^ kTables[3][high & 0xff] ^
            kTables[2][(high >> 8) & 0xff] ^ kTables[1][(high >> 16) & 0xff] ^
            kTables[0][high >> 24];
    }
  }
  for (; left > 0; --left, ++p) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(*p)) & 0xff];
  }
  return ~crc;
}

uint32_t Crc32cMore(uint32_t before, std::string_view bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return Crc32cSse42(bytes, before);
#endif
  return Crc32cPortable(bytes, before);
}

uint32_t Crc32c(std::string_view bytes) { return Crc32cMore(0, bytes); }

}  // namespace acceltrace::stream
