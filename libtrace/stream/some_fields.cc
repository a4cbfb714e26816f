// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/some_fields.h"

#include <algorithm>

#include "libtrace/stream/framing.h"

namespace acceltrace::stream {
namespace {

constexpr uint64_t kLengthDelimited = 2;

bool Number(std::string_view* bytes, uint64_t* value) {
  // Not ParseVarint(): protobuf takes longer forms as well.
  *value = 0;
  for (uint32_t shift = 0; shift < 70 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

struct Field {
  uint64_t tag = 0;
  std::string_view whole, content;  // with its tag; of what has a length
  uint64_t number() const { return tag >> 3; }
  bool has_length() const { return (tag & 7) == kLengthDelimited; }
};

bool Next(std::string_view* bytes, Field* field) {
  const char* const begin = bytes->data();
  uint64_t value = 0;
  if (!Number(bytes, &field->tag)) return false;
  field->content = {};
  switch (field->tag & 7) {
    case 0:
      if (!Number(bytes, &value)) return false;
      value = 0;
      break;
    case 1:
      value = 8;
      break;
    case kLengthDelimited:
      if (!Number(bytes, &value)) return false;
      field->content = bytes->substr(0, value);
      break;
    case 5:
      value = 4;
      break;
    default:
      return false;
  }
  if (value > bytes->size()) return false;
  bytes->remove_prefix(value);
  field->whole = {begin, static_cast<size_t>(bytes->data() - begin)};
  return true;
}

}  // namespace

bool SomeFields(std::string_view packet, uint32_t body, const std::vector<uint32_t>& fields,
                std::string* out) {
  out->clear();
  std::vector<std::string_view> kept;
  for (Field outer; !packet.empty();) {
    if (!Next(&packet, &outer)) return false;
    if (outer.number() != body || !outer.has_length()) {
      out->append(outer.whole);
      continue;
    }
    kept.clear();
    size_t length = 0;
    std::string_view left = outer.content;
    for (Field inner; !left.empty();) {
      if (!Next(&left, &inner)) return false;
      const bool wanted = std::find(fields.begin(), fields.end(), inner.number()) != fields.end();
      if (!wanted && inner.has_length()) continue;
      kept.push_back(inner.whole), length += inner.whole.size();
    }
    out->reserve(out->size() + length + 64);
    AppendVarint(outer.tag, out);
    AppendVarint(length, out);
    for (const std::string_view field : kept) out->append(field);
  }
  return true;
}

}  // namespace acceltrace::stream
