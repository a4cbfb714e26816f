// SPDX-License-Identifier: Apache-2.0
//
// Turns records of daemon/bpf/sched.bpf.c into rows of a ThreadRunBatch, and checks them.
#ifndef DAEMON_SOURCES_SYSTEM_RUN_ROWS_H_
#define DAEMON_SOURCES_SYSTEM_RUN_ROWS_H_

#include <cstdint>

#include "daemon/bpf/sched_records.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::daemon {

class RunRows {
 public:
  static constexpr uint32_t kRows = 4096;

  // `since_ns` is when the recording of its process began, for what began before; `wait` is a
  // string id. Returns false if the record is impossible and was not added.
  bool Add(const act_run& run, int64_t since_ns, uint32_t wait);
  // Adds a thread's state at now_ns, without a record of its own; `counts` are those since its last
  // record.
  bool AddOpen(const act_thread& thread, uint32_t tid, int64_t now_ns,
               const act_thread_counts& counts, int64_t since_ns, uint32_t wait);

  uint32_t rows() const { return rows_; }
  bool full() const { return rows_ >= kRows; }
  int64_t first_ns() const { return first_ns_; }
  proto::Packet Take();

 private:
  proto::Packet packet_;
  stream::DeltaEncoder begin_;
  uint32_t rows_ = 0;
  int64_t first_ns_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_RUN_ROWS_H_
