// SPDX-License-Identifier: Apache-2.0
//
// Converts packets to rows of commands, device jobs, host events and API calls. Internal.
#ifndef LIBTRACE_STREAM_COLUMNS_ROW_DECODER_H_
#define LIBTRACE_STREAM_COLUMNS_ROW_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/block_columns.h"
#include "libtrace/stream/columns/host_events.h"
#include "libtrace/stream/columns/table_rows.h"

namespace acceltrace::stream {

class RowDecoder {
 public:
  // Returns true if the body of the packet is rows of one of these tables: a block, packed or not,
  // or a batch. Earlier versions wrote batches for all of the tables, this one only for host
  // events.
  static bool Knows(const proto::Packet& packet);

  // From the next block on, only decodes these columns, by their numbers in blocks, and those that
  // they refer to. Host jobs and waits need all of their columns.
  void Only(std::vector<int> columns) { block_.Only(std::move(columns)); }

  // Checks and decodes the rows. A block in *packet becomes an empty batch with its device; a batch
  // stays. worth_bytes: the size of the packet that limits its number of rows (kPackedWorth).
  Status Decode(size_t worth_bytes, proto::Packet* packet);
  // The rows of the last packet, valid until the next one.
  const TableRows& rows() const { return rows_; }
  // The number of rows it was written with: a row of host jobs is up to five events.
  uint64_t written_rows() const { return written_rows_; }

 private:
  Status DecodeBlock(proto::Packet* packet);
  Status DecodeBatch(size_t worth_bytes, const proto::Packet& packet);
  std::vector<uint64_t>& NextWide();
  Status SetStalls(const std::vector<uint64_t>& by_row);
  Status Check(uint32_t body) const;

  BlockColumns block_;
  HostEventRows host_;
  TableRows rows_;
  uint64_t written_rows_ = 0;
  // Columns of a batch, whose memory is reused for the next one.
  std::deque<std::vector<uint64_t>> wide_;
  size_t wides_ = 0;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_ROW_DECODER_H_
