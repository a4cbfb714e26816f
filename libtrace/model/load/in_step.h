// SPDX-License-Identifier: Apache-2.0
//
// Tells if the order of a device's records adds to what the events of its jobs show, and if not,
// what it shows of lost records. Internal.
#ifndef LIBTRACE_MODEL_LOAD_IN_STEP_H_
#define LIBTRACE_MODEL_LOAD_IN_STEP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "libtrace/model/load/decode.h"
#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::model {

// Host times of consecutive rows of jobs.
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
  // Loads a row of DeviceJobs and others near it.
  std::function<void(size_t row, SideRows* rows)> load;
  std::function<HostJobs::Times(uint32_t job)> of_job;  // by job number
};

// For most traces, the order adds nothing: each command whose record follows that of a job was
// complete for the host no earlier than this job. For one device whose tables are sorted by record.
// *any_lost: receives whether record numbers are missing.
bool IsInStep(const Model& model, const Decoder& decoder, const SidesOfJobs& sides, bool* any_lost);

// In that case, what the order of records shows of lost ones, and of the two that border on them.
struct LostRecords {
  // The first record that is followed by lost ones, and the last one that directly follows lost
  // ones.
  struct Edge {
    uint64_t record = 0;
    int64_t lo_ns = clock::Window::kMin;  // of the records before it
    int64_t hi_ns = clock::Window::kMax;  // of the records after it
  };
  Edge first_before, last_after;
  std::vector<clock::Window> when;  // for each lost sequence, in order; adjacent ones may touch
};
// Must only be called if some were lost.
LostRecords FindLost(const Model& model, const Decoder& decoder, const SidesOfJobs& sides);

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_IN_STEP_H_
