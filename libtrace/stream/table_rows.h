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
#include "libtrace/stream/numbers.h"

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
  // As a batch has them in its bytes, one for each row, which were found sound.
  void SetNumbers(int column, std::string_view bytes, bool narrow);
  // `stalls` for each row, row by row.
  void SetStalls(size_t stalls, const uint64_t* values);
  // There, and zero in each row.
  void SetZeros(int column) { columns_[column] = {Kind::kZeros, nullptr, 1}; }

  // The values of a column that has them all as they are, one after the other; else nullptr.
  const uint64_t* Wide(int column) const {
    const Column& from = columns_[column];
    const bool is = from.kind == Kind::kWide && from.stride == 1;
    return is ? static_cast<const uint64_t*>(from.values) : nullptr;
  }
  // Stalls of all rows, row by row, as many of each as there are.
  void ReadStalls(uint64_t* out) const;
  // All rows of a column, cut to T.
  template <typename T>
  void Read(int column, T* out) const {
    const Column& from = columns_[column];
    switch (from.kind) {
      case Kind::kAbsent:
      case Kind::kZeros:
        std::fill_n(out, rows_, T{0});
        return;
      case Kind::kNarrow:
        return Copy(static_cast<const uint32_t*>(from.values), out);
      case Kind::kWide:
        if (from.stride == 1) return Copy(static_cast<const uint64_t*>(from.values), out);
        for (size_t row = 0; row < rows_; ++row) {
          out[row] = static_cast<T>(static_cast<const uint64_t*>(from.values)[row * from.stride]);
        }
        return;
      case Kind::kDeltas: {
        uint64_t value = from.before;
        for (size_t row = 0; row < rows_; ++row) {
          out[row] = static_cast<T>(value += static_cast<const uint64_t*>(from.values)[row]);
        }
        return;
      }
      case Kind::kBytes:
        return Copy(static_cast<const uint8_t*>(from.values), out);
      case Kind::kNumbers:
      case Kind::kNarrowNumbers:
        return ReadNumbers(from, out);
    }
  }

 private:
  // Numbers: as in a message, those that are a byte each are kBytes. Narrow: of 32 bits.
  enum class Kind : uint8_t {
    kAbsent,
    kZeros,
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
    uint64_t before = 0;  // the sum of earlier differences
    size_t bytes = 0;     // of numbers, with those of rows behind these
  };
  template <typename T>
  void ReadNumbers(const Column& from, T* out) const {
    constexpr size_t kAtOnce = 512;
    uint64_t values[kAtOnce];
    std::string_view bytes(static_cast<const char*>(from.values), from.bytes);
    for (size_t row = 0; row < rows_; row += kAtOnce) {
      const size_t count = std::min(kAtOnce, rows_ - row);
      if (!TakeNumbers(count, &bytes, values)) std::fill_n(values, count, 0);  // they are sound
      if (from.kind == Kind::kNarrowNumbers) {
        for (size_t i = 0; i < count; ++i) {
          out[row + i] = static_cast<T>(static_cast<uint32_t>(values[i]));
        }
      } else {
        for (size_t i = 0; i < count; ++i) out[row + i] = static_cast<T>(values[i]);
      }
    }
  }
  template <typename From, typename T>
  void Copy(const From* from, T* out) const {
    for (size_t row = 0; row < rows_; ++row) out[row] = static_cast<T>(from[row]);
  }
  template <typename T>
  void Plain(int column, const google::protobuf::RepeatedField<T>& values);
  void Deltas(int column, const google::protobuf::RepeatedField<int64_t>& values);

  size_t rows_ = 0, stalls_ = 0;
  std::array<Column, kColumns> columns_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_TABLE_ROWS_H_
