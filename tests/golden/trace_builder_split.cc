// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/trace_builder_split.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

namespace acceltrace::test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Copies rows [from, to) of a column with `each` values per row. Differences restart: *sum is that
// of all previous values.
void CopyRows(const Message& whole, const FieldDescriptor* field, int from, int to, int each,
              int64_t* sum, Message* part) {
  const Reflection* reflection = whole.GetReflection();
  const bool delta = field->name().find("_delta") != std::string::npos;
  for (int i = from * each; i < to * each; ++i) {
    const bool first = i == from * each;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64: {
        const int64_t value = reflection->GetRepeatedInt64(whole, field, i);
        *sum += value;
        reflection->AddInt64(part, field, delta && first ? *sum : value);
        break;
      }
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->AddInt32(part, field, reflection->GetRepeatedInt32(whole, field, i));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection->AddUInt64(part, field, reflection->GetRepeatedUInt64(whole, field, i));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection->AddUInt32(part, field, reflection->GetRepeatedUInt32(whole, field, i));
        break;
      default:
        std::abort();
    }
  }
}

// Splits the batch in `packet` into several packets; returns the packet itself if it is short.
std::vector<proto::Packet> SplitOne(const proto::Packet& packet, int most) {
  const Reflection* outer = packet.GetReflection();
  std::vector<const FieldDescriptor*> bodies;
  outer->ListFields(packet, &bodies);
  const FieldDescriptor* body = nullptr;
  for (const FieldDescriptor* field : bodies) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated())
      body = field;
  }
  if (body == nullptr) return {packet};
  const Message& whole = outer->GetMessage(packet, body);
  const Reflection* inner = whole.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  inner->ListFields(whole, &fields);
  int rows = INT_MAX;
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return {packet};
    rows = std::min(rows, inner->FieldSize(whole, field));
  }
  if (rows == INT_MAX || rows <= most) return {packet};
  std::vector<proto::Packet> parts;
  std::map<const FieldDescriptor*, int64_t> sums;
  for (int from = 0; from < rows; from += most) {
    proto::Packet part;
    Message* message = part.GetReflection()->MutableMessage(&part, body);
    for (const FieldDescriptor* field : fields) {
      if (field->is_repeated()) {
        CopyRows(whole, field, from, std::min(rows, from + most),
                 inner->FieldSize(whole, field) / rows, &sums[field], message);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
        message->GetReflection()->SetUInt32(message, field, inner->GetUInt32(whole, field));
      } else {
        return {packet};
      }
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::vector<proto::Packet> Split(const std::vector<proto::Packet>& packets, int rows) {
  std::vector<proto::Packet> parts;
  for (const proto::Packet& packet : packets) {
    for (proto::Packet& part : SplitOne(packet, rows)) parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace acceltrace::test
