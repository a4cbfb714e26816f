// SPDX-License-Identifier: Apache-2.0
//
// A column of a table.
//
// Many columns of a trace have the same value in all rows: fields that a batch omits, the only
// device, no error. In most others (times, ids), the values within a thousand rows are close to
// each other. The former take no memory, the latter one to four bytes per row instead of eight.
#ifndef LIBTRACE_MODEL_COLUMNS_COLUMN_H_
#define LIBTRACE_MODEL_COLUMNS_COLUMN_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::model {

// Replaces the values by those of the rows in `order`, in its order. If it is a permutation, no
// second copy is made.
template <typename T>
void PermuteValues(const std::vector<uint32_t>& order, std::vector<T>* values) {
  std::vector<T>& v = *values;
  if (order.size() != v.size()) {
    std::vector<T> sorted;
    sorted.reserve(order.size());
    for (uint32_t row : order) sorted.push_back(v[row]);
    v = std::move(sorted);
    return;
  }
  std::vector<bool> done(v.size());
  for (size_t begin = 0; begin < v.size(); ++begin) {
    if (done[begin] || order[begin] == begin) continue;
    T first = std::move(v[begin]);
    size_t at = begin;
    for (; order[at] != begin; at = order[at]) {
      v[at] = std::move(v[order[at]]);
      done[at] = true;
    }
    v[at] = std::move(first);
    done[at] = true;
  }
}

// Iterates over the rows of a column.
template <typename Of>
class ColumnIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Of::value_type;
  using difference_type = ptrdiff_t;
  using pointer = const value_type*;
  using reference = value_type;

  ColumnIterator() = default;
  ColumnIterator(const Of* column, size_t row) : column_(column), row_(row) {}
  value_type operator*() const { return (*column_)[row_]; }
  value_type operator[](ptrdiff_t n) const { return (*column_)[row_ + static_cast<size_t>(n)]; }
  ColumnIterator& operator++() { return ++row_, *this; }
  ColumnIterator& operator--() { return --row_, *this; }
  ColumnIterator operator++(int) { return {column_, row_++}; }
  ColumnIterator operator--(int) { return {column_, row_--}; }
  ColumnIterator& operator+=(ptrdiff_t n) { return row_ += static_cast<size_t>(n), *this; }
  ColumnIterator& operator-=(ptrdiff_t n) { return row_ -= static_cast<size_t>(n), *this; }
  friend ColumnIterator operator+(ColumnIterator at, ptrdiff_t n) { return at += n; }
  friend ColumnIterator operator-(ColumnIterator at, ptrdiff_t n) { return at -= n; }
  friend ptrdiff_t operator-(const ColumnIterator& a, const ColumnIterator& b) {
    return static_cast<ptrdiff_t>(a.row_ - b.row_);
  }
  friend auto operator<=>(const ColumnIterator& a, const ColumnIterator& b) {
    return a.row_ <=> b.row_;
  }
  friend bool operator==(const ColumnIterator& a, const ColumnIterator& b) {
    return a.row_ == b.row_;
  }

 private:
  const Of* column_ = nullptr;
  size_t row_ = 0;
};

// Values are stored in chunks, each with the width that it needs: 0, 1, 2, 4 or 8 bytes per row,
// over a base. In a complete chunk, the least value may be stored separately, as number 0, if all
// others are much larger.
template <typename T>
class Column {
 public:
  using value_type = T;
  using const_iterator = ColumnIterator<Column>;

  // A reference to an element, for assignments.
  class Place {
   public:
    Place(Column* column, size_t row) : column_(column), row_(row) {}
    Place(const Place&) = default;
    operator T() const { return column_->At(row_); }
    const Place& operator=(T value) const { return column_->Set(row_, value), *this; }
    const Place& operator=(const Place& other) const { return *this = static_cast<T>(other); }
    T operator++(int) const {
      const T before = *this;
      *this = static_cast<T>(before + 1);
      return before;
    }

