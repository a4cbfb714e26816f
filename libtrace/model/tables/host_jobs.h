// SPDX-License-Identifier: Apache-2.0
//
// What the host's events tell about each job. Internal: the fit of the clock needs it before the
// jobs are joined.
#ifndef LIBTRACE_MODEL_TABLES_HOST_JOBS_H_
#define LIBTRACE_MODEL_TABLES_HOST_JOBS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "libtrace/model/columns/job_keys.h"
#include "libtrace/model/columns/key_index.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// The fields of a job or of many jobs, or kNotKnown for each. Times as in Jobs.
template <template <typename> typename Of>
struct HostJobFields {
  Of<uint8_t> submitted;
  Of<uint32_t> context, queue, pid, tid, commands, status;
  Of<uint64_t> sequence, correlation, copy_bytes, wait_correlation;
  Of<int64_t> submit_ns, doorbell_ns, submit_end_ns, irq_ns, complete_ns, wait_ns, wake_ns;
};

template <typename T>
inline constexpr T kNotKnown = 0;
template <>
inline constexpr int64_t kNotKnown<int64_t> = kNoTime;

inline uint64_t JobKey(uint32_t device, uint32_t job) {
  return (static_cast<uint64_t>(device) << 32) | job;
}

// Jobs by JobKey; rows are in the order of first events. Old jobs only take memory where they
// differ from their neighbours, until another event of one of them follows.
class HostJobs {
 public:
  static constexpr uint32_t kNone = KeyIndex::kNone;
  static constexpr size_t kChunk = Column<uint8_t>::kRows;
  template <typename T>
  using Values = std::array<T, kChunk>;
  using Chunk = HostJobFields<Values>;

  size_t size() const { return keys_.size(); }
  const JobKeys& keys() const { return keys_; }
  // Returns true if keys rise.
  bool rise() const { return rise_; }
  // Returns kNone if the host did not see the job.
  uint32_t Find(uint64_t key) const {
    // Most lookups are in order.
    if (last_ + 1 < keys_.size() && keys_[last_ + 1] == key) return ++last_;
    const uint32_t row = rise_ ? FindRising(key) : index_.Find(key, KeyOf{keys_});
    if (row != kNone) last_ = row;
    return row;
  }
  // The times of a job that the host recorded.
  struct Times {
    int64_t submit_ns = kNoTime, doorbell_ns = kNoTime, complete_ns = kNoTime;
  };
  Times TimesOf(uint32_t row) const;
  // Consecutive rows of one chunk, or a number of rows of kNone.
  struct Stretch {
    uint32_t row;
    size_t rows;
  };
  static void FindStretches(const uint32_t* rows, size_t count, std::vector<Stretch>* stretches);
  // Reads one field of all stretches, or kNotKnown for kNone. field(HostJobFields): returns the
  // field.
  template <typename Field, typename T>
  void Read(const Field& field, const std::vector<Stretch>& stretches, T* out) const {
    for (const Stretch& stretch : stretches) {
      const size_t at = stretch.row % kChunk;
      if (stretch.row == kNone) {
        std::fill_n(out, stretch.rows, kNotKnown<T>);
      } else if (const Chunk* chunk = chunks_[stretch.row / kChunk].get(); chunk != nullptr) {
        std::copy_n(field(*chunk).data() + at, stretch.rows, out);
      } else {
        field(packed_).Read(stretch.row, stretch.rows, out);
      }
      out += stretch.rows;
    }
  }
  // Returns true if Take() may be called: no job had another event after its chunk was packed.
  bool in_order() const { return !reopened_; }
  // Moves one field of all jobs to *out.
  template <typename Field, typename T>
  void Take(const Field& field, Column<T>* out) {
    *out = std::move(field(packed_));
    while (out->size() < keys_.size()) {
      const size_t first = out->size();
      out->AppendValues(field(*chunks_[first / kChunk]).data(),
                        std::min(kChunk, keys_.size() - first));
    }
  }
  // Where the fields of a job are. Valid until the next Get().
  struct Place {
    Chunk* chunk;
    size_t at;
  };
  // Adds the job if necessary.
  Place Get(uint64_t key) {
    // Events of a job are close to each other.
    uint32_t& known = known_[key % kKnown];
    if (known >= keys_.size() || keys_[known] != key) known = Add(key);
    Chunk* chunk = chunks_[known / kChunk].get();
    return {chunk != nullptr ? chunk : Open(known / kChunk), known % kChunk};
  }

 private:
  static constexpr size_t kOpen = 4;  // the newest chunks: events of a job are close to each other
  static constexpr size_t kKnown = 64;  // rows
  static constexpr size_t kSlots = 4;

  struct KeyOf {
    const JobKeys& keys;
    uint64_t operator()(uint32_t row) const { return keys[row]; }
  };
  // The times of a chunk that were unpacked for reading.
  struct TimesSlot {
    size_t chunk = SIZE_MAX;
    Values<int64_t> submit_ns, doorbell_ns, complete_ns;
  };
  uint32_t FindRising(uint64_t key) const {
    const std::optional<size_t> row = keys_.Find(key);
    return row ? static_cast<uint32_t>(*row) : kNone;
  }
  uint32_t Add(uint64_t key);
  Chunk* Open(size_t chunk);
  void Pack(size_t chunk);

  bool rise_ = true;                      // keys rise, as those of one device usually do
  KeyIndex index_;                        // if they do not
  std::array<uint32_t, kKnown> known_{};  // rows of recent keys
  mutable uint32_t last_ = 0;             // the last one found
  JobKeys keys_;
  HostJobFields<Column> packed_;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // nullptr: packed
  bool reopened_ = false;                       // true if a packed chunk was opened again
  mutable std::unique_ptr<std::array<TimesSlot, kSlots>> times_;
  mutable size_t unpacked_times_ = 0;  // how often times were unpacked
};

// Calls each(a's field, b's field) for all fields.
template <typename A, typename B, typename Each>
void EachHostJobField(A& a, B& b, const Each& each) {
  each(a.submitted, b.submitted);
  each(a.context, b.context), each(a.queue, b.queue);
  each(a.pid, b.pid), each(a.tid, b.tid);
  each(a.commands, b.commands), each(a.status, b.status);
  each(a.sequence, b.sequence), each(a.correlation, b.correlation);
  each(a.copy_bytes, b.copy_bytes), each(a.wait_correlation, b.wait_correlation);
  each(a.submit_ns, b.submit_ns), each(a.doorbell_ns, b.doorbell_ns);
  each(a.submit_end_ns, b.submit_end_ns), each(a.irq_ns, b.irq_ns);
  each(a.complete_ns, b.complete_ns), each(a.wait_ns, b.wait_ns), each(a.wake_ns, b.wake_ns);
}

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_HOST_JOBS_H_
