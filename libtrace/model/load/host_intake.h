// SPDX-License-Identifier: Apache-2.0
//
// Processes host events on arrival for checking laws. Internal.
#ifndef LIBTRACE_MODEL_LOAD_HOST_INTAKE_H_
#define LIBTRACE_MODEL_LOAD_HOST_INTAKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libtrace/model/columns/decode_columns.h"
#include "libtrace/model/load/checked_events.h"
#include "libtrace/model/load/collect_jobs.h"
#include "libtrace/stream/columns/table_rows.h"

namespace acceltrace::model {

// For LoadOptions::checks_only: as long as rows arrive in order, only what HostJobs and
// CheckedEvents hold needs to be kept. Otherwise, all of them are needed (DropRepeated(),
// SortHost(), MergeHandlerRuns(), FindOrders()), and the trace is read again.
class HostIntake {
 public:
  // stats must outlive it.
  explicit HostIntake(LoadStats* stats) : stats_(*stats), jobs_(stats) {}

  // Takes at most kRowsAtOnce rows. row_of(device): returns the row for a number in the trace, or
  // kNoRow.
  using RowOf = std::function<uint32_t(uint32_t)>;
  void Add(const stream::TableRows& rows, const RowOf& row_of);
  // Returns true if all rows so far were in order; if not, only call this.
  bool in_order() const { return in_order_; }
  // Must be called after the last row.
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
  uint32_t device_ = kNoRow;  // the only device
  // Runs of the handler at run_ns_, by device and queue.
  int64_t run_ns_ = kNoTime;
  std::vector<uint64_t> runs_;
  // The last row is held back: only the next one shows if it is alone at its time.
  bool holds_ = false, shares_before_ = false;
  HostRoom<1> held_;
  HostRoom<kRowsAtOnce> room_;  // for columns that are not contiguous in memory
  static constexpr size_t kFields = 13;
  std::array<bool, kFields> is_zero_{};  // true if that column of room_ is all zeros
  std::array<uint8_t, kRowsAtOnce> in_flight_;
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_LOAD_HOST_INTAKE_H_
