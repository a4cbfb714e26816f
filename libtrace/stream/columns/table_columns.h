// SPDX-License-Identifier: Apache-2.0
//
// The columns of the four tables that are stored as blocks or as batches: commands, device jobs,
// host events and API calls. They follow from the schema, by the names of fields and of
// proto::Block::Column. Internal.
#ifndef LIBTRACE_STREAM_COLUMNS_TABLE_COLUMNS_H_
#define LIBTRACE_STREAM_COLUMNS_TABLE_COLUMNS_H_

#include <cstdint>
#include <span>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

struct TableColumn {
  int column = 0;         // number in TableRows
  bool narrow = false;    // has 32-bit values
  bool deltas = false;    // a batch stores its differences
  bool by_cause = false;  // the first of several, one for each stall cause
  const google::protobuf::FieldDescriptor* field = nullptr;  // in the batch
};

// Returns the columns by the numbers of the batch's fields; fields that are not columns have no
// descriptor. Returns an empty span if the batch with this number in proto::Packet is not one of
// the four tables.
std::span<const TableColumn> TableColumnsOf(uint32_t body);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_TABLE_COLUMNS_H_
