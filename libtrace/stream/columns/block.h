// SPDX-License-Identifier: Apache-2.0
//
// Blocks: rows of a table as packed columns (docs/stream.md).
//
// block_columns.h and row_decoder.h are the reader's half, block_writer.h is the writer's.
#ifndef LIBTRACE_STREAM_COLUMNS_BLOCK_H_
#define LIBTRACE_STREAM_COLUMNS_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

inline constexpr size_t kMaxBlockRows = size_t{1} << 14;
inline constexpr int kMaxBlockColumns = 96;

// Returns the body of the batches that blocks of this table replace, or BODY_NOT_SET if the table
// is not known.
proto::Packet::BodyCase BatchOf(uint32_t table);

// Returns the least number of data bytes for `rows` rows. It bounds what a reader allocates by what
// it has read.
size_t LeastBlockBytes(uint32_t table, size_t rows);

// Returns the same for a packed block, including its filling. Compression may reduce rows to a
// third of this size.
size_t LeastPackedBytes(uint32_t table, size_t rows);
inline constexpr size_t kPackedWorth = 3;

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_BLOCK_H_
