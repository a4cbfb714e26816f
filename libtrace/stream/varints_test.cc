// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/varints.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "libtrace/stream/framing.h"
#include "libtrace/stream/wire.h"
#include "tests/catch.h"

namespace acceltrace::stream {
namespace {

// Of numbers that are alike, or of any length; some are not what an encoder writes.
std::string Numbers(size_t count, std::mt19937_64& random) {
  std::string bytes;
  const uint64_t kind = random() % 5;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t number = kind == 0   ? random() % 128
                            : kind == 1 ? 128 + random() % 10'000
                            : kind == 2 ? random() >> random() % 64
                            : kind == 3 ? random() % 300
                                        : (random() % 40 == 0 ? ~uint64_t{0} : 5'000 + i / 4);
    AppendVarint(number, &bytes);
  }
  for (int i = 0; random() % 3 == 0 && i < 3 && !bytes.empty(); ++i) {
    bytes[random() % bytes.size()] = static_cast<char>(random());
  }
  return bytes;
}

TEST_CASE("Many varints at once are those that come one by one") {
  std::mt19937_64 random(6);
  for (int round = 0; round < 10'000; ++round) {
    const size_t count = random() % 400;
    const std::string bytes = Numbers(count, random);
    std::vector<uint64_t> wanted(count);
    std::string_view one_by_one = bytes;
    const bool whole = std::all_of(wanted.begin(), wanted.end(), [&](uint64_t& value) {
      return TakeNumber(&one_by_one, &value);
    });
    for (const VarintOps* ops : {&Varints(), &PortableVarints()}) {
      std::vector<uint64_t> values(count);
      std::string_view left = bytes;
      REQUIRE(TakeNumbers(count, &left, values.data(), *ops) == whole);
      if (whole) REQUIRE((values == wanted && left == one_by_one));
    }
  }
}

TEST_CASE("Varints are counted and skipped by their last bytes") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const std::string bytes = Numbers(random() % 400, random);
    const auto ends = static_cast<size_t>(std::count_if(
        bytes.begin(), bytes.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; }));
    CHECK(CountNumbers(bytes) == ends);
    for (const VarintOps* ops : {&Varints(), &PortableVarints()}) {
      const size_t some = bytes.size() / VarintOps::kAtOnce * VarintOps::kAtOnce;
      CHECK(ops->count(bytes.data(), some) ==
            CountNumbers(std::string_view(bytes).substr(0, some)));
    }
    const size_t skipped = random() % (ends + 1);
    std::string_view left = bytes;
    SkipNumbers(skipped, &left);
    const std::string_view over = std::string_view(bytes).substr(0, bytes.size() - left.size());
    CHECK(CountNumbers(over) == skipped);
    CHECK((over.empty() || static_cast<uint8_t>(over.back()) < 0x80));
  }
}

}  // namespace
}  // namespace acceltrace::stream
