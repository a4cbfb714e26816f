// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a serialised message in order. Internal.
#ifndef LIBTRACE_STREAM_WIRE_H_
#define LIBTRACE_STREAM_WIRE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace acceltrace::stream {

// Differs from ParseVarint() in that it accepts longer forms, as protobuf does.
inline bool TakeNumber(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (uint32_t shift = 0; shift < 70 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

struct WireField {
  uint64_t tag = 0;
  uint64_t value = 0;               // for a number
  std::string_view whole, content;  // with its tag; without it, for fields with a length
  uint64_t number() const { return tag >> 3; }
  bool is_number() const { return (tag & 7) == 0; }
  bool has_length() const { return (tag & 7) == 2; }
};

// Returns false if there is no valid field.
inline bool TakeField(std::string_view* bytes, WireField* field) {
  const char* const begin = bytes->data();
  uint64_t length = 0;
  if (!TakeNumber(bytes, &field->tag)) return false;
  field->content = {}, field->value = 0;
  switch (field->tag & 7) {
    case 0:
      if (!TakeNumber(bytes, &field->value)) return false;
      break;
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
  field->whole = {begin, static_cast<size_t>(bytes->data() - begin)};
  return true;
}

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_WIRE_H_
