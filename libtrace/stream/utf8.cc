// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/utf8.h"

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <vector>

namespace acceltrace::stream {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void ReplaceInField(Message* message, const FieldDescriptor& field) {
  const auto& reflection = *message->GetReflection();
  const int count = field.is_repeated() ? reflection.FieldSize(*message, &field) : 1;
  for (int i = 0; i < count; ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      ReplaceInvalidUtf8(field.is_repeated() ? reflection.MutableRepeatedMessage(message, &field, i)
                                             : reflection.MutableMessage(message, &field));
      continue;
    }
    std::string scratch;
    const std::string& text =
        field.is_repeated() ? reflection.GetRepeatedStringReference(*message, &field, i, &scratch)
                            : reflection.GetStringReference(*message, &field, &scratch);
    if (IsUtf8(text)) continue;
    if (field.is_repeated()) {
      reflection.SetRepeatedString(message, &field, i, ToUtf8(text));
    } else {
      reflection.SetString(message, &field, ToUtf8(text));
    }
  }
}

}  // namespace

size_t Utf8CharBytes(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (at(0) < 0x80) return 1;
  const size_t length = at(0) >= 0xf0 ? 4 : at(0) >= 0xe0 ? 3 : 2;
  if (at(0) < 0xc2 || at(0) > 0xf4 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if ((at(0) == 0xe0 && at(1) < 0xa0) || (at(0) == 0xed && at(1) >= 0xa0) ||
      (at(0) == 0xf0 && at(1) < 0x90) || (at(0) == 0xf4 && at(1) >= 0x90)) {
    return 0;
  }
  return length;
}

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = Utf8CharBytes(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t length = Utf8CharBytes(bytes);
    if (length == 0) {
      text.push_back('?');
      bytes.remove_prefix(1);
    } else {
      text.append(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
  }
  return text;
}

void ReplaceInvalidUtf8(Message* message) {
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE ||
        field->type() == FieldDescriptor::TYPE_STRING) {  // not bytes
      ReplaceInField(message, *field);
    }
  }
}

}  // namespace acceltrace::stream
