// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/bytes/pack.h"

#include <cstring>

namespace acceltrace::stream {
namespace {

uint32_t LoadWord(const char* at) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(at);
  return static_cast<uint32_t>(bytes[0]) | static_cast<uint32_t>(bytes[1]) << 8 |
         static_cast<uint32_t>(bytes[2]) << 16 | static_cast<uint32_t>(bytes[3]) << 24;
}

// width: 1 to 32.
void PackHalf(const uint64_t* values, size_t count, uint32_t shift, uint32_t width, char* out) {
  const uint64_t mask = width == 32 ? 0xffffffffu : (uint64_t{1} << width) - 1;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bit = i / kLanes * width;
    uint64_t value = ((values[i] >> shift) & mask) << bit % 32;
    for (size_t word = bit / 32; value != 0; ++word, value >>= 32) {
      char* at = out + 4 * (word * kLanes + i % kLanes);
      const uint32_t merged = LoadWord(at) | static_cast<uint32_t>(value);
      for (int byte = 0; byte < 4; ++byte) at[byte] = static_cast<char>(merged >> (8 * byte));
    }
  }
}

}  // namespace

void Pack(const uint64_t* values, size_t count, uint32_t width, std::string* out) {
  if (width == 0) return;
  const size_t begin = out->size();
  out->resize(begin + PackedBytes(count, width));
  const uint32_t low = width < 32 ? width : 32;
  PackHalf(values, count, 0, low, out->data() + begin);
  if (width > low) {
    PackHalf(values, count, 32, width - low, out->data() + begin + PackedBytes(count, low));
  }
}

}  // namespace acceltrace::stream
