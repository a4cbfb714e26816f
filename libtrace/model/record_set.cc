// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/record_set.h"

#include <algorithm>

namespace acceltrace::model {
namespace {

uint32_t Cut(uint64_t number) { return static_cast<uint32_t>(number); }

}  // namespace

// nullptr: it would be one of too few numbers.
RecordSet::Page* RecordSet::PageOf(uint32_t page) {
  if (pages_.size() < kFreePages + added_ / kLeastOfPage) return &pages_[page];
  const auto known = pages_.find(page);
  return known != pages_.end() ? &known->second : nullptr;
}

void RecordSet::Add(std::span<const uint64_t> numbers) {
  added_ += numbers.size();
  uint64_t repeated = 0;
  for (size_t i = 0; i < numbers.size();) {
    const uint32_t at = Cut(numbers[i]) / kPage;
    Page* const page = PageOf(at);
    while (i < numbers.size() && Cut(numbers[i]) / kPage == at) {
      if (page == nullptr) {
        others_.push_back(Cut(numbers[i++]));
        continue;
      }
      // Neighbours share a word: it is loaded and stored once for them.
      const uint32_t place = Cut(numbers[i]) / 64;
      uint64_t& word = (*page)[place % page->size()];
      uint64_t bits = word;
      for (; i < numbers.size() && Cut(numbers[i]) / 64 == place; ++i) {
        repeated += bits >> numbers[i] % 64 & 1;
        bits |= uint64_t{1} << numbers[i] % 64;
      }
      word = bits;
    }
  }
  repeated_ += repeated;
}

uint64_t RecordSet::Repeated() {
  std::sort(others_.begin(), others_.end());
  for (size_t i = 0; i < others_.size(); ++i) {
    const uint32_t number = others_[i];
    // It may have got its page later on.
    const auto page = pages_.find(number / kPage);
    const bool in_page =
        page != pages_.end() && (page->second[number / 64 % (kPage / 64)] >> number % 64 & 1) != 0;
    repeated_ += in_page || (i > 0 && number == others_[i - 1]);
  }
  others_ = {};
  return repeated_;
}

}  // namespace acceltrace::model
