// SPDX-License-Identifier: Apache-2.0
//
// Blocks: rows of a table as packed columns (docs/stream.md).
//
// block_columns.h and row_decoder.h are the reader's half, block_writer.h is the writer's.
#ifndef LIBTRACE_STREAM_BLOCK_H_
#define LIBTRACE_STREAM_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/result.h"

namespace acceltrace::stream {

inline constexpr size_t kMaxBlockRows = size_t{1} << 14;
inline constexpr int kMaxBlockColumns = 96;

// The body of the batches that blocks of this table stand for; BODY_NOT_SET if it is not known.
proto::Packet::BodyCase BatchOf(uint32_t table);

// The least bytes of data for `rows` rows: what a reader allocates is bounded by what it read.
size_t LeastBlockBytes(uint32_t table, size_t rows);

// The same of a packed block, its filling included: compressed rows may be worth a third.
size_t LeastPackedBytes(uint32_t table, size_t rows);
inline constexpr size_t kPackedWorth = 3;

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BLOCK_H_
