// SPDX-License-Identifier: Apache-2.0
//
// Whether the order of a device's records says more of its jobs than their own events, and what it
// says of those that were lost if not. Internal.
#ifndef LIBTRACE_MODEL_IN_STEP_H_
#define LIBTRACE_MODEL_IN_STEP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "libtrace/model/decode.h"
#include "libtrace/model/host_jobs.h"
#include "libtrace/model/model.h"

namespace acceltrace::model {

// What the host says of when jobs were whose rows follow each other.
struct SideRows {
  static constexpr size_t kRows = HostJobs::kChunk;
  bool Has(size_t row) const { return row - first < kRows; }
  HostJobs::Times At(size_t row) const {
    return {submit_ns[row - first], doorbell_ns[row - first], complete_ns[row - first]};
  }
  size_t first = SIZE_MAX / 2;
  int64_t submit_ns[kRows], doorbell_ns[kRows], complete_ns[kRows];
};
struct SidesOfJobs {
  // Of a row of DeviceJobs and others near it.
  std::function<void(size_t row, SideRows* rows)> load;
  std::function<HostJobs::Times(uint32_t job)> of_job;  // by its number
};

// Of most traces it says no more: each command whose record comes behind that of a job was complete
// for the host no earlier than this job. Of one device whose tables are in the order of their
// records. *any_lost: whether numbers of records are missing.
bool IsInStep(const Model& model, const Decoder& decoder, const SidesOfJobs& sides, bool* any_lost);

// What else the order says there of records that were lost, and of two that are not.
struct LostRecords {
  // The first one that is followed by lost ones, and the last one that comes right behind some.
  struct Edge {
    uint64_t record = 0;
    int64_t lo_ns = clock::Window::kMin;  // of those before it
    int64_t hi_ns = clock::Window::kMax;  // of those after it
  };
  Edge first_before, last_after;
  std::vector<clock::Window> when;  // of each in order; neighbours may meet
};
// Some were lost.
LostRecords FindLost(const Model& model, const Decoder& decoder, const SidesOfJobs& sides);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_IN_STEP_H_
