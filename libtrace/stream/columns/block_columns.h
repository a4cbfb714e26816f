// SPDX-License-Identifier: Apache-2.0
//
// The decoded columns of a block. Internal.
#ifndef LIBTRACE_STREAM_COLUMNS_BLOCK_COLUMNS_H_
#define LIBTRACE_STREAM_COLUMNS_BLOCK_COLUMNS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::stream {

// The rows of a column: value = base + narrow[row], or wide[row], or base in each row if there is
// neither.
struct BlockColumn {
  uint64_t base = 0;
  const uint32_t* narrow = nullptr;
  const uint64_t* wide = nullptr;

  uint64_t operator[](size_t row) const {
    if (narrow != nullptr) return base + narrow[row];
    return wide != nullptr ? wide[row] : base;
  }
  void Skip(size_t rows) {
    if (narrow != nullptr) narrow += rows;
    if (wide != nullptr) wide += rows;
  }
  // Reads the values of `rows` rows from `first` on, truncated to T, which has 8, 4 or 1 bytes.
  template <typename T>
  void Read(size_t first, size_t rows, T* values) const;
};

// The columns of one block; decoding another block replaces them. A column that is absent or
// unknown is zero. Most columns are a base and 32-bit numbers, which halves what has to be written
// and read.
class BlockColumns {
 public:
  static constexpr size_t kKnown = 96;  // one more than the highest Column

  // From the next block on, decodes only these columns, and those that they or the block's times
  // refer to.
  void Only(std::vector<int> columns) { only_ = std::move(columns); }
  Status Decode(const proto::Block& block);
  // Decodes a packed block.
  Status DecodePacked(const proto::Block& block);

  size_t rows() const { return rows_; }
  bool has(int column) const { return columns_[column].there(); }
  // Returns zeros for a column that is absent from this block, even if an earlier block had it.
  BlockColumn of(int column) const { return columns_[column].View(); }
  uint64_t At(int column, size_t row) const { return of(column)[row]; }
  // Returns all rows of the column, or an empty vector if it is absent.
  std::vector<uint64_t> AllOf(int column) const;

 private:
  // The memory is reused for the next block, without clearing it.
  struct Values {
    enum class Kind : uint8_t { kAbsent, kConstant, kNarrow, kWide };

    bool there() const { return kind != Kind::kAbsent; }
    BlockColumn View() const {
      if (kind == Kind::kAbsent) return {};
      return {base, kind == Kind::kNarrow ? narrow.get() : nullptr,
              kind == Kind::kWide ? wide.get() : nullptr};
    }
    uint32_t* Narrow(size_t rows);
    uint64_t* Wide(size_t rows);
    // Converts the existing values to wide ones.
    uint64_t* Widened(size_t rows);
    void Add(size_t rows, uint64_t more);
    void Range(size_t rows, uint64_t* first, uint64_t* last) const;

    Kind kind = Kind::kAbsent;
    uint64_t base = 0, most = 0;  // bounds of the numbers
    size_t narrow_room = 0, wide_room = 0;
    std::unique_ptr<uint32_t[]> narrow;  // allocated for whole groups of lanes
    std::unique_ptr<uint64_t[]> wide;
  };

  Status Describe(const proto::Block& block);
  void Choose(const proto::Block& block);
  Status Skip(const proto::Block& block, int at, bool packed);
  Status DecodeAll(const proto::Block& block, bool packed);
  Status CheckTimes(const proto::Block& block) const;
  Status DecodeColumn(const proto::Block& block, int at, bool packed);
  Status DecodeTo(const proto::Block& block, int at, bool packed, Values* to);
  Status Numbers(uint32_t width, bool packed, Values* to);
  Status Predicted(const proto::Block& block, uint32_t mode, uint64_t base, Values* to);
  void Sum(uint64_t start, uint64_t step, Values* to) const;
  void Refer(const Values& from, Values* to) const;
  Status AfterUnits(Values* to) const;
  bool Take(size_t bytes, std::string_view* taken);
  Status Sparse(uint32_t width, uint64_t base, Values* to);

  size_t rows_ = 0;
  std::string_view data_;  // not consumed yet
  int starts_ = 0, references_ = 0;
  std::array<Values, kKnown> columns_;
  Values scratch_;  // for columns that are not known
  std::vector<int> only_;
  std::array<bool, kKnown> wanted_ = {};
  std::string planes_;             // for packed blocks
  std::vector<uint64_t> present_;  // for sparse columns
};

// Computes for each row of a MODE_UNIT column by how many ticks the previous command on the same
// unit ended after `fetched`, or 0 if it did not. As a rule, a unit waits for nothing else.
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

#endif  // LIBTRACE_STREAM_COLUMNS_BLOCK_COLUMNS_H_
