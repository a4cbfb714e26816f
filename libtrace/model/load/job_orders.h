// SPDX-License-Identifier: Apache-2.0
//
// Finds constraints on jobs' device times in the order of events. Internal.
#ifndef LIBTRACE_MODEL_LOAD_JOB_ORDERS_H_
#define LIBTRACE_MODEL_LOAD_JOB_ORDERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "libtrace/clock/constraints.h"
#include "libtrace/model/load/decode.h"
#include "libtrace/model/load/in_step.h"
#include "libtrace/model/load/windows.h"

namespace acceltrace::model {

// Adds those of one row.
void AddOrders(const Windows& windows, size_t row, const Windows::Side& side, uint64_t doorbell,
               uint64_t completion, clock::Constraints* orders);

// The constraints of all jobs of the only device, if the order of its records adds nothing to a
// job's own events (in_step.h). Jobs with a doorbell and a later completion on the host are
// evaluated by columns; others are rare.
class JobOrders : public clock::OrderSource {
 public:
  // Keeps references to both. The jobs' times must be as they were decoded.
  JobOrders(const DeviceJobs& jobs, const Windows& windows) : jobs_(jobs), windows_(windows) {}

  size_t chunks() const override { return (jobs_.size() + kRows - 1) / kRows; }
  Chunk ChunkAt(size_t chunk) override;
  int64_t NearNs(size_t chunk, size_t at) const override {
    return jobs_.near_ns[chunk * kRows + at];
  }

 private:
  static constexpr size_t kRows = SideRows::kRows;

  bool SetWindows(size_t rows);

  const DeviceJobs& jobs_;
  const Windows& windows_;
  SideRows sides_;
  uint64_t doorbells_[kRows], completions_[kRows];
  uint32_t none_[kRows] = {}, until_end_[kRows], since_submit_[kRows];
  std::map<size_t, clock::Constraints> others_;  // of the chunks that have other jobs
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_JOB_ORDERS_H_
