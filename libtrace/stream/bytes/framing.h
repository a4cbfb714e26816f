// SPDX-License-Identifier: Apache-2.0
//
// The layout of a packet in the stream.
//
//   0a | length varint | 09 "ACCATRC1" | 10 sequence varint | body ... | fd ff ff ff 0f | crc32c
//   \_ tag of Trace.packet  \_ field sync   \_ field sequence             \_ field crc32c, fixed32
//
// length counts from the sync tag to the end of the checksum; the checksum covers the bytes from
// the sync tag up to its own tag. All of this is valid protobuf encoding; the fixed places allow a
// reader to find a packet again.
#ifndef LIBTRACE_STREAM_BYTES_FRAMING_H_
#define LIBTRACE_STREAM_BYTES_FRAMING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace acceltrace::stream {

inline constexpr uint64_t kSync = 0x31435254'41434341;
inline constexpr char kPacketTag = 0x0a;
// The encoded sync field: tag and value.
inline constexpr std::string_view kSyncField{
    "\x09"
    "ACCATRC1",
    9};
inline constexpr char kSequenceTag = 0x10;
inline constexpr std::string_view kCrcTag{"\xfd\xff\xff\xff\x0f", 5};
inline constexpr size_t kTrailerBytes = 9;  // checksum tag and value
inline constexpr size_t kMinPacketBytes = 9 + 2 + kTrailerBytes;
// Both sides refuse longer packets, which bounds what a reader must buffer.
inline constexpr size_t kMaxPacketBytes = size_t{16} << 20;
inline constexpr size_t kMaxLengthBytes = 4;  // varint of kMaxPacketBytes
inline constexpr size_t kMinFrameBytes = 2 + kMinPacketBytes;

inline void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

// Returns the number of bytes used, or 0 if the varint is longer than max_bytes, truncated, or not
// the shortest form of its value.
inline size_t ParseVarint(std::string_view bytes, size_t max_bytes, uint64_t* value) {
  uint64_t result = 0;
  for (size_t i = 0; i < bytes.size() && i < max_bytes; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (i == 9 && byte > 1) return 0;
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      if (byte == 0 && i > 0) return 0;
      *value = result;
      return i + 1;
    }
  }
  return 0;
}

struct Frame {
  enum class State {
    kWhole,     // the checksum is correct: packet and sequence are valid
    kNeedMore,  // valid so far, but total_bytes are needed to decide
    kBad,
  };
  State state = State::kBad;
  const char* reason = "malformed";  // for kBad: one of Gap::reason
  size_t total_bytes = 0;            // including tag and length
  uint64_t sequence = 0;
  std::string_view packet;  // the serialised Packet
  size_t summed_bytes = 0;  // number of bytes that were checksummed
};

// Parses a frame at the start of `bytes`.
Frame ParseFrame(std::string_view bytes);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BYTES_FRAMING_H_
