// SPDX-License-Identifier: Apache-2.0
//
// The set of sequence numbers seen so far. Internal.
#ifndef LIBTRACE_BASE_SEQUENCE_SET_H_
#define LIBTRACE_BASE_SEQUENCE_SET_H_

#include <cstdint>
#include <iterator>
#include <map>

namespace acceltrace {

// Stores intervals: one for an undamaged stream, at most one for each packet.
class SequenceSet {
 public:
  // Returns false if the number was already there.
  bool Add(uint64_t number) {
    auto next = runs_.upper_bound(number);
    if (next != runs_.begin()) {
      const auto run = std::prev(next);
      if (number <= run->second) return false;
      if (number == run->second + 1) {
        run->second = number;
        if (next != runs_.end() && next->first == number + 1) {
          run->second = next->second;
          runs_.erase(next);
        }
        return true;
      }
    }
    if (next != runs_.end() && next->first == number + 1) {
      const uint64_t last = next->second;
      runs_.erase(next);
      runs_.emplace(number, last);
    } else {
      runs_.emplace(number, number);
    }
    return true;
  }

  // Returns how many numbers from 1 to the highest one are not in the set.
  uint64_t Missing() const {
    uint64_t missing = 0, expected = 1;
    for (const auto& [first, last] : runs_) {
      if (first > expected) missing += first - expected;
      expected = last + 1;
    }
    return missing;
  }

 private:
  std::map<uint64_t, uint64_t> runs_;  // first to last of each interval
};

}  // namespace acceltrace

#endif  // LIBTRACE_BASE_SEQUENCE_SET_H_
