// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/block_writer.h"

#include <algorithm>
#include <bit>
#include <string>

#include "libtrace/stream/bytes/lanes.h"
#include "libtrace/stream/bytes/pack.h"
#include "libtrace/stream/columns/block.h"

namespace acceltrace::stream {
namespace {

using proto::Block;

constexpr uint64_t kBias = uint64_t{1} << 31;  // as in LaneOps
// Values are only packed sparsely if that saves this much for a row.
constexpr size_t kSparseGainBits = 4;
// Larger memcpy calls may use an instruction that some emulators execute byte by byte.
constexpr size_t kCopyBytes = 1024;

static_assert(std::endian::native == std::endian::little, "words are written as they are");

}  // namespace

BlockWriter::BlockWriter() : out_(4096), scratch_(RoundToLanes(kMaxBlockRows)) {}

void BlockWriter::Begin(Block* block, size_t rows) {
  block_ = block;
  rows_ = std::min(rows, kMaxBlockRows);
  words_ = 0;
  block->set_rows(static_cast<uint32_t>(rows_));
}

void BlockWriter::Describe(Block::Column column, uint32_t width, uint32_t mode, uint64_t base) {
  block_->add_column(column);
  block_->add_width(width);
  block_->add_mode(mode);
  block_->add_base(base);
}

void BlockWriter::Put(const uint32_t* values, size_t count, uint32_t width, uint32_t base) {
  if (width == 0) return;
  const size_t most = words_ + PackedBytes(count, width) / sizeof(uint32_t);
  if (most > out_.size()) out_.resize(2 * most);
  words_ += Lanes().pack(values, RoundToLanes(count) / kLanes, width, base, out_.data() + words_);
}

// For columns in which most values are zero, and a few others prevent a narrow width.
bool BlockWriter::Sparse(Block::Column column, const uint32_t* values, uint32_t highest,
                         uint32_t width) {
  const size_t groups = RoundToLanes(rows_) / kLanes;
  const size_t some = Lanes().count(values, groups);
  if (width <= kSparseGainBits || some * width + kSparseGainBits * rows_ > rows_ * (width - 1)) {
    return false;
  }
  const size_t most = words_ + PackedBytes(rows_, 1) / sizeof(uint32_t);
  if (most > out_.size()) out_.resize(2 * most);
  words_ += Lanes().bits(values, groups, out_.data() + words_);
  size_t taken = 0;
  ACCELTRACE_UNROLL
  for (size_t row = 0; row < rows_; ++row) {
    scratch_[taken] = values[row];
    taken += values[row] != 0;
  }
  std::fill(scratch_.begin() + static_cast<ptrdiff_t>(taken),
            scratch_.begin() + static_cast<ptrdiff_t>(RoundToLanes(taken)), 0);
  width = static_cast<uint32_t>(std::bit_width(highest));
  Describe(column, width, Block::MODE_SPARSE, 0);
  if (taken > 0) Put(scratch_.data(), taken, width, 0);
  return true;
}

void BlockWriter::Narrow(Block::Column column, uint32_t* values) {
  // Padding repeats the last row so that it does not change the range.
  std::fill(values + rows_, values + RoundToLanes(rows_), values[rows_ - 1]);
  uint32_t lowest, highest;
  Lanes().range(values, RoundToLanes(rows_) / kLanes, &lowest, &highest);
  lowest_ = lowest;
  highest_ = highest;
  if (highest == 0) return;
  const auto width = static_cast<uint32_t>(std::bit_width(highest - lowest));
  if (lowest == 0) {
    std::fill(values + rows_, values + RoundToLanes(rows_), 0);
    if (Sparse(column, values, highest, width)) return;
  }
  Describe(column, width, Block::MODE_OFFSET, lowest);
  std::fill(values + rows_, values + RoundToLanes(rows_), lowest);
  Put(values, rows_, width, lowest);
}

void BlockWriter::Part(Block::Column column, const uint32_t* values, uint32_t shift, uint32_t mask,
                       uint32_t* part) {
  Lanes().part(values, RoundToLanes(rows_) / kLanes, shift, mask, part);
  Narrow(column, part);
}

void BlockWriter::PackWide(Block::Column column, const uint64_t* values, uint32_t mode) {
  std::vector<uint64_t> offsets(rows_);
  uint64_t base = 0;
  if (mode == Block::MODE_DELTA) {
    uint64_t before = values[0];
    block_->add_start(before);
    for (size_t row = 0; row < rows_; ++row) {
      offsets[row] = values[row] - before;
      before = values[row];
    }
  } else {
    base = *std::min_element(values, values + rows_);
    std::transform(values, values + rows_, offsets.begin(), [=](uint64_t v) { return v - base; });
  }
  const auto width =
      static_cast<uint32_t>(std::bit_width(*std::max_element(offsets.begin(), offsets.end())));
  std::string packed;
  Pack(offsets.data(), rows_, width, &packed);
  const size_t most = words_ + packed.size() / sizeof(uint32_t);
  if (most > out_.size()) out_.resize(2 * most);
  packed.copy(reinterpret_cast<char*>(out_.data() + words_), packed.size());
  words_ = most;
  Describe(column, width, mode, base);
}

// Writes scratch_, which is biased; the first row's value may be chosen freely.
void BlockWriter::PutDeltas(Block::Column column, uint64_t first) {
  if (rows_ > 1) scratch_[0] = scratch_[1];
  std::fill(scratch_.begin() + static_cast<ptrdiff_t>(rows_),
            scratch_.begin() + static_cast<ptrdiff_t>(RoundToLanes(rows_)), scratch_[rows_ - 1]);
  uint32_t lowest, highest;
  Lanes().range(scratch_.data(), RoundToLanes(rows_) / kLanes, &lowest, &highest);
  const uint64_t base = uint64_t{lowest} - kBias;
  lowest_ = base;
  highest_ = uint64_t{highest} - kBias;
  const auto width = static_cast<uint32_t>(std::bit_width(highest - lowest));
  Describe(column, width, Block::MODE_DELTA, base);
  block_->add_start(first - base - (scratch_[0] - lowest));
  Put(scratch_.data(), rows_, width, lowest);
}

void BlockWriter::Spread(Block::Column column, uint64_t* values, uint32_t mode) {
  std::fill(values + rows_, values + RoundToLanes(rows_), values[rows_ - 1]);
  const size_t groups = RoundToLanes(rows_) / kLanes;
  const bool delta = mode == Block::MODE_DELTA;
  const uint64_t about = delta ? 0 : values[0];
  const bool fits = delta ? Lanes().deltas(values, groups, scratch_.data())
                          : Lanes().offsets(values, groups, about, scratch_.data());
  if (!fits) {
    const auto [low, high] = std::minmax_element(values, values + rows_);
    lowest_ = *low;
    highest_ = *high;
    PackWide(column, values, mode);
    return;
  }
  if (delta) {
    PutDeltas(column, values[0]);
    return;
  }
  std::fill(scratch_.begin() + static_cast<ptrdiff_t>(rows_),
            scratch_.begin() + static_cast<ptrdiff_t>(RoundToLanes(rows_)), scratch_[rows_ - 1]);
  uint32_t lowest, highest;
  Lanes().range(scratch_.data(), groups, &lowest, &highest);
  const uint64_t base = about + lowest - kBias;
  lowest_ = base;
  highest_ = about + highest - kBias;
  if (lowest == highest && base == 0) return;
  const auto width = static_cast<uint32_t>(std::bit_width(highest - lowest));
  Describe(column, width, mode, base);
  Put(scratch_.data(), rows_, width, lowest);
}

void BlockWriter::Wide(Block::Column column, uint64_t* values) {
  Spread(column, values, Block::MODE_OFFSET);
}

void BlockWriter::Delta(Block::Column column, uint64_t* values) {
  Spread(column, values, Block::MODE_DELTA);
}

// A reader's sums are 64 bits wide, so it could not restore differences that wrapped.
void BlockWriter::DeltaNarrow(Block::Column column, uint32_t* values) {
  const size_t groups = RoundToLanes(rows_) / kLanes;
  std::fill(values + rows_, values + RoundToLanes(rows_), values[rows_ - 1]);
  uint32_t low, high;
  Lanes().range(values, groups, &low, &high);
  if (high - low >= kBias) {
    Narrow(column, values);
    return;
  }
  Lanes().deltas32(values, groups, scratch_.data());
  PutDeltas(column, values[0]);
  lowest_ = low;
  highest_ = high;
}

void BlockWriter::Reference(Block::Column column, uint64_t* differences, Block::Column to) {
  const int before = block_->column_size();
  Spread(column, differences, Block::MODE_REFERENCE);
  // A constant column must be described as well, since absent means zero.
  if (block_->column_size() == before) Describe(column, 0, Block::MODE_REFERENCE, 0);
  block_->add_reference(to);
}

void BlockWriter::Finish() {
  const size_t bytes = words_ * sizeof(uint32_t);
  std::string* data = block_->mutable_data();
  const size_t least = LeastBlockBytes(block_->table(), rows_);
  data->reserve(std::max(bytes, least));
  for (size_t at = 0; at < bytes; at += kCopyBytes) {
    data->append(reinterpret_cast<const char*>(out_.data()) + at, std::min(kCopyBytes, bytes - at));
  }
  // Readers limit their allocations by this size.
  if (data->size() < least) data->resize(least);
}

}  // namespace acceltrace::stream
