// SPDX-License-Identifier: Apache-2.0
#include "libtrace/control/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <vector>

#include "libtrace/base/utf8.h"

namespace acceltrace::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Returns the first line of protobuf's error, since further lines may quote the input. Names in it
// may be long; the end of the line is more informative than its middle.
std::string Shortened(std::string text) {
  constexpr size_t kMaxBytes = 200, kEndBytes = 80;
  text = text.substr(0, text.find('\n'));
  if (text.starts_with(": ")) text.erase(0, 2);  // the whole message, which has no name
  if (text.size() <= kMaxBytes) return text;
  return text.substr(0, kMaxBytes - kEndBytes) + "..." + text.substr(text.size() - kEndBytes);
}

Status RefuseNul(const Message& message) {
  std::vector<const FieldDescriptor*> members;
  const auto& reflection = *message.GetReflection();
  reflection.ListFields(message, &members);
  for (const FieldDescriptor* member : members) {
    if (member->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
    const int count = member->is_repeated() ? reflection.FieldSize(message, member) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string text = member->is_repeated()
                                   ? reflection.GetRepeatedString(message, member, i)
                                   : reflection.GetString(message, member);
      if (text.find('\0') == std::string::npos) continue;
      return Status::Error("'" + member->name() + "' has a NUL in it");
    }
  }
  return {};
}

}  // namespace

std::string ToJson(const Message& message) {
  const std::unique_ptr<Message> copy(message.New());
  copy->CopyFrom(message);
  ReplaceInvalidUtf8(copy.get());
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(*copy, &text, options);
  return text;
}

Status FromJson(std::string_view text, UnknownMembers unknown, Message* message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = unknown == UnknownMembers::kIgnored;
  const auto parsed =
      google::protobuf::util::JsonStringToMessage({text.data(), text.size()}, message, options);
  if (!parsed.ok()) return Status::Error(Shortened(std::string(parsed.message())));
  return RefuseNul(*message);
}

}  // namespace acceltrace::control
