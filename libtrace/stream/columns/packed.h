// SPDX-License-Identifier: Apache-2.0
//
// Compressed packets (docs/stream.md). They are made from a finished trace (pack_trace.h), because
// compression would take too much time during recording.
#ifndef LIBTRACE_STREAM_COLUMNS_PACKED_H_
#define LIBTRACE_STREAM_COLUMNS_PACKED_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/bytes/codec.h"
#include "libtrace/stream/columns/block_columns.h"

namespace acceltrace::stream {

// A body is at most this many times larger than the packet that it is packed in, plus some bytes.
inline constexpr size_t kMostPacking = 8, kFreePackedBytes = 1024;

// Replaces the Packed body of a packet by the body that is packed in it, or by none if a newer
// version packed it. Does nothing for other packets.
Status Unpack(proto::Packet* packet);

// Rows of one table of one device. Each row of an empty column is zero.
struct RowColumns {
  size_t rows = 0;
  std::array<std::vector<uint64_t>, BlockColumns::kKnown> columns;
};

class Packing {
 public:
  // columns: 1 to kMaxBlockRows rows. Sets all of *block except for table, device and stalls, which
  // the caller has set.
  bool Pack(const RowColumns& columns, proto::Block* block);
  // Packs the body of the packet. Returns false if that would save nothing.
  bool Pack(const proto::Packet& from, proto::Packet* packed);

 private:
  struct Choice {
    uint32_t mode = 0, reference = 0, width = 0;
    uint64_t base = 0, start = 0;
    size_t cost = 0;
    std::string planes;
  };
  void Try(uint32_t mode, uint32_t reference, std::vector<uint64_t> differences, uint64_t first,
           Choice* best);
  void PackColumn(const RowColumns& columns, int column, proto::Block* block);

  Compressor compressor_;
  std::string planes_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_PACKED_H_
