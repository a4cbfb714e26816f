// SPDX-License-Identifier: Apache-2.0
//
// Encodes tables as columns of text, for a page with its own data. Internal.
//
// A column is a JSON array [encoding, text]:
//   "c"  each row has this value, in decimals
//   "p"  base64 of one LEB128 number per row: the value, zigzag
//   "d"  the same for the difference to the previous row (for the first row, to 0), modulo 2^64
//   "o"  0 for a row without a value, else 1 + zigzag of the difference to the previous one
// page/data.js reads them.
#ifndef LIBTRACE_VIEW_COMMON_PAGE_COLUMNS_H_
#define LIBTRACE_VIEW_COMMON_PAGE_COLUMNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acceltrace::view {

// Returns `text` as a quoted JSON string in ASCII without characters that have a meaning in HTML.
// Bytes that are not UTF-8 become U+FFFD.
std::string PageString(std::string_view text);

class PageTable {
 public:
  // `rows` are the included rows of the model's table, which has `of` rows.
  PageTable(const std::vector<uint32_t>& rows, uint64_t of) : rows_(rows), of_(of) {}

  // get(row) returns something that converts to int64_t or uint64_t.
  template <typename Get>
  void Plain(std::string_view name, const Get& get) {
    Put(name, 'p', Values(get));
  }
  template <typename Get>
  void Delta(std::string_view name, const Get& get) {
    Put(name, 'd', Values(get));
  }
  // get(row) returns std::optional<int64_t>.
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

// Computed modulo 2^64, since damaged times may be anything.
inline int64_t Less(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// Returns base64 with padding.
std::string Base64(std::string_view bytes);

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_COMMON_PAGE_COLUMNS_H_
