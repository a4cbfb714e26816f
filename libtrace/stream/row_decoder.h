// SPDX-License-Identifier: Apache-2.0
//
// The one way from a packet to rows of commands, device jobs, host events and API calls. Internal.
#ifndef LIBTRACE_STREAM_ROW_DECODER_H_
#define LIBTRACE_STREAM_ROW_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/block_columns.h"
#include "libtrace/stream/host_events.h"
#include "libtrace/stream/result.h"
#include "libtrace/stream/table_rows.h"

namespace acceltrace::stream {

class RowDecoder {
 public:
  // Whether the packet's body is rows of such a table: a block, packed or not, or a batch, which
  // earlier versions wrote for each of the tables and which host events still come in.
  static bool Knows(const proto::Packet& packet);

  // From the next block on decodes no other columns than these, by their numbers in blocks, and
  // those that they refer to. Host jobs and waits need all of theirs.
  void Only(std::vector<int> columns) { block_.Only(std::move(columns)); }

  // Checks the rows and decodes them. A block in *packet becomes an empty batch with its device; a
  // batch stays. worth_bytes: what the packet counts for when its rows
  // are compared with its size (kPackedWorth).
  Status Decode(size_t worth_bytes, proto::Packet* packet);
  // The rows of the last packet, until the next.
  const TableRows& rows() const { return rows_; }
  // How many rows it was written with: a row of host jobs is up to five events.
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
  // The columns of a batch; they keep their memory for the next.
  std::deque<std::vector<uint64_t>> wide_;
  size_t wides_ = 0;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_ROW_DECODER_H_
