// SPDX-License-Identifier: Apache-2.0
//
// What the order of events shows of jobs' device times. Internal.
#ifndef LIBTRACE_MODEL_JOB_ORDERS_H_
#define LIBTRACE_MODEL_JOB_ORDERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "libtrace/clock/constraints.h"
#include "libtrace/model/decode.h"
#include "libtrace/model/in_step.h"
#include "libtrace/model/windows.h"

namespace acceltrace::model {

// Those of one row.
void AddOrders(const Windows& windows, size_t row, const Windows::Side& side, uint64_t doorbell,
               uint64_t completion, clock::Constraints* orders);

// Those of all jobs of the only device, where the order of its records says no more of a job than
// its own events (in_step.h). Jobs that were rung, and complete for the host later, are looked at
// in the columns; others are few.
class JobOrders : public clock::OrderSource {
 public:
  // Refers to both. The jobs' times are as they came.
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
  std::map<size_t, clock::Constraints> others_;  // of chunks that have others
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_JOB_ORDERS_H_
