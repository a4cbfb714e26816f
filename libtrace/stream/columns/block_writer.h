// SPDX-License-Identifier: Apache-2.0
//
// Packs columns into a block (docs/stream.md), eight values at a time.
//
// Each column is an array with capacity for RoundToLanes(rows) values; values after the last row
// are overwritten. The columns are written in the order of the calls.
#ifndef LIBTRACE_STREAM_COLUMNS_BLOCK_WRITER_H_
#define LIBTRACE_STREAM_COLUMNS_BLOCK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

class BlockWriter {
 public:
  // The buffers are sized for the largest block and reused for the next one.
  BlockWriter();

  // rows: 1 to kMaxBlockRows. block: must be empty and outlive the calls up to Finish.
  void Begin(proto::Block* block, size_t rows);

  // For values close to each other, or mostly zero.
  void Narrow(proto::Block::Column column, uint32_t* values);
  void Wide(proto::Block::Column column, uint64_t* values);
  // Writes some bits of each value; `part` is a buffer for them.
  void Part(proto::Block::Column column, const uint32_t* values, uint32_t shift, uint32_t mask,
            uint32_t* part);
  // For values close to those of the previous row.
  void Delta(proto::Block::Column column, uint64_t* values);
  // The same for 32-bit values, whose differences have 32 bits, too.
  void DeltaNarrow(proto::Block::Column column, uint32_t* values);
  // For values close to those of an earlier column, given as differences.
  void Reference(proto::Block::Column column, uint64_t* differences, proto::Block::Column to);

  // The smallest and the largest value of the last written column, as it was passed; for Delta,
  // those of the differences. lowest() > highest() if they are on both sides of 2^64.
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
  size_t words_ = 0;  // in out_
  uint64_t lowest_ = 0, highest_ = 0;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_BLOCK_WRITER_H_
