// SPDX-License-Identifier: Apache-2.0
#include "libtrace/base/utf8.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace acceltrace {

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
  // Overlong forms, surrogates, and characters beyond U+10FFFF.
  if ((at(0) == 0xe0 && at(1) < 0xa0) || (at(0) == 0xed && at(1) >= 0xa0) ||
      (at(0) == 0xf0 && at(1) < 0x90) || (at(0) == 0xf4 && at(1) >= 0x90)) {
    return 0;
  }
  return length;
}

char32_t NextCharacter(std::string_view text, size_t* at) {
  const std::string_view rest = text.substr(*at);
  const size_t length = Utf8CharBytes(rest);
  *at += std::max<size_t>(length, 1);
  if (length == 0) return kNoCharacter;
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<uint8_t>(rest[i])); };
  if (length == 1) return byte(0);
  char32_t code = byte(0) & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3f);
  return code;
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

std::string Printable(std::string_view text) {
  // Controls; direction marks, embeddings and isolates; ends of lines and paragraphs; annotations;
  // tags; and non-characters.
  constexpr std::pair<char32_t, char32_t> kUnsafe[] = {{0, 0x1f},
                                                       {0x7f, 0x9f},
                                                       {0x61c, 0x61c},
                                                       {0x200e, 0x200f},
                                                       {0x2028, 0x202e},
                                                       {0x2066, 0x206f},
                                                       {0xfff9, 0xfffb},
                                                       {0xfffe, 0xffff},
                                                       {0xfeff, 0xfeff},
                                                       {0xe0000, 0xe0fff},
                                                       {kNoCharacter, kNoCharacter}};
  std::string printable;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t code = NextCharacter(text, &at);
    const bool unsafe = std::any_of(
        std::begin(kUnsafe), std::end(kUnsafe),
        [code](const auto& range) { return code >= range.first && code <= range.second; });
    if (unsafe) {
      printable += '?';
    } else {
      printable += text.substr(begin, at - begin);
    }
  }
  return printable;
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

}  // namespace acceltrace