   private:
    Column* column_;
    size_t row_;
  };

  Column() = default;
  Column(size_t rows, T value) { resize(rows, value); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Rows that the column does not have are T{}: it may be empty or shorter than its table.
  T At(size_t row) const {
    if (row >= size_) return T{};
    const Chunk& chunk = chunks_[row / kRows];
    return static_cast<T>(chunk.Value(row % kRows));
  }
  T operator[](size_t row) const { return At(row); }
  Place operator[](size_t row) { return {this, row}; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  T front() const { return At(0); }
  T back() const { return At(size_ - 1); }

  void Set(size_t row, T value) { Put(row / kRows, row % kRows, value); }
  void push_back(T value) {
    if (size_ % kRows == 0) chunks_.emplace_back().base = static_cast<uint64_t>(value);
    Put(size_ / kRows, size_ % kRows, value);
    ++size_;
  }
  template <typename From>
  void Append(From from, From to) {
    while (from != to) {
      T values[kRows];
      const size_t count = std::min<size_t>(kRows - size_ % kRows, to - from);
      for (size_t i = 0; i < count; ++i, ++from) values[i] = static_cast<T>(*from);
      AppendToChunk(values, count);
    }
  }
  void Append(size_t rows, T value) { resize(size_ + rows, value); }
  void AppendValues(const T* values, size_t rows) {
    while (rows > 0) {
      const size_t count = std::min(kRows - size_ % kRows, rows);
      AppendToChunk(values, count);
      values += count, rows -= count;
    }
  }
  // Appends numbers over a base, modulo 2^64, truncated to T.
  void AppendNumbers(uint64_t base, const uint32_t* numbers, size_t rows) {
    while (rows > 0) {
      const size_t count = std::min(kRows - size_ % kRows, rows);
      if (!BeginChunk(base, numbers, count)) {
        uint64_t wide[kRows];
        T values[kRows];
        stream::FromNumbers(reinterpret_cast<const uint8_t*>(numbers), count, base, 4, wide);
        stream::ToNumbers(wide, count, 0, sizeof(T), reinterpret_cast<uint8_t*>(values));
        AppendToChunk(values, count);
      }
      numbers += count, rows -= count;
    }
  }
  void resize(size_t rows, T value = T{}) {
    while (size_ < rows) {
      if (size_ % kRows != 0 && chunks_.back().width != 0) {
        T values[kRows];
        const size_t count = std::min(kRows - size_ % kRows, rows - size_);
        stream::FillAll(values, count, value);
        AppendToChunk(values, count);
        continue;
      }
      push_back(value);
      // The rest of the chunk is filled at once if all of its values are equal.
      Chunk& chunk = chunks_.back();
      if (chunk.width == 0) size_ = std::min(rows, chunks_.size() * kRows);
    }
    size_ = rows;
    chunks_.resize((rows + kRows - 1) / kRows);
  }
  void assign(size_t rows, T value) {
    *this = {};
    resize(rows, value);
  }
  // Releases memory that is no longer needed.
  void Compact() {
    for (size_t c = 0; c < chunks_.size(); ++c) {
      if (chunks_[c].width != 0) Fit(c, std::min(kRows, size_ - c * kRows), nullptr);
    }
  }
  // Keeps the rows of `order`, in its order.
  void Permute(const std::vector<uint32_t>& order) {
    Column permuted;
    permuted.chunks_.reserve((order.size() + kRows - 1) / kRows);
    T values[kRows];
    for (size_t first = 0; first < order.size(); first += kRows) {
      const size_t count = std::min(kRows, order.size() - first);
      for (size_t i = 0; i < count; ++i) values[i] = At(order[first + i]);
      permuted.AppendToChunk(values, count);
    }
    permuted.Trim();
    *this = std::move(permuted);
  }
  // Reads `rows` rows from `first` on, which is much faster than reading them one by one.
  void Read(size_t first, size_t rows, T* out) const {
    while (rows > 0) {
      const size_t at = first % kRows, count = std::min(rows, kRows - at);
      const size_t have = first < size_ ? std::min(count, size_ - first) : 0;
      if (have > 0) chunks_[first / kRows].Read(at, have, out);
      std::fill(out + have, out + count, T{});
      first += count, rows -= count, out += count;
    }
  }
  // Overwrites existing rows.
  void Write(size_t first, size_t rows, const T* values) {
    while (rows > 0) {
      const size_t at = first % kRows, count = std::min(rows, kRows - at);
      WriteToChunk(first / kRows, at, values, count, true);
      first += count, rows -= count, values += count;
    }
  }

  static constexpr size_t kRows = 1024;  // per chunk

 private:
  struct Chunk {
    Chunk() = default;
    Chunk(Chunk&&) noexcept = default;
    Chunk& operator=(Chunk&&) noexcept = default;
    Chunk(const Chunk& other)
        : base(other.base),
          least(other.least),
          width(other.width),
          has_least(other.has_least),
          room(other.room) {
      if (room == 0) return;
      bytes = std::make_unique<uint8_t[]>(room);
      std::memcpy(bytes.get(), other.bytes.get(), room);
    }
    Chunk& operator=(const Chunk& other) { return *this = Chunk(other); }

    uint64_t Load(size_t at) const {
      switch (width) {
        case 0:
          return 0;
        case 1:
          return bytes[at];
        case 2:
          return LoadAs<uint16_t>(at);
        case 4:
          return LoadAs<uint32_t>(at);
        default:
          return LoadAs<uint64_t>(at);
      }
    }
    uint64_t Value(size_t at) const {
      const uint64_t number = Load(at);
      return has_least && number == 0 ? least : base + number;
    }
    // Reads rows [at, at + rows).
    void Read(size_t at, size_t rows, T* out) const {
      if (width == 0) {
        stream::FillAll(out, rows, static_cast<T>(base));
        return;
      }
      stream::FromNumbers(bytes.get() + at * width, rows, base, width, AsNumbers(out));
      // base is not a value in this case
      for (size_t i = 0; has_least && i < rows; ++i) {
        out[i] = out[i] == static_cast<T>(base) ? static_cast<T>(least) : out[i];
      }
    }
    // Rebuilds a chunk over `low`, from values, or from 32-bit numbers over `over`.
    template <typename V>
    void Make(const V* values, size_t rows, uint64_t over, uint8_t wide, uint64_t low,
              size_t room_rows) {
      base = over + low, width = wide, has_least = false;
      const size_t needed = room_rows * width;
      if (needed != room) bytes.reset(needed > 0 ? new uint8_t[needed] : nullptr);
      room = static_cast<uint32_t>(needed);
      if (width != 0) stream::ToNumbers(AsNumbers(values), rows, low, width, bytes.get());
      if (rows * width < room) std::memset(bytes.get() + rows * width, 0, room - rows * width);
    }
    // The same, with the least value stored as number 0, and the others over `low`, which is not
    // one of them.
    template <typename V>
    void MakeApart(const V* values, size_t rows, uint64_t over, V lowest, uint8_t wide, V low) {
      V moved[kRows];
      for (size_t i = 0; i < rows; ++i) moved[i] = values[i] == lowest ? low : values[i];
      Make(moved, rows, over, wide, static_cast<uint64_t>(low), rows);
      least = over + static_cast<uint64_t>(lowest), has_least = true;
    }
    // Writes rows [at, at + rows), which must fit.
    void WriteAll(const T* values, size_t at, size_t rows) {
      if (width == 0) return;
      stream::ToNumbers(AsNumbers(values), rows, base, width, bytes.get() + at * width);
    }
    void Store(size_t at, uint64_t number) {
      std::memcpy(bytes.get() + at * width, &number, width);  // little-endian
    }
    template <typename Number>
    Number LoadAs(size_t at) const {
      Number number;
      std::memcpy(&number, bytes.get() + at * sizeof(Number), sizeof(Number));
      return number;
    }

    // The unsigned type of the width of V.
    template <typename V>
    using Number = std::conditional_t<sizeof(V) == 8, uint64_t,
                                      std::conditional_t<sizeof(V) == 4, uint32_t, uint8_t>>;
    template <typename V>
    static const Number<V>* AsNumbers(const V* values) {
      static_assert(sizeof(V) == sizeof(Number<V>));
      return reinterpret_cast<const Number<V>*>(values);
    }
    static Number<T>* AsNumbers(T* values) { return reinterpret_cast<Number<T>*>(values); }

    uint64_t base = 0;  // numbers are added to it, modulo 2^64
    uint64_t least = 0;
    uint8_t width = 0;
    bool has_least = false;  // number 0 is `least`
    uint32_t room = 0;       // allocated bytes
    std::unique_ptr<uint8_t[]> bytes;
  };
  static_assert(std::endian::native == std::endian::little);

  static bool Fits(uint64_t number, uint8_t width) {
    return width == 8 || number >> (8 * width) == 0;
  }

  // Sets an existing row or the next one.
  void Put(size_t c, size_t at, T value) {
    Chunk& chunk = chunks_[c];
    const uint64_t number = static_cast<uint64_t>(value) - chunk.base;
    if (chunk.width == 0 && number == 0) return;
    if (!Fits(number, chunk.width) || (at + 1) * chunk.width > chunk.room || chunk.width == 0 ||
        chunk.has_least) {
      const size_t end = c * kRows + at;
      Fit(c, end < size_ ? std::min(kRows, size_ - c * kRows) : at, &value);
      if (chunk.width == 0) return;
    }
    chunk.Store(at, static_cast<uint64_t>(value) - chunk.base);
  }

  // Makes a chunk wide enough for its rows and one more value. If that value is below all of them,
  // reserves range for further lower values, otherwise for higher ones.
  void Fit(size_t c, size_t rows, const T* more) {
    T values[kRows];
    values[0] = T{};
    chunks_[c].Read(0, rows, values);
    T low = more != nullptr ? *more : values[0], high = low;
    stream::WidenTo(values, rows, &low, &high);
    const bool falls = more != nullptr && rows > 0 && *more == low;
    MakeChunk(c, values, rows, 0, low, high, falls, more == nullptr);
  }

  // values: from the first row of the chunk on, all within [low, high], or 32-bit numbers over
  // `over`. whole: no more rows will follow.
  template <typename V>
  void MakeChunk(size_t c, const V* values, size_t rows, uint64_t over, V low, V high, bool falls,
                 bool whole) {
    const uint64_t spread = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    uint8_t width = spread == 0 ? 0 : 1;
    while (!Fits(falls ? 2 * spread : spread, width)) width = static_cast<uint8_t>(2 * width);
    if (spread >> 62 != 0) width = 8;
    // The first chunk is often the only one, so it is allocated as needed.
    const size_t most =
        c > 0 ? kRows : std::min(kRows, std::bit_ceil(std::max<size_t>(rows + 1, 8)));
    if (whole && width > 1 && MakeApart(c, values, rows, over, low, high, width)) return;
    auto base = static_cast<uint64_t>(low);
    if (falls && width < 8) base -= ((uint64_t{1} << (8 * width)) - spread) / 2;
    chunks_[c].Make(values, rows, over, width, base, whole ? rows : most);
  }

  // Only done if it takes fewer than `width` bytes per row.
  template <typename V>
  bool MakeApart(size_t c, const V* values, size_t rows, uint64_t over, V low, V high,
                 uint8_t width) {
    // If the next value is that far below the others as well, half the width is not enough for
    // them, and only one value can be stored separately.
    const uint64_t most = (uint64_t{1} << (4 * width)) - 2;
    const V next = stream::LeastAbove(values, rows, low, high, most);
    const uint64_t spread = static_cast<uint64_t>(high) - static_cast<uint64_t>(next);
    if (spread > most) return false;
    uint8_t narrow = 1;
    while (!Fits(spread + 1, narrow)) narrow = static_cast<uint8_t>(2 * narrow);
    chunks_[c].MakeApart(values, rows, over, low, narrow, static_cast<V>(next - 1));
    return true;
  }

  // Makes a chunk of values that are close to each other, as most are. Returns false if they are
  // not.
  bool MakeNarrow(size_t c, const T* values, size_t rows, bool whole) {
    const uint64_t below = static_cast<uint64_t>(values[0]) - (uint64_t{1} << 31);
    uint32_t numbers[kRows], low = 0, high = 0;
    if (!stream::ToNumbersAbove(below, reinterpret_cast<const uint64_t*>(values), rows, numbers,
                                &low, &high)) {
      return false;
    }
    MakeChunk(c, numbers, rows, below, low, high, false, whole);
    return true;
  }

  // Starts a chunk of numbers over a base. Returns false if the last chunk is not full, or if the
  // values leave the range of T.
  bool BeginChunk(uint64_t base, const uint32_t* numbers, size_t rows) {
    if (size_ % kRows != 0) return false;
    uint32_t low = numbers[0], high = low;
    stream::WidenTo(numbers, rows, &low, &high);
    const auto least = static_cast<T>(base + low), most = static_cast<T>(base + high);
    if (most < least ||
        static_cast<uint64_t>(most) - static_cast<uint64_t>(least) != uint64_t{high} - low) {
      return false;
    }
    chunks_.emplace_back(), size_ += rows;
    MakeChunk(chunks_.size() - 1, numbers, rows, static_cast<uint64_t>(least) - low, low, high,
              false, rows == kRows);
    return true;
  }

  // Appends to the last chunk, which must have space for the values, or to a new one.
  void AppendToChunk(const T* values, size_t rows) {
    if (rows == 0) return;
    const size_t at = size_ % kRows;
    if (at == 0) chunks_.emplace_back().base = static_cast<uint64_t>(values[0]);
    size_ += rows;
    WriteToChunk(chunks_.size() - 1, at, values, rows, false);
  }

  // Writes rows [at, at + rows) of a chunk. whole: no more rows will follow.
  void WriteToChunk(size_t c, size_t at, const T* values, size_t rows, bool whole) {
    Chunk& chunk = chunks_[c];
    const size_t end = std::min(kRows, size_ - c * kRows);
    if (sizeof(T) == 8 && rows == end && MakeNarrow(c, values, rows, whole || end == kRows)) return;
    T low = values[0], high = low;
    stream::WidenTo(values, rows, &low, &high);
    if (rows == end) return MakeChunk(c, values, rows, 0, low, high, false, whole || end == kRows);
    const uint64_t below = static_cast<uint64_t>(low) - chunk.base;
    const uint64_t above = static_cast<uint64_t>(high) - chunk.base;
    const bool within = chunk.width == 8 || (below <= above && Fits(above, chunk.width));
    if (within && !chunk.has_least && (at + rows) * chunk.width <= chunk.room)
      return chunk.WriteAll(values, at, rows);
    T all[kRows];
    all[0] = low;
    // A chunk that is being appended to has no bytes for the rest of its rows.
    const size_t have = chunk.width == 0 ? end : std::min<size_t>(end, chunk.room / chunk.width);
    chunk.Read(0, have, all);
    T old_low = all[0], old_high = all[0];
    stream::WidenTo(all, at > 0 ? at : end, &old_low, &old_high);
    std::copy_n(values, rows, all + at);
    const bool falls = low < old_low;
    stream::WidenTo(all, end, &low, &high);
    MakeChunk(c, all, end, 0, low, high, falls, whole || end == kRows);
  }

  // Releases the memory that was reserved for further rows.
  void Trim() {
    if (size_ % kRows == 0 || chunks_.back().width == 0) return;
    Fit(chunks_.size() - 1, size_ % kRows, nullptr);
  }

  size_t size_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_COLUMN_H_
