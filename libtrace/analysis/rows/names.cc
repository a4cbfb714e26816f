// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/names.h"

#include <algorithm>
#include <cstdint>

namespace acceltrace::analysis {
namespace {

// Mark in a pattern the place of a number, and an occurrence of this very byte in the untrusted
// name.
constexpr char kNumber[] = "\x01n", kSameByte[] = "\x01t";

struct Pieces {
  std::string pattern;
  std::vector<uint64_t> numbers;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Pieces Split(std::string_view name) {
  Pieces pieces;
  for (size_t i = 0; i < name.size();) {
    if (!IsDigit(name[i])) {
      if (name[i] == kNumber[0]) {
        pieces.pattern += kSameByte;
      } else {
        pieces.pattern += name[i];
      }
      ++i;
      continue;
    }
    uint64_t number = 0;
    size_t digits = 0;
    // Longer numbers are treated as text.
    constexpr size_t kMostDigits = 9;
    while (i + digits < name.size() && IsDigit(name[i + digits])) ++digits;
    constexpr size_t kMostNumbers = 16;
    if (digits > kMostDigits || (digits > 1 && name[i] == '0') ||
        pieces.numbers.size() == kMostNumbers) {
      pieces.pattern += name.substr(i, digits);
    } else {
      for (size_t d = 0; d < digits; ++d)
        number = number * 10 + static_cast<uint64_t>(name[i + d] - '0');
      pieces.pattern += kNumber;
      pieces.numbers.push_back(number);
    }
    i += digits;
  }
  return pieces;
}

}  // namespace

NameGroups::NameGroups(bool fold, const std::vector<std::string_view>& names) {
  if (!fold) return;
  std::map<std::string, std::vector<std::vector<uint64_t>>> seen;  // by pattern and place
  for (const std::string_view name : names) {
    const Pieces pieces = Split(name);
    if (pieces.numbers.empty()) continue;
    auto& numbers = seen[pieces.pattern];
    numbers.resize(pieces.numbers.size());
    for (size_t p = 0; p < numbers.size(); ++p) numbers[p].push_back(pieces.numbers[p]);
  }
  for (auto& [pattern, numbers] : seen) {
    std::vector<Place>& places = places_[pattern];
    for (std::vector<uint64_t>& at : numbers) {
      std::sort(at.begin(), at.end());
      at.erase(std::unique(at.begin(), at.end()), at.end());
      places.push_back({at.front(), at.back(), at.back() - at.front() + 1 == at.size()});
    }
  }
}

std::string NameGroups::Of(const std::string& name) const {
  if (places_.empty()) return name;
  const std::string pattern = Split(name).pattern;
  const auto found = places_.find(pattern);
  if (found == places_.end()) return name;
  std::string group;
  auto place = found->second.begin();
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != kNumber[0] || pattern[++i] != kNumber[1]) {
      group += c;
      continue;
    }
    if (!place->consecutive) return name;
    if (place->least == place->most) {
      group += std::to_string(place->least);
    } else {
      group += "[" + std::to_string(place->least) + "-" + std::to_string(place->most) + "]";
    }
    ++place;
  }
  return group;
}

}  // namespace acceltrace::analysis
