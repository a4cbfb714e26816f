// SPDX-License-Identifier: Apache-2.0
//
// Finds rows by a number that each has: ids of jobs, of calls.
#ifndef LIBTRACE_MODEL_COLUMNS_KEY_INDEX_H_
#define LIBTRACE_MODEL_COLUMNS_KEY_INDEX_H_

#include <sys/random.h>
#include <sys/types.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace acceltrace::model {

// A hash table with open addressing. Consecutive numbers, as ids are, have consecutive places in
// one cache line; such groups are distributed by hash. key_of(row): returns the number of an
// existing row.
class KeyIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // rows: the expected number.
  explicit KeyIndex(size_t rows = 0) : factor_(Factor()), places_(SizeFor(rows), kNone) {}

  template <typename KeyOf>
  uint32_t Find(uint64_t key, const KeyOf& key_of) const {
    return places_[PlaceOf(key, key_of)];
  }
  // Returns the row that already has the key; otherwise, adds this one.
  template <typename KeyOf>
  uint32_t Add(uint64_t key, uint32_t row, const KeyOf& key_of) {
    uint32_t* place = &places_[PlaceOf(key, key_of)];
    if (*place != kNone) return *place;
    if (++used_ * 2 > places_.size()) {
      Grow(key_of);
      place = &places_[PlaceOf(key, key_of)];
    }
    return *place = row;
  }

 private:
  static constexpr int kGroupBits = 4;
  static constexpr uint64_t kGroup = uint64_t{1} << kGroupBits;

  // Random for each process, so that a trace cannot contain ids that are chosen to collide.
  static uint64_t Factor() {
    static const uint64_t factor = [] {
      uint64_t random = 0;
      const ssize_t got = getrandom(&random, sizeof random, GRND_NONBLOCK);
      return (got == ssize_t{sizeof random} ? random : 0x9e3779b97f4a7c15) | 1;
    }();
    return factor;
  }

  static size_t SizeFor(size_t rows) { return std::bit_ceil(2 * rows + kGroup); }
  template <typename KeyOf>
  size_t PlaceOf(uint64_t key, const KeyOf& key_of) const {
    const size_t mask = places_.size() - 1;
    // With the product alone, consecutive groups would be adjacent, and collide for some factors.
    uint64_t group = (key >> kGroupBits) * factor_;
    group = ((group ^ group >> 32) * 0x9e3779b97f4a7c15) >> 28;
    size_t at = ((group & ~(kGroup - 1)) | (key & (kGroup - 1))) & mask;
    while (places_[at] != kNone && key_of(places_[at]) != key) at = (at + 1) & mask;
    return at;
  }
  template <typename KeyOf>
  void Grow(const KeyOf& key_of) {
    std::vector<uint32_t> old(2 * places_.size(), kNone);
    old.swap(places_);
    for (const uint32_t row : old) {
      if (row != kNone) places_[PlaceOf(key_of(row), key_of)] = row;
    }
  }

  uint64_t factor_;
  std::vector<uint32_t> places_;
  size_t used_ = 0;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_COLUMNS_KEY_INDEX_H_
