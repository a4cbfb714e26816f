// SPDX-License-Identifier: Apache-2.0
//
// Tables as columns of text, for a page that holds its own data. Internal.
//
// A column is a JSON array [encoding, text]:
//   "c"  each row has this value, in decimals
//   "p"  base64 of one LEB128 number a row: the value, zigzag
//   "d"  the same of what it differs from the row before (the first one from 0), modulo 2^64
//   "o"  0 for a row that has none, else 1 + zigzag of what it differs from the one before
// page/data.js reads them.
#ifndef LIBTRACE_VIEW_PAGE_COLUMNS_H_
#define LIBTRACE_VIEW_PAGE_COLUMNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acceltrace::view {

// `text` as a JSON string, quotes included, in ASCII, without a character that means something
// to HTML. Bytes that are no UTF-8 become U+FFFD.
std::string PageString(std::string_view text);

class PageTable {
 public:
  // rows: those of the model's table that are there, of `of` that there are.
  PageTable(const std::vector<uint32_t>& rows, uint64_t of) : rows_(rows), of_(of) {}

  // get(row): something that converts to int64_t or uint64_t.
  template <typename Get>
  void Plain(std::string_view name, const Get& get) {
    Put(name, 'p', Values(get));
  }
  template <typename Get>
  void Delta(std::string_view name, const Get& get) {
    Put(name, 'd', Values(get));
  }
  // get(row): std::optional<int64_t>.
  template <typename Get>
  void Optional(std::string_view name, const Get& get) {
    std::vector<std::optional<int64_t>> values;
    values.reserve(rows_.size());
    for (uint32_t row : rows_) values.push_back(get(row));
    PutOptional(name, values);
  }
  // {"rows", "of", "columns"}
  std::string Json() const;
  const std::vector<uint32_t>& rows() const { return rows_; }

 private:
  template <typename Get>
  std::vector<uint64_t> Values(const Get& get) const {
    std::vector<uint64_t> values;
    values.reserve(rows_.size());
    for (uint32_t row : rows_) values.push_back(static_cast<uint64_t>(get(row)));
    return values;
  }
  void Put(std::string_view name, char encoding, const std::vector<uint64_t>& values);
  void PutOptional(std::string_view name, const std::vector<std::optional<int64_t>>& values);
  void Append(std::string_view name, char encoding, std::string_view text);

  const std::vector<uint32_t>& rows_;
  uint64_t of_;
  std::string columns_;
};

// Modulo 2^64: damaged times may be anywhere.
inline int64_t Less(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// Base64 of bytes, with padding.
std::string Base64(std::string_view bytes);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PAGE_COLUMNS_H_
