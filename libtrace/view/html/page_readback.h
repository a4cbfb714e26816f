// SPDX-License-Identifier: Apache-2.0
//
// Reads the columns of a page independently of the page's own code, for tests.
#ifndef LIBTRACE_VIEW_HTML_PAGE_READBACK_H_
#define LIBTRACE_VIEW_HTML_PAGE_READBACK_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace acceltrace::view::readback {

inline int Digit(char c) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return static_cast<int>(digits.find(c));
}

inline std::string Bytes(const std::string& base64) {
  std::string bytes;
  uint32_t word = 0;
  int bits = 0;
  for (char c : base64) {
    if (c == '=') break;
    word = word << 6 | static_cast<uint32_t>(Digit(c)), bits += 6;
    if (bits >= 8) bytes.push_back(static_cast<char>(word >> (bits -= 8)));
  }
  return bytes;
}

inline constexpr int64_t kNone = INT64_MIN;

// Decodes a column as documented in page_columns.h.
inline std::vector<int64_t> Column(const nlohmann::json& page, const std::string& table,
                                   const std::string& name) {
  const nlohmann::json& of = page["tables"][table];
  const size_t rows = of["rows"];
  const std::string encoding = of["columns"][name][0], text = of["columns"][name][1];
  if (encoding == "c") return std::vector<int64_t>(rows, std::stoll(text));
  const std::string bytes = Bytes(text);
  std::vector<int64_t> values;
  uint64_t last = 0;
  size_t at = 0;
  while (at < bytes.size()) {
    unsigned __int128 number = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      number |= static_cast<unsigned __int128>(byte & 127) << shift;
      if (byte < 128) break;
    }
    if (encoding == "o" && number == 0) {
      values.push_back(kNone);
      continue;
    }
    if (encoding == "o") --number;
    const auto zigzag = static_cast<uint64_t>(number);
    const uint64_t value = (zigzag >> 1) ^ (0 - (zigzag & 1));
    last = encoding == "p" ? value : last + value;
    values.push_back(static_cast<int64_t>(last));
  }
  if (values.size() != rows) values.clear();  // so that checks on it fail
  return values;
}

}  // namespace acceltrace::view::readback

#endif  // LIBTRACE_VIEW_HTML_PAGE_READBACK_H_
