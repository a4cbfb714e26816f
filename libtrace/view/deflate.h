// SPDX-License-Identifier: Apache-2.0
//
// Bytes by deflate, in zlib's format (RFC 1950 and 1951). Internal.
//
// For packets of events, which repeat each other almost: each place is looked up twice, by the
// eight bytes there and by four of them, a match is taken as it is found, and all of the input has
// one set of codes. That takes half of the time that zlib's quickest level takes, for about the
// same size.
#ifndef LIBTRACE_VIEW_DEFLATE_H_
#define LIBTRACE_VIEW_DEFLATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace acceltrace::view {

class Deflater {
 public:
  static constexpr size_t kMostBytes = 1 << 20;

  Deflater();

  // At most kMostBytes; they are good until the next call.
  std::string_view Pack(std::string_view bytes);

 private:
  static constexpr int kHashBits = 15;
  static constexpr size_t kLiterals = 286, kDistances = 30;

  struct Bits;

  // A literal, or (length << 15) + distance - 1; they are counted by their codes.
  void FindTokens(std::string_view bytes);
  uint32_t* PlaceOf(uint32_t four);
  uint32_t* PlaceOf(uint64_t eight);
  void AddMatch(size_t length, size_t distance);
  char* Write(char* out);
  void WriteTokens(const uint8_t* lengths, const uint16_t* literals, const uint16_t* distances,
                   Bits* to) const;

  // Where the input had these bytes last, from base_ on; what is below is of an input before.
  std::vector<uint32_t> places_, places_of_eight_;
  uint32_t base_ = 1;
  std::vector<uint32_t> tokens_;
  size_t num_tokens_ = 0;
  std::array<uint32_t, kLiterals> literals_;
  std::array<uint32_t, kDistances> distances_;
  std::unique_ptr<char[]> out_;
  size_t room_ = 0;
};

namespace internal {
// How many bits the code of each symbol takes, at most `limit`, that occurs so often; 0: it has
// none. Two symbols at least have one. Exposed for its test.
void CodeLengths(const uint32_t* counts, size_t symbols, int limit, uint8_t* lengths);
}  // namespace internal

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_DEFLATE_H_
