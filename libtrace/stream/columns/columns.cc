// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/columns.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/reflection.h>

#include <algorithm>

#include "libtrace/stream/columns/batches.h"

namespace acceltrace::stream {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

template <typename T>
bool IsZero(const Message& batch, const FieldDescriptor& column) {
  const auto values = batch.GetReflection()->GetRepeatedFieldRef<T>(batch, &column);
  for (int i = 0; i < values.size(); ++i) {
    if (values.Get(i) != 0) return false;
  }
  return true;
}

bool IsZero(const Message& batch, const FieldDescriptor& column) {
  switch (column.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return IsZero<int32_t>(batch, column);
    case FieldDescriptor::CPPTYPE_INT64:
      return IsZero<int64_t>(batch, column);
    case FieldDescriptor::CPPTYPE_UINT32:
      return IsZero<uint32_t>(batch, column);
    case FieldDescriptor::CPPTYPE_UINT64:
      return IsZero<uint64_t>(batch, column);
    default:
      return false;
  }
}

}  // namespace

size_t Rows(const proto::Packet& packet) {
  if (!IsBatch(packet.body_case())) return 0;
  const google::protobuf::Message& batch = *Body(packet);
  const auto& reflection = *batch.GetReflection();
  const auto& descriptor = *batch.GetDescriptor();
  int rows = 0;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *descriptor.field(i);
    if (field.is_repeated() && !IsRowMajor(field)) {
      rows = std::max(rows, reflection.FieldSize(batch, &field));
    }
  }
  return rows;
}

void DropZeroColumns(proto::Packet* packet) {
  if (!IsBatch(packet->body_case())) return;
  Message* batch = MutableBody(packet);
  const auto& descriptor = *batch->GetDescriptor();
  bool first = true;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& column = *descriptor.field(i);
    if (!column.is_repeated()) continue;
    // These determine the number of rows, and of the counters in each.
    const bool shape = (first && !IsRowMajor(column)) ||
                       &column == proto::CounterBatch::descriptor()->FindFieldByNumber(
                                      proto::CounterBatch::kCounterFieldNumber);
    first = first && IsRowMajor(column);
    if (!shape && IsZero(*batch, column)) batch->GetReflection()->ClearField(batch, &column);
  }
}

}  // namespace acceltrace::stream
