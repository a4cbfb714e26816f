// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/common/deflate.h"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::view {
namespace {

// Decompresses with zlib; the stream must end where the bytes end.
std::string Inflated(std::string_view packed, size_t size) {
  std::string out(size + 1, '\0');
  uLongf room = out.size();
  uLong read = packed.size();
  REQUIRE(uncompress2(reinterpret_cast<Bytef*>(out.data()), &room,
                      reinterpret_cast<const Bytef*>(packed.data()), &read) == Z_OK);
  CHECK(read == packed.size());
  out.resize(room);
  return out;
}

TEST_CASE("zlib reads what the deflater packs, one after the other") {
  std::mt19937 random(7);
  std::vector<std::string> inputs = {"", "a", "abcdefg", std::string(257, '\0'),
                                     std::string(1 << 20, 'y')};
  for (const size_t size : {1u, 9u, 300u, 300'000u}) {
    for (const uint32_t kinds : {2u, 17u, 256u}) {
      inputs.emplace_back();
      while (inputs.back().size() < size) inputs.back() += static_cast<char>(random() % kinds);
    }
  }
  Deflater deflater;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& input : inputs) {
      REQUIRE(Inflated(deflater.Pack(input), input.size()) == input);
    }
  }
}

}  // namespace
}  // namespace acceltrace::view
