// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/staging.h"

#include <algorithm>
#include <cstring>

#include "libtrace/runtime/errors.h"
#include "libtrace/runtime/stream.h"

namespace acceltrace::runtime {
namespace {

CopyArgs Piece(const CopyArgs& args, uint64_t row, uint64_t rows, uint64_t column, uint64_t width) {
  CopyArgs piece = args;
  piece.dst = static_cast<char*>(args.dst) + row * args.dst_pitch + column;
  piece.src = static_cast<const char*>(args.src) + row * args.src_pitch + column;
  piece.rows = rows;
  piece.width = width;
  return piece;
}

}  // namespace

axlError_t Staging::Copy(Stream& stream, const CopyArgs& args, uint64_t correlation) {
  if (stream.InBatch())
    return Fail(axlErrorBatchState,
                "a batch takes only copies of host memory from axlHostAlloc or axlHostRegister");
  std::lock_guard lock(mutex_);
  if (args.width <= kChunkBytes) {
    const uint64_t rows_per_piece = kChunkBytes / args.width;
    for (uint64_t row = 0; row < args.rows; row += rows_per_piece) {
      const uint64_t rows = std::min(rows_per_piece, args.rows - row);
      if (axlError_t e = CopyPiece(stream, Piece(args, row, rows, 0, args.width), correlation))
        return e;
    }
    return axlSuccess;
  }
  for (uint64_t row = 0; row < args.rows; ++row) {
    for (uint64_t column = 0; column < args.width; column += kChunkBytes) {
      const uint64_t width = std::min<uint64_t>(kChunkBytes, args.width - column);
      if (axlError_t e = CopyPiece(stream, Piece(args, row, 1, column, width), correlation))
        return e;
    }
  }
  return axlSuccess;
}

axlError_t Staging::CopyPiece(Stream& stream, const CopyArgs& piece, uint64_t correlation) {
  Chunk& chunk = chunks_[next_++ % chunks_.size()];
  if (!chunk.memory) {
    if (axlError_t e = buffers_.AllocateHost(kChunkBytes, &chunk.memory)) return e;
  }
  if (chunk.context && !chunk.context->KnownComplete(chunk.queue, chunk.sequence)) {
    if (axlError_t e = chunk.context->Wait(chunk.queue, chunk.sequence, correlation,
                                           Context::kForever, nullptr))
      return e;
  }
  chunk.context = nullptr;
  const bool to_device = piece.kind == axlMemcpyHostToDevice;
  char* const memory = static_cast<char*>(chunk.memory);
  CopyArgs staged = piece;
  if (to_device) {
    for (uint64_t row = 0; row < piece.rows; ++row)
      std::memcpy(memory + row * piece.width,
                  static_cast<const char*>(piece.src) + row * piece.src_pitch, piece.width);
    staged.src = memory;
    staged.src_pitch = piece.width;
  } else {
    staged.dst = memory;
    staged.dst_pitch = piece.width;
  }
  axl_desc command;
  uint64_t sequence;
  if (axlError_t e = EncodeCopy(buffers_, nullptr, staged, &command, nullptr)) return e;
  if (axlError_t e = stream.Enqueue(command, correlation, &sequence)) return e;
  if (to_device) {
    chunk.context = &stream.context();
    chunk.queue = stream.queue();
    chunk.sequence = sequence;
    return axlSuccess;
  }
  if (axlError_t e = stream.Wait(stream.queue(), sequence, correlation, Context::kForever, nullptr))
    return e;
  for (uint64_t row = 0; row < piece.rows; ++row)
    std::memcpy(static_cast<char*>(piece.dst) + row * piece.dst_pitch, memory + row * piece.width,
                piece.width);
  return axlSuccess;
}

}  // namespace acceltrace::runtime
