// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/names.h"

#include <cstdint>
#include <set>

namespace acceltrace::analysis {
namespace {

// In a pattern: a number stood here; this very byte stood in the name, which is untrusted.
constexpr char kNumber[] = "\x01n", kSameByte[] = "\x01t";

struct Pieces {
  std::string pattern;
  std::vector<uint64_t> numbers;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Pieces Split(const std::string& name) {
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
    // A number too long to count with stays text.
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

std::map<std::string, std::string> FoldNames(const std::vector<std::string>& names) {
  std::map<std::string, Pieces> pieces;
  std::map<std::string, std::vector<std::set<uint64_t>>> values;  // by pattern and place
  for (const std::string& name : names) {
    const auto [where, fresh] = pieces.emplace(name, Split(name));
    if (!fresh) continue;
    auto& places = values[where->second.pattern];
    places.resize(where->second.numbers.size());
    for (size_t p = 0; p < places.size(); ++p) places[p].insert(where->second.numbers[p]);
  }
  std::map<std::string, std::string> groups;
  for (const auto& [name, piece] : pieces) {
    std::string group;
    size_t place = 0;
    bool folds = true;
    for (size_t i = 0; i < piece.pattern.size(); ++i) {
      const char c = piece.pattern[i];
      if (c != kNumber[0] || piece.pattern[++i] != kNumber[1]) {
        group += c;
        continue;
      }
      const std::set<uint64_t>& seen = values[piece.pattern][place];
      if (seen.size() == 1) {
        group += std::to_string(*seen.begin());
      } else if (*seen.rbegin() - *seen.begin() + 1 == seen.size()) {
        group += "[" + std::to_string(*seen.begin()) + "-" + std::to_string(*seen.rbegin()) + "]";
      } else {
        folds = false;
      }
      ++place;
    }
    groups[name] = folds ? group : name;
  }
  return groups;
}

}  // namespace acceltrace::analysis
