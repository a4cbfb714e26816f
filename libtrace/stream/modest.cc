// SPDX-License-Identifier: Apache-2.0
//
// Estimates the memory for parsing a packet by walking over its fields.
#include <algorithm>

#include "libtrace/stream/validate.h"
#include "libtrace/stream/wire.h"

namespace acceltrace::stream {
namespace {

// Each varint ends with a byte below 0x80.
size_t CountVarints(std::string_view bytes) {
  return static_cast<size_t>(std::count_if(
      bytes.begin(), bytes.end(), [](char byte) { return static_cast<uint8_t>(byte) < 0x80; }));
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
