// SPDX-License-Identifier: Apache-2.0
//
// Collects the host's events of each job. Internal.
#ifndef LIBTRACE_MODEL_LOAD_COLLECT_JOBS_H_
#define LIBTRACE_MODEL_LOAD_COLLECT_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/host_rows.h"

namespace acceltrace::model {

// Takes events in order of time.
class JobCollector {
 public:
  // stats must outlive it.
  explicit JobCollector(LoadStats* stats) : stats_(*stats) {}

  void Add(const HostRows& events, size_t rows);
  // Must be called after the last event.
  HostJobs Done() { return std::move(jobs_); }

 private:
  // True and its start while a thread waits.
  struct Wait {
    bool waits = false;
    uint32_t device = 0, queue = 0;
    uint64_t sequence = 0;
    int64_t since_ns = kNoTime;
  };
  // A run of the handler tells how many completions it found in its queue, but not which: they are
  // the next ones that the driver consumes there. Further ones (found by polling, or written
  // meanwhile) had no run.
  struct Ready {
    int64_t irq_ns = kNoTime;
    uint64_t left = 0;
  };
  // Remembers the last lookup, because most keys are looked up several times in a row.
  template <typename Map>
  class Remembered {
   public:
    typename Map::mapped_type& operator[](typename Map::key_type key) {
      if (last_ == nullptr || key != last_key_) last_key_ = key, last_ = &all_[key];
      return *last_;
    }

   private:
    Map all_;  // its values do not move
    typename Map::key_type last_key_{};
    typename Map::mapped_type* last_ = nullptr;
  };

  void AddToJob(const HostRows& events, size_t i, HostJobs::Place place);

  LoadStats& stats_;
  HostJobs jobs_;
  uint64_t key_ = 0;  // of the last lookup; 0 is not a job's
  HostJobs::Place place_{};
  Remembered<std::unordered_map<uint32_t, Wait>> waits_;  // by thread
  Remembered<std::map<uint64_t, Ready>> ready_;           // by device and queue
};

// host must be sorted by time.
HostJobs CollectHostJobs(const HostEvents& host, LoadStats* stats);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_COLLECT_JOBS_H_
