// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/block_columns.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "libtrace/stream/bytes/codec.h"
#include "libtrace/stream/bytes/column_values.h"
#include "libtrace/stream/bytes/lanes.h"
#include "libtrace/stream/bytes/pack.h"
#include "libtrace/stream/columns/block.h"

namespace acceltrace::stream {
namespace {

using proto::Block;

Status Bad(const char* what) { return Status::Error(std::string("invalid block: ") + what); }

constexpr size_t Planes(uint32_t width) { return (width + 7) / 8; }

// The column of the times, by table.
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

uint32_t* BlockColumns::Values::Narrow(size_t rows) {
  if (narrow_room < RoundToLanes(rows)) {
    narrow_room = RoundToLanes(rows);
    narrow = std::make_unique_for_overwrite<uint32_t[]>(narrow_room);
  }
  kind = Kind::kNarrow;
  return narrow.get();
}

uint64_t* BlockColumns::Values::Wide(size_t rows) {
  if (wide_room < rows) {
    wide_room = rows;
    wide = std::make_unique_for_overwrite<uint64_t[]>(wide_room);
  }
  kind = Kind::kWide;
  return wide.get();
}

uint64_t* BlockColumns::Values::Widened(size_t rows) {
  const BlockColumn before = View();
  uint64_t* const values = Wide(rows);
  if (before.wide == nullptr) before.Read(0, rows, values);
  return values;
}

void BlockColumns::Values::Add(size_t rows, uint64_t more) {
  base += more;
  for (size_t row = 0; kind == Kind::kWide && row < rows; ++row) wide[row] += more;
}

void BlockColumns::Values::Range(size_t rows, uint64_t* first, uint64_t* last) const {
  *first = *last = View()[0];
  if (kind == Kind::kConstant) return;
  if (kind == Kind::kNarrow && base + most >= base) {
    uint32_t low = narrow[0], high = low;
    const size_t groups = rows / kLanes;
    if (groups > 0) Lanes().range(narrow.get(), groups, &low, &high);
    for (size_t row = groups * kLanes; row < rows; ++row) {
      low = std::min(low, narrow[row]), high = std::max(high, narrow[row]);
    }
    *first = base + low, *last = base + high;
    return;
  }
  const BlockColumn values = View();
  for (size_t row = 0; row < rows; ++row) {
    *first = std::min(*first, values[row]), *last = std::max(*last, values[row]);
  }
}

template <typename T>
void BlockColumn::Read(size_t first, size_t rows, T* values) const {
  // Signed values have the bits of unsigned ones.
  using U = std::make_unsigned_t<T>;
  U* const to = reinterpret_cast<U*>(values);
  if (narrow != nullptr) {
    FromNumbers(reinterpret_cast<const uint8_t*>(narrow + first), rows, base, sizeof(*narrow), to);
  } else if (wide != nullptr && sizeof(T) == sizeof(*wide)) {
    std::copy_n(reinterpret_cast<const U*>(wide + first), rows, to);
  } else if (wide != nullptr) {
    ToNumbers(wide + first, rows, 0, sizeof(T), reinterpret_cast<uint8_t*>(to));
  } else {
    FillAll(to, rows, static_cast<U>(base));
  }
}
template void BlockColumn::Read(size_t, size_t, uint64_t*) const;
template void BlockColumn::Read(size_t, size_t, int64_t*) const;
template void BlockColumn::Read(size_t, size_t, uint32_t*) const;
template void BlockColumn::Read(size_t, size_t, int32_t*) const;
template void BlockColumn::Read(size_t, size_t, uint8_t*) const;

std::vector<uint64_t> BlockColumns::AllOf(int column) const {
  std::vector<uint64_t> values(has(column) ? rows_ : 0);
  of(column).Read(0, values.size(), values.data());
  return values;
}

Status BlockColumns::Sparse(uint32_t width, uint64_t base, Values* to) {
  std::string_view bits, packed;
  if (!Take(PackedBytes(rows_, 1), &bits)) return Bad("data too short");
  uint64_t* const values = to->Wide(rows_);
  Unpack(bits, rows_, 1, values);
  present_.resize(static_cast<size_t>(std::count(values, values + rows_, 1)));
  if (!Take(PackedBytes(present_.size(), width), &packed)) return Bad("data too short");
  Unpack(packed, present_.size(), width, present_.data());
  auto next = present_.begin();
  for (size_t row = 0; row < rows_; ++row) {
    if (values[row] != 0) values[row] = base + *next++;
  }
  return {};
}

// Reads the numbers of a column, which are over a base of 0.
Status BlockColumns::Numbers(uint32_t width, bool packed, Values* to) {
  std::string_view bytes;
  if (!Take(packed ? Planes(width) * rows_ : PackedBytes(rows_, width), &bytes)) {
    return Bad("data too short");
  }
  to->base = to->most = 0;
  if (width == 0) {
    to->kind = Values::Kind::kConstant;
  } else if (width > 32) {
    uint64_t* const values = to->Wide(rows_);
    packed ? MergePlanes(bytes, rows_, values) : Unpack(bytes, rows_, width, values);
  } else if (packed) {
    MergeNarrowPlanes(bytes, rows_, to->Narrow(rows_));
    to->most = ~uint64_t{0} >> (64 - 8 * Planes(width));
  } else {
    UnpackNarrow(bytes, rows_, width, to->Narrow(rows_));
    to->most = ~uint64_t{0} >> (64 - width);
  }
  return {};
}

// Sums up numbers, which are differences less `step`. Sums wrap modulo 2^64, so that no input
// causes undefined behaviour.
void BlockColumns::Sum(uint64_t start, uint64_t step, Values* to) const {
  const bool back = step >> 63 != 0;
  const uint64_t size = back ? 0 - step : step;
  if (to->kind == Values::Kind::kWide || (size | rows_ * (to->most + size)) >> 32 != 0) {
    uint64_t* const values = to->Widened(rows_);
    uint64_t before = start;
    for (size_t row = 0; row < rows_; ++row) before = values[row] += before + step;
    return;
  }
  if (to->kind == Values::Kind::kConstant) std::fill_n(to->Narrow(rows_), RoundToLanes(rows_), 0);
  // With negative steps, this keeps every sum above the base.
  const uint64_t below = back ? rows_ * size : 0;
  SumUp(to->Narrow(rows_), rows_, static_cast<uint32_t>(step), static_cast<uint32_t>(below));
  to->base = start - below;
  to->most = rows_ * (to->most + size);
}

// Adds the values of `from` to the numbers.
void BlockColumns::Refer(const Values& from, Values* to) const {
  using Kind = Values::Kind;
  const bool narrow =
      from.kind != Kind::kWide && to->kind != Kind::kWide && (from.most + to->most) >> 32 == 0;
  if (!narrow) {
    const BlockColumn other = from.View();
    uint64_t* const values = to->Widened(rows_);
    for (size_t row = 0; row < rows_; ++row) values[row] += other[row];
    return;
  }
  to->base += from.base, to->most += from.most;
  if (from.kind == Kind::kConstant) return;
  if (to->kind == Kind::kConstant) {
    std::copy_n(from.narrow.get(), rows_, to->Narrow(rows_));
  } else {
    AddTo(from.narrow.get(), rows_, to->Narrow(rows_));
  }
}

// Adds the time at which the unit became free to the numbers, which are relative to it.
Status BlockColumns::AfterUnits(Values* to) const {
  uint64_t* const values = to->Widened(rows_);
  const auto other = [&](int column) {
    return &columns_[column] == to ? BlockColumn() : of(column);
  };
  const BlockColumn units = other(Block::COLUMN_UNIT),
                    all_fetched = other(Block::COLUMN_FETCHED_TICKS);
  const BlockColumn starts = other(Block::COLUMN_START_TICKS_AFTER);
  const BlockColumn lengths = other(Block::COLUMN_END_TICKS_AFTER);
  UnitEnds ends;
  for (size_t row = 0; row < rows_; ++row) {
    const uint64_t unit = units[row], fetched = all_fetched[row];
    if (unit >= UnitEnds::kUnits) return Bad("unit number too large");
    values[row] += ends.After(unit, fetched);
    ends.Set(unit, fetched + values[row] + starts[row] + lengths[row]);
  }
  return {};
}

Status BlockColumns::Predicted(const Block& block, uint32_t mode, uint64_t base, Values* to) {
  switch (mode) {
    case Block::MODE_OFFSET:
      break;
    case Block::MODE_DELTA:
      if (starts_ >= block.start_size()) return Bad("differences without a start");
      Sum(block.start(starts_++), base, to);
      return {};
    case Block::MODE_REFERENCE: {
      if (references_ >= block.reference_size()) return Bad("no reference is named");
      const uint32_t from = block.reference(references_++);
      if (from >= kKnown || !has(static_cast<int>(from)) || &columns_[from] == to) {
        return Bad("reference to no earlier column");
      }
      Refer(columns_[from], to);
      break;
    }
    case Block::MODE_UNIT:
      to->Add(rows_, base);
      return AfterUnits(to);
    default:
      return Bad("unknown mode of a column");
  }
  to->Add(rows_, base);
  return {};
}

Status BlockColumns::DecodeTo(const Block& block, int at, bool packed, Values* to) {
  const uint32_t width = block.width(at), mode = block.mode(at);
  if (mode == Block::MODE_SPARSE) return Sparse(width, block.base(at), to);
  const Status status = Numbers(width, packed, to);
  return status.ok() ? Predicted(block, mode, block.base(at), to) : status;
}

Status BlockColumns::DecodeColumn(const Block& block, int at, bool packed) {
  const uint32_t column = block.column(at), mode = block.mode(at);
  if (block.width(at) > 64) return Bad("values wider than 64 bits");
  const bool known = column != 0 && column < kKnown;
  if (known && has(static_cast<int>(column))) return Bad("a column twice");
  if (packed ? mode == Block::MODE_SPARSE : mode == Block::MODE_UNIT) {
    return Bad("unknown mode of a column");
  }
  Values& to = known ? columns_[column] : scratch_;
  const Status status = DecodeTo(block, at, packed, &to);
  if (!known || !status.ok()) to.kind = Values::Kind::kAbsent;
  return status;
}

Status BlockColumns::Describe(const Block& block) {
  rows_ = block.rows();
  starts_ = references_ = 0;
  for (Values& column : columns_) column.kind = Values::Kind::kAbsent;
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
  // A column follows the ones that it refers to.
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

// Skips the bytes of a column, and its entries in the other fields.
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
    // The length of a sparse column follows from its bits.
    const bool wanted = only_.empty() || (column < kKnown && wanted_[column]) ||
                        block.mode(at) == Block::MODE_SPARSE;
    const Status status = wanted ? DecodeColumn(block, at, packed) : Skip(block, at, packed);
    if (!status.ok()) return status;
  }
  return CheckTimes(block);
}

// Queries for a part of the time rely on the times in the block's header.
Status BlockColumns::CheckTimes(const Block& block) const {
  if (block.first() == 0 && block.last() == 0) return {};  // the header has none: PacketTimes
  if (block.table() == 0 || block.table() >= std::size(kFirstColumns)) return {};
  uint64_t first = 0, last = 0;
  if (const int column = kFirstColumns[block.table()]; has(column)) {
    columns_[column].Range(rows_, &first, &last);
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
  if (!Decompress(block.data(), bytes, &planes_)) return Bad("data that do not decompress");
  data_ = planes_;
  const Status status = DecodeAll(block, true);
  data_ = {};
  return status;
}

}  // namespace acceltrace::stream
