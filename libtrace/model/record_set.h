// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a device's records, and how many are there more than once. Internal.
#ifndef LIBTRACE_MODEL_RECORD_SET_H_
#define LIBTRACE_MODEL_RECORD_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace acceltrace::model {

// A device numbers its records one after the other: where many are close to each other each takes a
// bit.
class RecordSet {
 public:
  // Modulo 2^32, as the device counts.
  void Add(std::span<const uint64_t> numbers);
  // How many are as another one that was added before them. Nothing may be added then.
  uint64_t Repeated();

 private:
  static constexpr uint32_t kPage = 4096;  // numbers
  using Page = std::array<uint64_t, kPage / 64>;
  // The rest takes four bytes each, so that a damaged trace takes no more room than that.
  static constexpr size_t kFreePages = 64, kLeastOfPage = kPage / 16;

  Page* PageOf(uint32_t page);

  size_t added_ = 0;
  uint64_t repeated_ = 0;
  std::unordered_map<uint32_t, Page> pages_;
  std::vector<uint32_t> others_;  // had no page when they came
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_RECORD_SET_H_
