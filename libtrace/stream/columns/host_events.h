// SPDX-License-Identifier: Apache-2.0
//
// Converts rows of blocks of host jobs and host waits to the host events that they represent.
// Internal.
#ifndef LIBTRACE_STREAM_COLUMNS_HOST_EVENTS_H_
#define LIBTRACE_STREAM_COLUMNS_HOST_EVENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libtrace/stream/columns/block_columns.h"
#include "libtrace/stream/columns/table_rows.h"

namespace acceltrace::stream {

// Holds the events of one block until the next call.
class HostEventRows {
 public:
  // table: TABLE_HOST_JOBS or TABLE_HOST_WAITS.
  void Expand(const BlockColumns& columns, uint32_t table, TableRows* rows);

 private:
  enum Narrow { kKind, kCpu, kPid, kTid, kDevice, kContext, kQueue, kJob, kInFlight, kNarrows };
  enum Wide { kTime, kSequence, kCorrelation, kArg0, kArg1, kWides };
  struct Event {
    uint32_t kind = 0;
    uint64_t time = 0, cpu = 0, correlation = 0, arg0 = 0, arg1 = 0;
  };
  // Columns that are common to all events of a row.
  struct Common {
    BlockColumn pid, tid, device, context, queue, job, sequence;
  };

  void Add(const Common& common, size_t row, const Event& event);
  void ExpandJobs(const BlockColumns& columns, const Common& common);
  void ExpandWaits(const BlockColumns& columns, const Common& common);

  size_t rows_ = 0;
  uint32_t in_flight_ = 0;
  std::array<std::vector<uint32_t>, kNarrows> narrow_;
  std::array<std::vector<uint64_t>, kWides> wide_;
};

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_COLUMNS_HOST_EVENTS_H_
