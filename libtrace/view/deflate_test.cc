// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace acceltrace::view {
namespace {

// As zlib reads it; it must end where the bytes end.
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

std::string Random(std::mt19937* random, size_t size, uint32_t kinds) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>((*random)() % kinds);
  return bytes;
}

TEST_CASE("zlib reads what the deflater packs") {
  std::mt19937 random(7);
  std::vector<std::string> inputs = {"",
                                     "a",
                                     "abcdefg",
                                     std::string(8, 'x'),
                                     std::string(257, '\0'),
                                     std::string(Deflater::kMostBytes, 'y')};
  for (const size_t size : {1u, 7u, 8u, 9u, 300u, 70'000u, 300'000u}) {
    for (const uint32_t kinds : {1u, 2u, 3u, 17u, 256u}) {
      inputs.push_back(Random(&random, size, kinds));
    }
  }
  // Repeats at each length that a match can have, and at and beyond the window.
  for (const size_t apart : {1u, 2u, 3u, 4u, 5u, 100u, 32'767u, 32'768u, 32'769u, 40'000u}) {
    std::string text = Random(&random, apart, 256);
    for (size_t length = 1; length < 600; length += 13) text += text.substr(0, length);
    inputs.push_back(text + text);
  }
  // Each letter twice as often as the one before: codes would be longer than they may be.
  std::string skewed;
  for (int letter = 0; letter < 19; ++letter)
    skewed += std::string(size_t{1} << letter, 'a' + letter);
  std::shuffle(skewed.begin(), skewed.end(), random);
  inputs.push_back(skewed);
  // One after the other, since the places of one input are still there at the next.
  Deflater deflater;
  for (int round = 0; round < 2; ++round) {
    for (const std::string& input : inputs) {
      REQUIRE(Inflated(deflater.Pack(input), input.size()) == input);
    }
  }
}

TEST_CASE("packed events are no larger than zlib's quickest level makes them") {
  std::mt19937 random(7);
  std::string text;
  for (int i = 0; i < 5'000; ++i) {
    text += "time " + std::to_string(1'000'000 + 100 * i + random() % 100) + " track " +
            std::to_string(random() % 7) + " job " + std::to_string(i) + ";";
  }
  std::string packed(compressBound(text.size()), '\0');
  uLongf size = packed.size();
  REQUIRE(compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                    reinterpret_cast<const Bytef*>(text.data()), text.size(), 1) == Z_OK);
  Deflater deflater;
  CHECK(deflater.Pack(text).size() < size + size / 20);
}

TEST_CASE("codes are as long as they may be, and use all of their bits") {
  std::vector<uint32_t> doubling;
  for (int i = 0; i < 30; ++i) doubling.push_back(uint32_t{1} << i);
  for (const std::vector<uint32_t>& counts :
       {doubling, std::vector<uint32_t>(19, 1), std::vector<uint32_t>(286, 7),
        std::vector<uint32_t>{0, 0, 5, 0}, std::vector<uint32_t>{0, 0, 0},
        std::vector<uint32_t>{1, 1, 1, 1000, 0}}) {
    for (const int limit : {9, 15}) {
      std::vector<uint8_t> lengths(counts.size());
      internal::CodeLengths(counts.data(), counts.size(), limit, lengths.data());
      size_t used = 0;
      for (size_t s = 0; s < counts.size(); ++s) {
        CHECK(lengths[s] <= limit);
        CHECK((lengths[s] > 0 || counts[s] == 0));
        if (lengths[s] > 0) used += size_t{1} << (limit - lengths[s]);
        for (size_t t = 0; t < s; ++t) {
          CHECK((counts[s] <= counts[t] || lengths[s] <= lengths[t] || lengths[t] == 0));
        }
      }
      CHECK(used == size_t{1} << limit);
    }
  }
}

}  // namespace
}  // namespace acceltrace::view
