// SPDX-License-Identifier: Apache-2.0
//
// Bits about jobs and records that are needed to select commands by the time of their jobs; there
// may be many of them. Internal.
#ifndef LIBTRACE_MODEL_PART_KNOWN_JOBS_H_
#define LIBTRACE_MODEL_PART_KNOWN_JOBS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace acceltrace::model {

// A job overlaps a period if one of its times is before the end of it and one after its begin.
// "Near" means the same for a longer period, which is safe with rough clocks.
enum KnownOfJob : uint8_t {
  kSubmitted = 1,
  kCompleted = 2,
  kRepeated = 4,
  kCounts = 8,  // it has commands, or the device knows it, depending on what is requested
  kBeforeEnd = 16,
  kAfterBegin = 32,
  kNearEnd = 64,
  kNearBegin = 128,
};

// All other times of such a job are between those of the host.
inline bool IsSure(uint8_t known) {
  return (known & (kSubmitted | kCompleted | kRepeated)) == (kSubmitted | kCompleted);
}
inline bool HasAll(uint8_t known, uint8_t bits) { return (known & bits) == bits; }

// Jobs by device and number. A driver numbers them consecutively.
class KnownJobs {
 public:
  // What is stored in addition.
  KnownJobs(bool owners, bool calls) : owners_(owners), calls_(calls) {}

  void CountRows(size_t rows) { rows_ += rows; }
  // Returns nullptr if the numbers are too far apart.
  uint8_t* Find(uint32_t device, uint32_t job) {
    if (device >= devices_.size()) devices_.resize(device + 1);
    Device& of = devices_[device];
    if (of.known.empty()) of.first = job - std::min(job, kSpare);
    if (job < of.first || job - of.first >= of.known.size()) {
      if (!Cover(job, &of)) return nullptr;
    }
    return &of.known[job - of.first];
  }
  void SetPid(uint32_t device, uint32_t job, uint32_t pid) {
    if (owners_) devices_[device].pids[job - devices_[device].first] = pid;
  }
  uint32_t PidOf(uint32_t device, uint32_t job) const {
    const Device& of = devices_[device];
    return of.pids[job - of.first];
  }
  // Sets the correlation of the call that submitted it.
  void SetCall(uint32_t device, uint32_t job, uint64_t call) {
    if (calls_) devices_[device].calls[job - devices_[device].first] = call;
  }
  // Calls each(known, call) for all jobs.
  template <typename Each>
  void EachCall(const Each& each) const {
    for (const Device& of : devices_) {
      for (size_t i = 0; i < of.known.size(); ++i) each(of.known[i], of.calls[i]);
    }
  }
  template <typename Fine>
  bool All(const Fine& fine) const {
    return std::all_of(devices_.begin(), devices_.end(), [&](const Device& device) {
      return std::all_of(device.known.begin(), device.known.end(), fine);
    });
  }

 private:
  static constexpr uint32_t kSpare = 1024;
  struct Device {
    uint32_t first = 0;
    std::vector<uint8_t> known;
    std::vector<uint32_t> pids;  // if requested
    std::vector<uint64_t> calls;
  };
  bool Cover(uint32_t job, Device* of) {
    const uint64_t least =
        job < of->first ? of->known.size() + (of->first - job) : uint64_t{job} - of->first + 1;
    if (least > 64 * kSpare + 8 * rows_) return false;
    if (job < of->first) {
      const uint32_t more = of->first - (job - std::min(job, kSpare));
      of->first -= more;
      of->known.insert(of->known.begin(), more, 0);
      if (owners_) of->pids.insert(of->pids.begin(), more, 0);
      if (calls_) of->calls.insert(of->calls.begin(), more, 0);
    } else {
      of->known.resize(least + least / 4 + kSpare);
      if (owners_) of->pids.resize(of->known.size());
      if (calls_) of->calls.resize(of->known.size());
    }
    return true;
  }

  const bool owners_, calls_;
  uint64_t rows_ = 0;
  std::vector<Device> devices_;  // by row
};

// Checks that record numbers are unique, and rise in each table.
class Records {
 public:
  bool Add(const uint64_t* numbers, size_t rows) {
    for (size_t i = 0; i < rows; ++i) {
      const auto record = static_cast<uint32_t>(numbers[i]);
      if (any_ && static_cast<int32_t>(record - last_) <= 0) return false;
      any_ = true, last_ = record;
      if (!all_->Put(record)) return false;
    }
    return true;
  }
  // The numbers of all tables of a device.
  class Device {
   public:
    bool Put(uint32_t record) {
      if (words_.empty()) first_ = (record - std::min(record, kSpare)) & ~63u;
      if (record < first_ || (record - first_) / 64 >= words_.size()) {
        if (!Cover(record)) return false;
      }
      uint64_t& word = words_[(record - first_) / 64];
      const uint64_t bit = uint64_t{1} << (record - first_) % 64;
      ++count_;
      return (std::exchange(word, word | bit) & bit) == 0;
    }

   private:
    static constexpr uint32_t kSpare = 1u << 16;
    // Returns false if they are too far apart.
    bool Cover(uint32_t record) {
      if (record < first_) {
        const uint32_t first = (record - std::min(record, kSpare)) & ~63u;
        if ((first_ - first) / 64 > 4 * kSpare + count_) return false;
        words_.insert(words_.begin(), (first_ - first) / 64, 0);
        first_ = first;
        return true;
      }
      const size_t least = (record - first_) / 64 + 1;
      if (least > 4 * kSpare + count_) return false;
      words_.resize(least + 1024);
      return true;
    }
    uint32_t first_ = 0;
    uint64_t count_ = 0;
    std::vector<uint64_t> words_;
  };
  explicit Records(Device* all) : all_(all) {}

 private:
  Device* all_;
  bool any_ = false;
  uint32_t last_ = 0;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_PART_KNOWN_JOBS_H_
