// SPDX-License-Identifier: Apache-2.0
//
// Packs columns into a block (docs/stream.md), eight values at a time.
//
// Each column is in an array with room for RoundToLanes(rows) values; what lies behind the
// last row is overwritten. The columns are written in the order of the calls.
#ifndef LIBTRACE_STREAM_BLOCK_WRITER_H_
#define LIBTRACE_STREAM_BLOCK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

class BlockWriter {
 public:
  // Buffers of the largest block; used again for the next.
  BlockWriter();

  // rows: 1 to kMaxBlockRows. block: empty, outlives the calls up to Finish.
  void Begin(proto::Block* block, size_t rows);

  // Values near each other, or mostly zero.
  void Narrow(proto::Block::Column column, uint32_t* values);
  void Wide(proto::Block::Column column, uint64_t* values);
  // Some bits of each value; `part` is room for them.
  void Part(proto::Block::Column column, const uint32_t* values, uint32_t shift, uint32_t mask,
            uint32_t* part);
  // Values near the row before.
  void Delta(proto::Block::Column column, uint64_t* values);
  // The rows' numbers are 32 bits wide: differences are too.
  void DeltaNarrow(proto::Block::Column column, uint32_t* values);
  // Values near those of an earlier column: differences are given.
  void Reference(proto::Block::Column column, uint64_t* differences, proto::Block::Column to);

  // The smallest and the largest value of the column last written, as it was given; of Delta
  // the differences. lowest() > highest() when they lie on both sides of 2^64.
  uint64_t lowest() const { return lowest_; }
  uint64_t highest() const { return highest_; }

  void Finish();

 private:
  void Describe(proto::Block::Column column, uint32_t width, uint32_t mode, uint64_t base);
  void Spread(proto::Block::Column column, uint64_t* values, uint32_t mode);
  void PutDeltas(proto::Block::Column column, uint64_t first);
  void PackWide(proto::Block::Column column, const uint64_t* values, uint32_t mode);
  bool Sparse(proto::Block::Column column, const uint32_t* values, uint32_t highest,
              uint32_t width);
  void Put(const uint32_t* values, size_t count, uint32_t width, uint32_t base);

  proto::Block* block_ = nullptr;
  size_t rows_ = 0;
  std::vector<uint32_t> out_, scratch_;
  size_t words_ = 0;  // of out_
  uint64_t lowest_ = 0, highest_ = 0;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BLOCK_WRITER_H_
