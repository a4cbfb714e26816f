// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/numbers.h"

namespace acceltrace::stream {

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
