// SPDX-License-Identifier: Apache-2.0
//
// The columns of a block, decoded. Internal.
#ifndef LIBTRACE_STREAM_BLOCK_COLUMNS_H_
#define LIBTRACE_STREAM_BLOCK_COLUMNS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns.h"
#include "libtrace/stream/result.h"

namespace acceltrace::stream {

// A column that is absent or unknown is empty. Another block takes the place of the last one.
class BlockColumns {
 public:
  static constexpr size_t kKnown = 96;  // one more than the highest Column

  // From the next block on no others than these, and those that they, or its times, are made of.
  void Only(std::vector<int> columns) { only_ = std::move(columns); }
  Status Decode(const proto::Block& block);
  // Of a packed block.
  Status DecodePacked(const proto::Block& block);

  size_t rows() const { return rows_; }
  bool has(int column) const { return columns_[column].there; }
  uint64_t At(int column, size_t row) const { return has(column) ? columns_[column][row] : 0; }
  // Of one that is not there none: what an earlier block had is not this one's.
  std::span<const uint64_t> of(int column) const {
    if (!has(column)) return {};
    return {columns_[column].values.get(), rows_};
  }

  template <typename T>
  void CopyTo(int column, google::protobuf::RepeatedField<T>* to) const {
    if (!has(column)) return;
    to->Reserve(static_cast<int>(rows_));
    for (const uint64_t value : of(column)) to->Add(static_cast<T>(value));
  }
  void CopyDeltas(int column, google::protobuf::RepeatedField<int64_t>* to) const {
    DeltaEncoder encoder;
    to->Reserve(static_cast<int>(rows_));
    for (size_t row = 0; row < rows_; ++row) encoder.Append(At(column, row), to);
  }

 private:
  // Its room is kept for the next block's, and not cleared for it.
  struct Values {
    bool there = false;
    size_t room = 0;
    std::unique_ptr<uint64_t[]> values;
    uint64_t operator[](size_t row) const { return values[row]; }
  };

  Status Describe(const proto::Block& block);
  void Choose(const proto::Block& block);
  Status Skip(const proto::Block& block, int at, bool packed);
  Status DecodeAll(const proto::Block& block, bool packed);
  Status CheckTimes(const proto::Block& block) const;
  Status DecodeColumn(const proto::Block& block, int at, bool packed);
  Status DecodeTo(const proto::Block& block, uint32_t width, uint32_t mode, uint64_t base,
                  bool packed, uint64_t* values);
  Status Numbers(uint32_t width, bool packed, uint64_t base, uint64_t* values);
  Status Predicted(const proto::Block& block, uint32_t mode, uint64_t base, uint64_t* values);
  bool Take(size_t bytes, std::string_view* taken);
  Status Sparse(uint32_t width, uint64_t base, uint64_t* values);

  size_t rows_ = 0;
  std::string_view data_;  // not taken yet
  int starts_ = 0, references_ = 0;
  std::array<Values, kKnown> columns_;
  Values scratch_;  // of a column that is not known
  std::vector<int> only_;
  std::array<bool, kKnown> wanted_ = {};
};

// By how many ticks the end of the command before it on the same unit is later than `fetched`, for
// each row of a MODE_UNIT column; 0 where it is not. A unit waits for nothing else as a rule.
class UnitEnds {
 public:
  static constexpr size_t kUnits = 64;

  uint64_t After(uint64_t unit, uint64_t fetched) const {
    if (!known_[unit]) return 0;
    const uint64_t after = ends_[unit] - fetched;
    return after >> 63 != 0 ? 0 : after;
  }
  void Set(uint64_t unit, uint64_t end) {
    ends_[unit] = end;
    known_[unit] = true;
  }

 private:
  std::array<uint64_t, kUnits> ends_ = {};
  std::array<bool, kUnits> known_ = {};
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_BLOCK_COLUMNS_H_
