// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/block_columns.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "libtrace/stream/block.h"
#include "libtrace/stream/codec.h"
#include "libtrace/stream/pack.h"

namespace acceltrace::stream {
namespace {

using proto::Block;

Status Bad(const char* what) { return Status::Error(std::string("invalid block: ") + what); }

constexpr size_t Planes(uint32_t width) { return (width + 7) / 8; }

// By table: the column of its times.
constexpr int kFirstColumns[] = {0,
                                 Block::COLUMN_FETCHED_TICKS,
                                 Block::COLUMN_DOORBELL_TICKS,
                                 Block::COLUMN_SUBMIT_NS,
                                 Block::COLUMN_WAIT_NS,
                                 Block::COLUMN_BEGIN_NS};
static_assert(std::size(kFirstColumns) == Block::Table_ARRAYSIZE);

}  // namespace

bool BlockColumns::Take(size_t bytes, std::string_view* taken) {
  if (bytes > data_.size()) return false;
  *taken = data_.substr(0, bytes);
  data_.remove_prefix(bytes);
  return true;
}

Status BlockColumns::Sparse(uint32_t width, uint64_t base, uint64_t* values) {
  std::string_view bits, packed;
  if (!Take(PackedBytes(rows_, 1), &bits)) return Bad("data too short");
  Unpack(bits, rows_, 1, values);
  std::vector<uint64_t> present(static_cast<size_t>(std::count(values, values + rows_, 1)));
  if (!Take(PackedBytes(present.size(), width), &packed)) return Bad("data too short");
  Unpack(packed, present.size(), width, present.data());
  auto next = present.begin();
  for (size_t row = 0; row < rows_; ++row) {
    if (values[row] != 0) values[row] = base + *next++;
  }
  return {};
}

// The numbers u of a column, `base` added to each.
Status BlockColumns::Numbers(uint32_t width, bool packed, uint64_t base, uint64_t* values) {
  std::string_view bytes;
  if (!Take(packed ? Planes(width) * rows_ : PackedBytes(rows_, width), &bytes)) {
    return Bad("data too short");
  }
  if (packed) {
    MergePlanes(bytes, rows_, base, values);
  } else {
    Unpack(bytes, rows_, width, values, base);
  }
  return {};
}

// Numbers to values. Sums wrap modulo 2^64: no input is undefined behaviour.
Status BlockColumns::Predicted(const Block& block, uint32_t mode, uint64_t base, uint64_t* values) {
  switch (mode) {
    case Block::MODE_OFFSET:
      for (size_t row = 0; row < rows_; ++row) values[row] += base;
      return {};
    case Block::MODE_DELTA: {
      if (starts_ >= block.start_size()) return Bad("differences without a start");
      uint64_t before = block.start(starts_++);
      for (size_t row = 0; row < rows_; ++row) before = values[row] += before + base;
      return {};
    }
    case Block::MODE_REFERENCE: {
      if (references_ >= block.reference_size()) return Bad("no reference is named");
      const uint32_t to = block.reference(references_++);
      if (to >= kKnown || !has(static_cast<int>(to))) return Bad("reference to no earlier column");
      for (size_t row = 0; row < rows_; ++row) values[row] += base + columns_[to][row];
      return {};
    }
    case Block::MODE_UNIT: {
      UnitEnds ends;
      for (size_t row = 0; row < rows_; ++row) {
        const uint64_t unit = At(Block::COLUMN_UNIT, row);
        const uint64_t fetched = At(Block::COLUMN_FETCHED_TICKS, row);
        if (unit >= UnitEnds::kUnits) return Bad("unit number too large");
        values[row] += base + ends.After(unit, fetched);
        ends.Set(unit, fetched + values[row] + At(Block::COLUMN_START_TICKS_AFTER, row) +
                           At(Block::COLUMN_END_TICKS_AFTER, row));
      }
      return {};
    }
    default:
      return Bad("unknown mode of a column");
  }
}

Status BlockColumns::DecodeTo(const Block& block, uint32_t width, uint32_t mode, uint64_t base,
                              bool packed, uint64_t* values) {
  if (mode == Block::MODE_SPARSE) return Sparse(width, base, values);
  // Nothing is left to add to numbers over a base.
  const bool whole = mode == Block::MODE_OFFSET && (packed || width <= 32);
  if (Status status = Numbers(width, packed, whole ? base : 0, values); !status.ok()) return status;
  return whole ? Status() : Predicted(block, mode, base, values);
}

Status BlockColumns::DecodeColumn(const Block& block, int at, bool packed) {
  const uint32_t column = block.column(at), width = block.width(at), mode = block.mode(at);
  const uint64_t base = block.base(at);
  if (width > 64) return Bad("values wider than 64 bits");
  const bool known = column != 0 && column < kKnown;
  if (known && has(static_cast<int>(column))) return Bad("a column twice");
  if (packed ? mode == Block::MODE_SPARSE : mode == Block::MODE_UNIT) {
    return Bad("unknown mode of a column");
  }
  // Not there yet: a column that refers to itself names no earlier one.
  Values& to = known ? columns_[column] : scratch_;
  if (to.room < rows_) {
    to.values.reset(new uint64_t[rows_]);
    to.room = rows_;
  }
  const Status status = DecodeTo(block, width, mode, base, packed, to.values.get());
  to.there = known && status.ok();
  return status;
}

Status BlockColumns::Describe(const Block& block) {
  rows_ = block.rows();
  starts_ = references_ = 0;
  for (Values& column : columns_) column.there = false;
  if (rows_ == 0 || rows_ > kMaxBlockRows) return Bad("impossible number of rows");
  const int columns = block.column_size();
  if (columns > kMaxBlockColumns || block.width_size() != columns || block.mode_size() != columns ||
      block.base_size() != columns) {
    return Bad("columns are not described");
  }
  Choose(block);
  return {};
}

void BlockColumns::Choose(const Block& block) {
  wanted_.fill(only_.empty());
  if (only_.empty()) return;
  for (const int column : only_) wanted_[static_cast<size_t>(column)] = true;
  if (block.table() < std::size(kFirstColumns)) {
    wanted_[static_cast<size_t>(kFirstColumns[block.table()])] = true;
  }
  // What a column is made of comes before it.
  int reference = static_cast<int>(
      std::count(block.mode().begin(), block.mode().end(), uint32_t{Block::MODE_REFERENCE}));
  for (int at = block.column_size(); at-- > 0;) {
    const uint32_t column = block.column(at), mode = block.mode(at);
    if (mode == Block::MODE_REFERENCE) --reference;
    if (column >= kKnown || !wanted_[column]) continue;
    if (mode == Block::MODE_REFERENCE && reference < block.reference_size() &&
        block.reference(reference) < kKnown) {
      wanted_[block.reference(reference)] = true;
    }
    if (mode != Block::MODE_UNIT) continue;
    for (const int part : {Block::COLUMN_UNIT, Block::COLUMN_FETCHED_TICKS,
                           Block::COLUMN_START_TICKS_AFTER, Block::COLUMN_END_TICKS_AFTER}) {
      wanted_[static_cast<size_t>(part)] = true;
    }
  }
}

// Over a column's bytes, and what else there is of it.
Status BlockColumns::Skip(const Block& block, int at, bool packed) {
  const uint32_t width = block.width(at), mode = block.mode(at);
  if (width > 64) return Bad("values wider than 64 bits");
  if (mode == Block::MODE_DELTA) ++starts_;
  if (mode == Block::MODE_REFERENCE) ++references_;
  std::string_view bytes;
  const bool there = Take(packed ? Planes(width) * rows_ : PackedBytes(rows_, width), &bytes);
  return there ? Status() : Bad("data too short");
}

Status BlockColumns::DecodeAll(const Block& block, bool packed) {
  for (int at = 0; at < block.column_size(); ++at) {
    const uint32_t column = block.column(at);
    // How long a sparse one is its bits say.
    const bool wanted = only_.empty() || (column < kKnown && wanted_[column]) ||
                        block.mode(at) == Block::MODE_SPARSE;
    const Status status = wanted ? DecodeColumn(block, at, packed) : Skip(block, at, packed);
    if (!status.ok()) return status;
  }
  return CheckTimes(block);
}

// Who asks for a part of the time goes by what a block says of itself.
Status BlockColumns::CheckTimes(const Block& block) const {
  if (block.first() == 0 && block.last() == 0) return {};  // it says nothing: PacketTimes
  if (block.table() == 0 || block.table() >= std::size(kFirstColumns)) return {};
  uint64_t first = 0, last = 0;
  if (const auto times = of(kFirstColumns[block.table()]); !times.empty()) {
    const auto [low, high] = std::minmax_element(times.begin(), times.end());
    first = *low, last = *high;
  }
  if (first != block.first() || last != block.last()) {
    return Bad("its first or last time is not in it");
  }
  return {};
}

Status BlockColumns::Decode(const Block& block) {
  if (Status status = Describe(block); !status.ok()) return status;
  data_ = block.data();
  if (data_.size() < LeastBlockBytes(block.table(), rows_)) {
    return Bad("more rows than its bytes can hold");
  }
  return DecodeAll(block, false);
}

Status BlockColumns::DecodePacked(const Block& block) {
  if (Status status = Describe(block); !status.ok()) return status;
  if (block.data().size() + block.filling().size() < LeastPackedBytes(block.table(), rows_)) {
    return Bad("more rows than its bytes can hold");
  }
  size_t bytes = 0;
  for (const uint32_t width : block.width()) {
    if (width > 64) return Bad("values wider than 64 bits");
    bytes += Planes(width) * rows_;
  }
  std::string planes;
  if (!Decompress(block.data(), bytes, &planes)) return Bad("data that do not decompress");
  data_ = planes;
  const Status status = DecodeAll(block, true);
  data_ = {};
  return status;
}

}  // namespace acceltrace::stream
