// SPDX-License-Identifier: Apache-2.0
//
// Converts the rows of a packet to a batch, which is easier for tests and their tools to inspect
// than the rows that the product reads.
#ifndef LIBTRACE_STREAM_FILE_TEST_BATCHES_H_
#define LIBTRACE_STREAM_FILE_TEST_BATCHES_H_

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <cstdint>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/packet_decoder.h"
#include "libtrace/stream/columns/table_columns.h"
#include "libtrace/stream/columns/table_rows.h"
#include "libtrace/stream/file/reader.h"

namespace acceltrace::stream {

// Adds the rows of a packet to its batch, which already has the columns that came in a batch.
inline void FillBatch(const TableRows* rows, proto::Packet* packet) {
  using google::protobuf::FieldDescriptor;
  if (rows == nullptr) return;
  google::protobuf::Message& batch = *MutableBody(packet);
  const google::protobuf::Reflection& reflection = *batch.GetReflection();
  for (const TableColumn& column : TableColumnsOf(static_cast<uint32_t>(packet->body_case()))) {
    const FieldDescriptor* const field = column.field;
    if (field == nullptr || reflection.FieldSize(batch, field) > 0) continue;
    if (!column.by_cause && !rows->has(column.column)) continue;
    uint64_t before = 0;
    for (size_t row = 0; row < rows->rows(); ++row) {
      for (size_t s = 0; column.by_cause && s < rows->stalls(); ++s) {
        const int stall = column.column + static_cast<int>(s);
        reflection.AddUInt64(&batch, field, rows->of(stall)[row]);
      }
      if (column.by_cause) continue;
      const uint64_t value = rows->of(column.column)[row];
      if (column.deltas) {
        reflection.AddInt64(&batch, field, static_cast<int64_t>(value - before));
        before = value;
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
        reflection.AddUInt32(&batch, field, static_cast<uint32_t>(value));
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
        reflection.AddInt32(&batch, field, static_cast<int32_t>(value));
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
        reflection.AddInt64(&batch, field, static_cast<int64_t>(value));
      } else {
        reflection.AddUInt64(&batch, field, value);
      }
    }
  }
}

// Like Reader::Read(), with the rows in the packet's batch.
inline Reader::Next ReadBatch(Reader* reader, proto::Packet* packet) {
  const Reader::Next next = reader->Read(packet);
  if (next == Reader::Next::kPacket) FillBatch(reader->columns(), packet);
  return next;
}

// Converts a block or a packed packet to its batch. worth_bytes: as for PacketDecoder.
inline Status ToBatch(proto::Packet* packet, size_t worth_bytes = size_t{1} << 30) {
  PacketDecoder decoder;
  const Status status = decoder.Decode(worth_bytes, packet);
  if (status.ok()) FillBatch(decoder.rows(), packet);
  return status;
}

inline Status UnpackBlock(const proto::Block& block, proto::Packet* batch,
                          size_t worth_bytes = size_t{1} << 30) {
  *batch->mutable_block() = block;
  return ToBatch(batch, worth_bytes);
}

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_FILE_TEST_BATCHES_H_
