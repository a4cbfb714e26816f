// SPDX-License-Identifier: Apache-2.0
//
// Host events on their way to laws, as they come. Internal.
#ifndef LIBTRACE_MODEL_HOST_INTAKE_H_
#define LIBTRACE_MODEL_HOST_INTAKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libtrace/model/checked_events.h"
#include "libtrace/model/collect_jobs.h"
#include "libtrace/model/decode_columns.h"
#include "libtrace/stream/table_rows.h"

namespace acceltrace::model {

// For LoadOptions::checks_only: while rows come in order nothing needs to be kept of them but what
// HostJobs and CheckedEvents are. Where they are not, all of them are needed (DropRepeated(),
// SortHost(), MergeHandlerRuns(), FindOrders()): then the trace is read once more.
class HostIntake {
 public:
  // stats must outlive it.
  explicit HostIntake(LoadStats* stats) : stats_(*stats), jobs_(stats) {}

  // No more than kRowsAtOnce. row_of(device): by its number in the trace, or kNoRow.
  using RowOf = std::function<uint32_t(uint32_t)>;
  void Add(const stream::TableRows& rows, const RowOf& row_of);
  // Of all rows so far; if not, nothing else may be asked for.
  bool in_order() const { return in_order_; }
  // After the last row.
  HostJobs Done(HostEvents* host);

 private:
  HostRows Read(const stream::TableRows& rows);
  bool FindDevices(size_t rows, const RowOf& row_of);
  bool HasInFlight(const stream::TableRows& rows);
  bool IsInOrder(const HostRows& events, size_t rows);
  void AddHeld(bool shares_next);

  LoadStats& stats_;
  JobCollector jobs_;
  CheckedEvents checked_;
  bool in_order_ = true;
  uint32_t device_ = kNoRow;  // the only one
  // Runs of the handler at run_ns_, by device and queue.
  int64_t run_ns_ = kNoTime;
  std::vector<uint64_t> runs_;
  // The last row, once there is one: whether it is alone in its time only the next one tells.
  bool holds_ = false, shares_before_ = false;
  HostRoom<1> held_;
  HostRoom<kRowsAtOnce> room_;  // for columns that do not lie anywhere as they are
  static constexpr size_t kFields = 13;
  std::array<bool, kFields> is_zero_{};  // so is that column of it
  std::array<uint8_t, kRowsAtOnce> in_flight_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_HOST_INTAKE_H_
