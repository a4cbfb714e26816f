// SPDX-License-Identifier: Apache-2.0
//
// Blocks to rows of a table, without a batch between them. Internal.
#ifndef LIBTRACE_STREAM_BLOCK_ROWS_H_
#define LIBTRACE_STREAM_BLOCK_ROWS_H_

#include <cstddef>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/block_columns.h"
#include "libtrace/stream/result.h"
#include "libtrace/stream/table_rows.h"

namespace acceltrace::stream {

class BlockRows {
 public:
  // Whether a packet is a block, packed or not, whose rows are those of its batch one by one. A
  // row of host tables is several.
  static bool Knows(const proto::Packet& packet);

  // The packet gets the batch that the block stands for, without its rows. Errors: as those of
  // UnpackBlock() and Validate(). worth: as many bytes as it counts for.
  Status Decode(size_t worth, proto::Packet* packet);
  // Of the last block, until the next.
  const TableRows& rows() const { return rows_; }

 private:
  BlockColumns columns_;
  TableRows rows_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BLOCK_ROWS_H_
