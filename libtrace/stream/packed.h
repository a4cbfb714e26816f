// SPDX-License-Identifier: Apache-2.0
//
// Packets that are compressed (docs/stream.md). They are made of a trace that is finished
// (pack_trace.h): while events come nobody has the time.
#ifndef LIBTRACE_STREAM_PACKED_H_
#define LIBTRACE_STREAM_PACKED_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/block_columns.h"
#include "libtrace/stream/codec.h"
#include "libtrace/stream/result.h"

namespace acceltrace::stream {

// A body takes at most so many times the bytes of the packet that it is packed in, and some.
inline constexpr size_t kMostPacking = 8, kFreePackedBytes = 1024;

// Replaces the body of a packet that has a Packed one by what is packed in it, or by none if a
// newer version packed it.
Status Unpack(proto::Packet* packet);

// Rows of one table of one device. An empty column is zero in each row.
struct RowColumns {
  size_t rows = 0;
  std::array<std::vector<uint64_t>, BlockColumns::kKnown> columns;
};

class Packing {
 public:
  // columns: 1 to kMaxBlockRows rows. Sets all but table, device and stalls, which are set.
  bool Pack(const RowColumns& columns, proto::Block* block);
  // The packet with its body packed; false: there is nothing to gain.
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

#endif  // LIBTRACE_STREAM_PACKED_H_
