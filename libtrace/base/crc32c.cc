// SPDX-License-Identifier: Apache-2.0
#include "libtrace/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace acceltrace {

namespace {

constexpr uint32_t kReversedPolynomial = 0x82f63b78;

// table[k][b] is the checksum of byte b followed by k zero bytes, so that eight bytes are processed
// at once.
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
// What a checksum becomes when so many zero bytes follow, for each byte of it.
using Shift = std::array<std::array<uint32_t, 256>, 4>;
using Basis = std::array<uint32_t, 32>;  // what each bit becomes

constexpr uint32_t Apply(const Basis& to, uint32_t sum) {
  uint32_t result = 0;
  for (size_t bit = 0; bit < to.size(); ++bit) result ^= (sum >> bit & 1) != 0 ? to[bit] : 0;
  return result;
}

constexpr Shift MakeShift(int log2_bytes) {
  Basis by{};
  for (size_t bit = 0; bit < by.size(); ++bit) {
    const uint32_t sum = uint32_t{1} << bit;
    by[bit] = (sum >> 8) ^ kTables[0][sum & 0xff];
  }
  for (int i = 0; i < log2_bytes; ++i) {
    const Basis once = by;
    for (uint32_t& bit : by) bit = Apply(once, bit);
  }
  Shift shift{};
  for (uint32_t place = 0; place < shift.size(); ++place) {
    for (uint32_t b = 0; b < 256; ++b) shift[place][b] = Apply(by, b << (8 * place));
  }
  return shift;
}

// The instruction takes three cycles, but one can start in each cycle: three parts are summed at
// once.
constexpr int kLongLog2 = 12, kShortLog2 = 8;
constexpr Shift kLong = MakeShift(kLongLog2), kShort = MakeShift(kShortLog2);

inline uint64_t Shifted(const Shift& shift, uint64_t sum) {
  return shift[0][sum & 0xff] ^ shift[1][sum >> 8 & 0xff] ^ shift[2][sum >> 16 & 0xff] ^
         shift[3][sum >> 24 & 0xff];
}

inline uint64_t WordAt(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

__attribute__((target("sse4.2"))) uint64_t ThreeAtOnce(const Shift& shift, size_t stretch,
                                                       uint64_t crc, const char* p) {
  uint64_t second = 0, third = 0;
  for (const char* const end = p + stretch; p < end; p += 8) {
    crc = _mm_crc32_u64(crc, WordAt(p));
    second = _mm_crc32_u64(second, WordAt(p + stretch));
    third = _mm_crc32_u64(third, WordAt(p + 2 * stretch));
  }
  return Shifted(shift, Shifted(shift, crc) ^ second) ^ third;
}

__attribute__((target("sse4.2"))) uint32_t Crc32cSse42(std::string_view bytes, uint32_t before) {
  uint64_t crc = static_cast<uint32_t>(~before);
  const char* p = bytes.data();
  size_t left = bytes.size();
  const auto many = [&](const Shift& shift, size_t stretch) {
    for (; left >= 3 * stretch; left -= 3 * stretch, p += 3 * stretch) {
      crc = ThreeAtOnce(shift, stretch, crc, p);
    }
  };
  many(kLong, size_t{1} << kLongLog2);
  many(kShort, size_t{1} << kShortLog2);
  for (; left >= 8; left -= 8, p += 8) crc = _mm_crc32_u64(crc, WordAt(p));
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

}  // namespace acceltrace
