// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/common/page_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace acceltrace::view {
namespace {

// 1 + a zigzag number may need 65 bits.
void AppendVarint(unsigned __int128 value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>((value & 0x7f) | 0x80));
  out->push_back(static_cast<char>(value));
}

uint64_t Zigzag(uint64_t value) {
  const auto sign = static_cast<uint64_t>(static_cast<int64_t>(value) >> 63);
  return (value << 1) ^ sign;
}

}  // namespace

std::string PageString(std::string_view text) {
  using Json = nlohmann::json;
  const std::string dumped =
      Json(std::string(text)).dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string out;
  out.reserve(dumped.size());
  for (char c : dumped) {
    if (c == '<' || c == '>' || c == '&' || c == '\'') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j) {
      word = word << 8 | (j < left ? static_cast<unsigned char>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += j <= left ? kDigits[word >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

void PageTable::Append(std::string_view name, char encoding, std::string_view text) {
  columns_ +=
      fmt::format("{}\"{}\":[\"{}\",\"{}\"]", columns_.empty() ? "" : ",", name, encoding, text);
}

void PageTable::Put(std::string_view name, char encoding, const std::vector<uint64_t>& values) {
  if (!values.empty() && std::all_of(values.begin(), values.end(), [&values](uint64_t value) {
        return value == values.front();
      })) {
    Append(name, 'c', fmt::format("{}", static_cast<int64_t>(values.front())));
    return;
  }
  std::string bytes;
  bytes.reserve(values.size() * 2);
  uint64_t last = 0;
  for (uint64_t value : values) {
    AppendVarint(Zigzag(encoding == 'd' ? value - last : value), &bytes);
    last = value;
  }
  Append(name, encoding, Base64(bytes));
}

void PageTable::PutOptional(std::string_view name,
                            const std::vector<std::optional<int64_t>>& values) {
  std::string bytes;
  bytes.reserve(values.size() * 2);
  uint64_t last = 0;
  for (const std::optional<int64_t>& value : values) {
    if (!value.has_value()) {
      bytes.push_back(0);
      continue;
    }
    const auto bits = static_cast<uint64_t>(*value);
    AppendVarint(static_cast<unsigned __int128>(Zigzag(bits - last)) + 1, &bytes);
    last = bits;
  }
  Append(name, 'o', Base64(bytes));
}

std::string PageTable::Json() const {
  return fmt::format("{{\"rows\":{},\"of\":{},\"columns\":{{{}}}}}", rows_.size(), of_, columns_);
}

}  // namespace acceltrace::view
