// SPDX-License-Identifier: Apache-2.0
//
// Finds jobs by their sequence number in their queue. Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_JOBS_BY_SEQUENCE_H_
#define LIBTRACE_ANALYSIS_ROWS_JOBS_BY_SEQUENCE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "libtrace/model/tables/tables.h"

namespace acceltrace::analysis {

// Hashes arrays of numbers.
struct HashOfNumbers {
  template <typename Numbers>
  size_t operator()(const Numbers& numbers) const {
    uint64_t hash = 0;
    for (const uint64_t number : numbers) {
      hash = (hash ^ number) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

class JobsBySequence {
 public:
  explicit JobsBySequence(const model::Jobs& jobs) : jobs_(jobs) {}

  // Returns the last job with that number, or kNoRow. The index is built at the first call, since
  // most traces need none.
  uint32_t Find(uint32_t device, uint32_t queue, uint64_t sequence) {
    if (rows_.empty()) Fill();
    const auto found = rows_.find({uint64_t{device} << 32 | queue, sequence});
    return found == rows_.end() ? model::kNoRow : found->second;
  }

 private:
  void Fill() {
    rows_.reserve(jobs_.size());
    for (uint32_t j = 0; j < jobs_.size(); ++j) {
      rows_[{uint64_t{jobs_.device[j]} << 32 | jobs_.queue[j], jobs_.sequence[j]}] = j;
    }
  }

  const model::Jobs& jobs_;
  // By queue and sequence number.
  std::unordered_map<std::array<uint64_t, 2>, uint32_t, HashOfNumbers> rows_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_JOBS_BY_SEQUENCE_H_
