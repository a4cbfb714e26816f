// SPDX-License-Identifier: Apache-2.0
//
// Estimates the memory for parsing a packet by walking over its fields.
#include <algorithm>

#include "libtrace/stream/columns/validate.h"

namespace acceltrace::stream {
namespace {

// Each varint ends with a byte below 0x80.
size_t CountVarints(std::string_view bytes) {
  return static_cast<size_t>(std::count_if(
      bytes.begin(), bytes.end(), [](char byte) { return static_cast<uint8_t>(byte) < 0x80; }));
}

// Differs from ParseVarint() in that it accepts longer forms, as protobuf does.
bool TakeNumber(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (uint32_t shift = 0; shift < 70 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// A field of a serialised message.
struct WireField {
  uint64_t tag = 0;
  std::string_view content;  // for fields with a length
  uint64_t number() const { return tag >> 3; }
  bool has_length() const { return (tag & 7) == 2; }
};

// Returns false if there is no valid field.
bool TakeField(std::string_view* bytes, WireField* field) {
  uint64_t length = 0, value = 0;
  if (!TakeNumber(bytes, &field->tag)) return false;
  field->content = {};
  switch (field->tag & 7) {
    case 0:
      return TakeNumber(bytes, &value);
    case 1:
      length = 8;
      break;
    case 2:
      if (!TakeNumber(bytes, &length)) return false;
      field->content = bytes->substr(0, length);
      break;
    case 5:
      length = 4;
      break;
    default:
      return false;
  }
  if (length > bytes->size()) return false;
  bytes->remove_prefix(length);
  return true;
}

}  // namespace

bool IsModest(std::string_view packet) {
  constexpr uint32_t kFirstBatch = proto::Packet::kApi;
  size_t parts = 0, values = 0;
  // Stops at the first invalid field, because the parser rejects the rest.
  for (WireField body; TakeField(&packet, &body);) {
    if (!body.has_length()) continue;
    // Batches hold columns, other bodies hold parts that are messages or strings.
    const auto number = static_cast<uint32_t>(body.number());
    const bool batch = number >= kFirstBatch && number != proto::Packet::kAccounts;
    std::string_view left = body.content;
    for (WireField field; TakeField(&left, &field);) {
      ++parts;
      if (field.has_length() && batch) values += CountVarints(field.content);
      if (parts > kMaxParts || values > kMaxValues) return false;
    }
  }
  return true;
}

}  // namespace acceltrace::stream
