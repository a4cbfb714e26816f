// SPDX-License-Identifier: Apache-2.0
//
// What parsing a packet would cost, from a walk over its fields.
#include <cstring>

#include "libtrace/stream/validate.h"

namespace acceltrace::stream {
namespace {

// The fields of one message, as far as they are sound; the parser judges the rest.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : left_(bytes) {}

  bool Next() {
    uint64_t tag = 0;
    if (left_.empty() || !Varint(&tag)) return false;
    number = static_cast<uint32_t>(tag >> 3);
    content = {};
    packed = (tag & 7) == 2;
    uint64_t length = 0;
    switch (tag & 7) {
      case 0:
        return Varint(&length);
      case 1:
        length = 8;
        break;
      case 2:
        if (!Varint(&length)) return false;
        break;
      case 5:
        length = 4;
        break;
      default:
        return false;
    }
    if (length > left_.size()) return false;
    content = left_.substr(0, length);
    left_.remove_prefix(length);
    return true;
  }

  uint32_t number = 0;
  bool packed = false;  // or a string, or a message
  std::string_view content;

 private:
  bool Varint(uint64_t* value) {
    *value = 0;
    for (size_t i = 0; i < left_.size() && i < 10; ++i) {
      const auto byte = static_cast<uint8_t>(left_[i]);
      *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        left_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  std::string_view left_;
};

// A varint's last byte is below 0x80: eight of them at a time.
size_t Varints(std::string_view bytes) {
  constexpr uint64_t kLow = 0x0101'0101'0101'0101;
  size_t count = 0, at = 0;
  for (; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    count += ((~word >> 7 & kLow) * kLow) >> 56;
  }
  for (; at < bytes.size(); ++at) count += static_cast<uint8_t>(bytes[at]) < 0x80;
  return count;
}

}  // namespace

bool IsModest(std::string_view packet) {
  constexpr uint32_t kFirstBatch = proto::Packet::kApi;
  size_t parts = 0, values = 0;
  for (Fields body(packet); body.Next();) {
    if (!body.packed) continue;
    // Batches hold columns, other bodies parts that are messages or strings of their own.
    const bool batch = body.number >= kFirstBatch && body.number != proto::Packet::kAccounts;
    for (Fields field(body.content); field.Next();) {
      ++parts;
      if (field.packed && batch) values += Varints(field.content);
      if (parts > kMaxParts || values > kMaxValues) return false;
    }
  }
  return true;
}

}  // namespace acceltrace::stream
