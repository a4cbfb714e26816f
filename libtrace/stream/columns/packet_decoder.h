// SPDX-License-Identifier: Apache-2.0
//
// Decodes the bytes of a packet to its message and its rows: unpacks them, checks them, and
// converts all versions of the format to one form. Internal.
#ifndef LIBTRACE_STREAM_COLUMNS_PACKET_DECODER_H_
#define LIBTRACE_STREAM_COLUMNS_PACKET_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/row_decoder.h"
#include "libtrace/stream/columns/table_rows.h"

namespace acceltrace::stream {

class PacketDecoder {
 public:
  // Returns false if the bytes are not a packet, or one that would take far more memory than its
  // size.
  static bool Parse(std::string_view bytes, proto::Packet* packet);
  // Returns the size that counts for a parsed packet of so many bytes when it limits the number of
  // rows.
  static size_t WorthOf(const proto::Packet& packet, size_t bytes);

  // Unpacks a parsed packet and checks what is in it. A packet of a kind that this version does not
  // know ends without a body.
  Status Decode(size_t worth_bytes, proto::Packet* packet);

  // Returns the rows of the last packet, which are valid until the next one, or nullptr if it has
  // none of the four tables that RowDecoder knows.
  const TableRows* rows() const { return has_rows_ ? &rows_.rows() : nullptr; }
  // The number of rows that the last packet was written with.
  uint64_t written_rows() const { return written_rows_; }
  void Only(std::vector<int> columns) { rows_.Only(std::move(columns)); }

 private:
  RowDecoder rows_;
  bool has_rows_ = false;
  uint64_t written_rows_ = 0;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_PACKET_DECODER_H_
