// SPDX-License-Identifier: Apache-2.0
//
// What the host's events say of each job. Internal: the clock's fit needs it before the jobs are
// joined.
#ifndef LIBTRACE_MODEL_HOST_JOBS_H_
#define LIBTRACE_MODEL_HOST_JOBS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "libtrace/model/key_index.h"
#include "libtrace/model/model.h"

namespace acceltrace::model {

// Times as in Jobs.
struct HostJob {
  bool submitted = false;
  uint32_t context = 0, queue = 0, pid = 0, tid = 0, commands = 0, status = 0;
  uint64_t sequence = 0, correlation = 0, copy_bytes = 0, wait_correlation = 0;
  int64_t submit_ns = kNoTime, doorbell_ns = kNoTime, submit_end_ns = kNoTime;
  int64_t irq_ns = kNoTime, complete_ns = kNoTime, wait_ns = kNoTime, wake_ns = kNoTime;
};

inline uint64_t JobKey(uint32_t device, uint32_t job) {
  return (static_cast<uint64_t>(device) << 32) | job;
}

// By JobKey; each stays where it is.
class HostJobs {
 public:
  size_t size() const { return keys_.size(); }
  const std::vector<uint64_t>& keys() const { return keys_; }
  // nullptr: the host did not speak of it.
  const HostJob* Find(uint64_t key) const {
    // Most are asked for in their order.
    if (last_ + 1 < keys_.size() && keys_[last_ + 1] == key) return At(++last_);
    const uint32_t row = index_.Find(key, KeyOf{keys_});
    if (row == KeyIndex::kNone) return nullptr;
    last_ = row;
    return At(row);
  }
  // Made if it is not there.
  HostJob* Get(uint64_t key) {
    // Events of a job are close to each other.
    uint32_t& known = known_[key % kKnown];
    if (known < keys_.size() && keys_[known] == key) return At(known);
    const auto next = static_cast<uint32_t>(keys_.size());
    const uint32_t row = known = index_.Add(key, next, KeyOf{keys_});
    if (row != next) return At(row);
    keys_.push_back(key);
    if (next % kChunk == 0) chunks_.push_back(std::make_unique<HostJob[]>(kChunk));
    return At(next);
  }

 private:
  static constexpr size_t kChunk = 256;

  struct KeyOf {
    const std::vector<uint64_t>& keys;
    uint64_t operator()(uint32_t row) const { return keys[row]; }
  };
  HostJob* At(uint32_t row) const { return &chunks_[row / kChunk][row % kChunk]; }

  static constexpr size_t kKnown = 64;

  KeyIndex index_;
  std::array<uint32_t, kKnown> known_{};  // rows of keys that were asked for
  mutable uint32_t last_ = 0;             // the row that was found last
  std::vector<uint64_t> keys_;            // in order of their first events
  std::vector<std::unique_ptr<HostJob[]>> chunks_;
};

// host is sorted by time.
HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_HOST_JOBS_H_
