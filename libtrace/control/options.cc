// SPDX-License-Identifier: Apache-2.0
#include "libtrace/control/options.h"

#include <google/protobuf/descriptor.h>

#include <charconv>

#include "libtrace/control/recording.h"

namespace acceltrace::control {
namespace {

using google::protobuf::FieldDescriptor;

constexpr struct {
  std::string_view option;
  const char* member;
} kOptions[] = {
    {"--pid", "pids"},
    {"--system", "system"},
    {"--device", "devices"},
    {"--no-device", "no_device"},
    {"--probes", "probes"},
    {"--sources", "sources"},
    {"--stacks", "stacks"},
    {"--libaxl", "libraries"},
    {"--counter-period", "counter_period"},
    {"--overhead", "overhead"},
    {"--priority", "priority"},
    {"--cpu", "cpu"},
    {"--ring", "ring"},
    {"--trigger", "triggers"},
    {"--rotate-size", "rotate_size"},
    {"--rotate-time", "rotate_time"},
    {"--keep", "keep"},
};

const FieldDescriptor* Find(const char* member) {
  return proto::RecordRequest::descriptor()->FindFieldByName(member);
}

const FieldDescriptor* FindOption(std::string_view option) {
  for (const auto& each : kOptions) {
    if (each.option == option) return Find(each.member);
  }
  return nullptr;
}

}  // namespace

OptionKind KindOf(std::string_view option) {
  const FieldDescriptor* member = FindOption(option);
  if (member == nullptr) return OptionKind::kUnknown;
  if (member->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return OptionKind::kFlag;
  return member->is_repeated() ? OptionKind::kValues : OptionKind::kValue;
}

Status SetOption(std::string_view option, std::string_view value, proto::RecordRequest* request) {
  const FieldDescriptor* member = FindOption(option);
  const auto& reflection = *request->GetReflection();
  if (member->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    reflection.SetBool(request, member, true);
  } else if (member->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number == 0) {
      return Status::Error(std::string(option) + " " + std::string(value) + ": " +
                           (member->is_repeated() ? kNoPid : kNoFiles));
    }
    if (member->is_repeated()) {
      reflection.AddUInt32(request, member, number);
    } else {
      reflection.SetUInt32(request, member, number);
    }
  } else if (member->is_repeated()) {
    reflection.AddString(request, member, std::string(value));
  } else {
    reflection.SetString(request, member, std::string(value));
  }
  return {};
}

std::vector<std::string> Words(const proto::RecordRequest& request) {
  std::vector<std::string> words;
  const auto& reflection = *request.GetReflection();
  for (const auto& [option, name] : kOptions) {
    const FieldDescriptor* member = Find(name);
    const bool repeated = member->is_repeated();
    const int count = repeated ? reflection.FieldSize(request, member)
                               : static_cast<int>(reflection.HasField(request, member));
    for (int i = 0; i < count; ++i) {
      words.emplace_back(option);
      if (member->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
        words.push_back(std::to_string(repeated ? reflection.GetRepeatedUInt32(request, member, i)
                                                : reflection.GetUInt32(request, member)));
      } else if (member->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        words.push_back(repeated ? reflection.GetRepeatedString(request, member, i)
                                 : reflection.GetString(request, member));
      }
    }
  }
  if (request.command_size() > 0) words.emplace_back("--");
  words.insert(words.end(), request.command().begin(), request.command().end());
  return words;
}

}  // namespace acceltrace::control
