// SPDX-License-Identifier: Apache-2.0
//
// Records of daemon/bpf/sched.bpf.c to rows of a ThreadRunBatch: what is believed of one.
#ifndef DAEMON_SOURCES_SYSTEM_RUN_ROWS_H_
#define DAEMON_SOURCES_SYSTEM_RUN_ROWS_H_

#include <cstdint>

#include "daemon/bpf/sched_records.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns.h"

namespace acceltrace::daemon {

class RunRows {
 public:
  static constexpr uint32_t kRows = 4096;

  // since_ns: from when on its process is recorded, for what began before; wait: string id.
  // False if the record says what cannot be: it is not taken.
  bool Add(const act_run& run, int64_t since_ns, uint32_t wait);
  // A thread as it is at now_ns, without a record of its own: counts are what it has since the
  // last one.
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
