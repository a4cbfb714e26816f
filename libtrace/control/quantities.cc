// SPDX-License-Identifier: Apache-2.0
#include "libtrace/control/quantities.h"

#include <charconv>
#include <cmath>
#include <iterator>

namespace acceltrace::control {
namespace {

struct Scale {
  std::string_view suffix;
  double factor;
};

std::optional<uint64_t> ParseScaled(std::string_view text, const Scale* scales, size_t count) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  for (size_t i = 0; i < count; ++i) {
    if (suffix != scales[i].suffix) continue;
    const double value = number * scales[i].factor;
    if (value > 9e18) return std::nullopt;
    return static_cast<uint64_t>(std::llround(value));
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> ParseDurationNs(std::string_view text) {
  static constexpr Scale kScales[] = {{"", 1},     {"ns", 1},  {"us", 1e3},
                                      {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
  return ParseScaled(text, kScales, std::size(kScales));
}

std::optional<uint64_t> ParseBytes(std::string_view text) {
  static constexpr Scale kScales[] = {
      {"", 1}, {"K", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}};
  return ParseScaled(text, kScales, std::size(kScales));
}

}  // namespace acceltrace::control
