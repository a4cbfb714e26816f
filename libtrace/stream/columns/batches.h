// SPDX-License-Identifier: Apache-2.0
//
// Tells which packets are batches of columns, and which message holds the columns. Internal.
#ifndef LIBTRACE_STREAM_COLUMNS_BATCHES_H_
#define LIBTRACE_STREAM_COLUMNS_BATCHES_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

// Returns the body message that is set, or nullptr if there is none or it is of a newer schema.
inline const google::protobuf::Message* Body(const proto::Packet& packet) {
  const auto* reflection = packet.GetReflection();
  const auto* oneof = proto::Packet::descriptor()->FindOneofByName("body");
  const auto* field = reflection->GetOneofFieldDescriptor(packet, oneof);
  return field == nullptr ? nullptr : &reflection->GetMessage(packet, field);
}

inline google::protobuf::Message* MutableBody(proto::Packet* packet) {
  const auto* reflection = packet->GetReflection();
  const auto* oneof = proto::Packet::descriptor()->FindOneofByName("body");
  const auto* field = reflection->GetOneofFieldDescriptor(*packet, oneof);
  return field == nullptr ? nullptr : reflection->MutableMessage(packet, field);
}

// Returns true for bodies that consist of columns, which the schema tells: the first repeated field
// has numbers.
bool IsBatch(proto::Packet::BodyCase body);

// Returns true for columns whose number of values differs from the number of rows of the batch.
inline bool IsRowMajor(const google::protobuf::FieldDescriptor& field) {
  const auto& message = *field.containing_type();
  if (&message == proto::CommandBatch::descriptor()) {
    return field.number() == proto::CommandBatch::kStallTicksFieldNumber;
  }
  if (&message == proto::CounterBatch::descriptor()) {
    return field.number() == proto::CounterBatch::kCounterFieldNumber ||
           field.number() == proto::CounterBatch::kValueDeltaFieldNumber;
  }
  if (&message == proto::OthersBatch::descriptor()) {
    return field.number() == proto::OthersBatch::kStallTicksFieldNumber;
  }
  return false;
}

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_BATCHES_H_
