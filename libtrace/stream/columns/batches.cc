// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/batches.h"

#include <google/protobuf/descriptor.h>

#include <set>

namespace acceltrace::stream {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

bool HasColumns(const Descriptor& message) {
  if (&message == proto::Block::descriptor()) return false;  // its columns are bytes
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (!field.is_repeated()) continue;
    return field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
           field.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
  }
  return false;
}

std::set<int> Batches() {
  std::set<int> batches;
  const auto* bodies = proto::Packet::descriptor()->FindOneofByName("body");
  for (int i = 0; i < bodies->field_count(); ++i) {
    if (HasColumns(*bodies->field(i)->message_type())) batches.insert(bodies->field(i)->number());
  }
  return batches;
}

}  // namespace

bool IsBatch(proto::Packet::BodyCase body) {
  static const std::set<int> batches = Batches();
  return batches.count(body) != 0;
}

}  // namespace acceltrace::stream
