// SPDX-License-Identifier: Apache-2.0
//
// The columns of the four tables that come as blocks or as batches: commands, device jobs, host
// events and API calls. They follow from the schema, by the names of fields and of
// proto::Block::Column. Internal.
#ifndef LIBTRACE_STREAM_TABLE_COLUMNS_H_
#define LIBTRACE_STREAM_TABLE_COLUMNS_H_

#include <cstdint>
#include <span>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

struct TableColumn {
  int column = 0;         // its number in TableRows
  bool narrow = false;    // it has values of 32 bits
  bool deltas = false;    // a batch has differences of it
  bool by_cause = false;  // it is the first of several, one for each stall cause
  const google::protobuf::FieldDescriptor* field = nullptr;  // of the batch
};

// By the number of the field in the batch; a field that is no column has no descriptor. Empty if
// batches with this number in proto::Packet are none of the four tables.
std::span<const TableColumn> TableColumnsOf(uint32_t body);

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_TABLE_COLUMNS_H_
