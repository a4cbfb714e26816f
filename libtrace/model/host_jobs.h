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

// By JobKey, in order of their first events. Jobs whose events were long ago take room only where
// they differ from their neighbours, until one of them is spoken of again.
class HostJobs {
 public:
  static constexpr uint32_t kNone = KeyIndex::kNone;

  size_t size() const { return keys_.size(); }
  const std::vector<uint64_t>& keys() const { return keys_; }
  // kNone: the host did not speak of it.
  uint32_t Find(uint64_t key) const {
    // Most are asked for in their order.
    if (last_ + 1 < keys_.size() && keys_[last_ + 1] == key) return ++last_;
    const uint32_t row = index_.Find(key, KeyOf{keys_});
    if (row != kNone) last_ = row;
    return row;
  }
  // When a job was, as far as the host says so.
  struct Times {
    int64_t submit_ns = kNoTime, doorbell_ns = kNoTime, complete_ns = kNoTime;
  };
  Times TimesOf(uint32_t row) const;
  // Good until the next one is asked for.
  const HostJob& At(uint32_t row) const {
    const HostJob* jobs = chunks_[row / kChunk].get();
    if (jobs == nullptr) jobs = Unpacked(row / kChunk);
    return jobs[row % kChunk];
  }
  // Made if it is not there. Good until the next Get().
  HostJob* Get(uint64_t key);

 private:
  static constexpr size_t kChunk = Column<uint8_t>::kRows;
  static constexpr size_t kOpen = 4;  // the newest chunks: events of a job are close to each other
  static constexpr size_t kKnown = 64;  // rows
  static constexpr size_t kSlots = 4;

  struct KeyOf {
    const std::vector<uint64_t>& keys;
    uint64_t operator()(uint32_t row) const { return keys[row]; }
  };
  // Fields of jobs, chunk by chunk.
  struct Packed {
    Column<uint8_t> submitted;
    Column<uint32_t> context, queue, pid, tid, commands, status;
    Column<uint64_t> sequence, correlation, copy_bytes, wait_correlation;
    Column<int64_t> submit_ns, doorbell_ns, submit_end_ns, irq_ns, complete_ns, wait_ns, wake_ns;
  };
  // A chunk that was unpacked to be read, or its times alone.
  struct Slot {
    size_t chunk = SIZE_MAX;
    std::unique_ptr<HostJob[]> jobs;
  };
  struct TimesSlot {
    size_t chunk = SIZE_MAX;
    std::array<int64_t, kChunk> submit_ns, doorbell_ns, complete_ns;
  };
  // each(member of HostJob, column of Packed)
  template <typename Of, typename Each>
  static void EachField(Of* packed, const Each& each);
  HostJob* Open(uint32_t row);
  void Pack(size_t chunk);
  void Unpack(size_t chunk, HostJob* jobs) const;
  const HostJob* Unpacked(size_t chunk) const;

  KeyIndex index_;
  std::array<uint32_t, kKnown> known_{};  // rows of keys that were asked for
  mutable uint32_t last_ = 0;             // the row that was found last
  std::vector<uint64_t> keys_;
  Packed packed_;
  mutable std::vector<std::unique_ptr<HostJob[]>> chunks_;  // nullptr: packed
  mutable std::array<Slot, kSlots> slots_;
  mutable std::unique_ptr<std::array<TimesSlot, kSlots>> times_;
  mutable size_t unpacked_ = 0, unpacked_times_ = 0;  // how often one was
};

// host is sorted by time.
HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_HOST_JOBS_H_
