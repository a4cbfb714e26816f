// SPDX-License-Identifier: Apache-2.0
//
// Rows of a table, whether they came as a batch or as a block: columns by their numbers in blocks,
// those of host events by the numbers of their fields in HostBatch.
#ifndef LIBTRACE_STREAM_TABLE_ROWS_H_
#define LIBTRACE_STREAM_TABLE_ROWS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/block_columns.h"

namespace acceltrace::stream {

// Refers to the batch or the block's columns, which must outlive it. A column that is absent is
// zero in each row.
class TableRows {
 public:
  static constexpr size_t kColumns = 96;

  TableRows() = default;
  explicit TableRows(const proto::CommandBatch& batch);
  explicit TableRows(const proto::JobBatch& batch);
  explicit TableRows(const proto::ApiBatch& batch);
  explicit TableRows(const proto::HostBatch& batch);

  size_t rows() const { return rows_; }
  void set_rows(size_t rows) { rows_ = rows; }
  bool has(int column) const { return columns_[column].kind != Kind::kAbsent; }
  // Causes of stalls that commands have columns for; none: all of them are zero.
  size_t stalls() const { return stalls_; }
  void set_stalls(size_t stalls) { stalls_ = stalls; }
  // The first rows, no more than `most` of them; these are gone then.
  TableRows Take(size_t most);
  void Set(int column, const uint64_t* values) { columns_[column] = {Kind::kWide, values, 1}; }
  void Set(int column, const BlockColumn& of);
  // As a batch has them in its bytes, one for each row, which were found sound.
  void SetNumbers(int column, std::string_view bytes, bool narrow);
  // `stalls` for each row, row by row.
  void SetStalls(size_t stalls, const uint64_t* values);
  // There, and zero in each row.
  void SetZeros(int column) { columns_[column] = {Kind::kConstant, nullptr, 1}; }

  // Where all rows of a column lie as they are, one after the other; nullptr: they are in another
  // form.
  const uint64_t* Wide(int column) const {
    const Column& from = columns_[column];
    const bool is = from.kind == Kind::kWide && from.stride == 1;
    return is ? static_cast<const uint64_t*>(from.values) : nullptr;
  }
  // Stalls of all rows, row by row, as many of each as there are.
  void ReadStalls(uint64_t* out) const;
  // Where they lie as they are, row by row; nullptr: they are in another form.
  const uint64_t* StallsByRow() const {
    const Column& first = columns_[proto::Block::COLUMN_STALL_TICKS];
    const bool are = stalls_ > 0 && first.kind == Kind::kWide && first.stride == stalls_;
    return are ? static_cast<const uint64_t*>(first.values) : nullptr;
  }
  // A column whose rows lie as those of a block do. False: they are in another form.
  bool View(int column, BlockColumn* view) const {
    const Column& from = columns_[column];
    *view = {};
    if (from.kind == Kind::kNarrow) {
      *view = {from.before, static_cast<const uint32_t*>(from.values), nullptr};
    } else if (from.kind == Kind::kWide && from.stride == 1) {
      view->wide = static_cast<const uint64_t*>(from.values);
    } else if (from.kind == Kind::kConstant) {
      view->base = from.before;
    } else {
      return from.kind == Kind::kAbsent;
    }
    return true;
  }
  // No value of the column is beyond 32 bits, by its form.
  bool IsNarrow(int column) const {
    const Kind kind = columns_[column].kind;
    return kind == Kind::kBytes || kind == Kind::kNarrowNumbers;
  }
  // All rows of a column, cut to T: uint64_t, uint32_t, uint8_t, or signed ones.
  template <typename T>
  void Read(int column, T* out) const {
    if constexpr (sizeof(T) == 8) {
      ReadWide(column, reinterpret_cast<uint64_t*>(out));
    } else if constexpr (sizeof(T) == 4) {
      ReadNarrow(column, reinterpret_cast<uint32_t*>(out));
    } else {
      static_assert(sizeof(T) == 1);
      ReadBytes(column, reinterpret_cast<uint8_t*>(out));
    }
  }

 private:
  // Numbers: as in a message, those that are a byte each are kBytes. Narrow: of 32 bits, over what
  // is before them.
  enum class Kind : uint8_t {
    kAbsent,
    kConstant,
    kNarrow,
    kWide,
    kDeltas,
    kBytes,
    kNumbers,
    kNarrowNumbers
  };
  struct Column {
    Kind kind = Kind::kAbsent;
    const void* values = nullptr;
    size_t stride = 1;
    uint64_t before = 0;  // the sum of earlier differences, a base of numbers, or a constant
    size_t bytes = 0;     // of numbers, with those of rows behind these
  };
  static void ReadPart(size_t rows, Column* from, uint64_t* out);
  template <typename T>
  void ReadCut(Column from, T* out) const;
  void ReadWide(int column, uint64_t* out) const;
  void ReadNarrow(int column, uint32_t* out) const;
  void ReadBytes(int column, uint8_t* out) const;
  template <typename T>
  void Plain(int column, const google::protobuf::RepeatedField<T>& values);
  void Deltas(int column, const google::protobuf::RepeatedField<int64_t>& values);

  size_t rows_ = 0, stalls_ = 0;
  std::array<Column, kColumns> columns_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_TABLE_ROWS_H_
