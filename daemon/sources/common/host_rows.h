// SPDX-License-Identifier: Apache-2.0
//
// Writes jobs and waits, as reported by BPF programs, to columns directly.
#ifndef DAEMON_SOURCES_COMMON_HOST_ROWS_H_
#define DAEMON_SOURCES_COMMON_HOST_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/bpf/records.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/block_writer.h"

namespace acceltrace::daemon {

// The rows of a block, and extra space, as vector units may write past the end.
inline constexpr size_t kHostRows = 512;
inline constexpr size_t kHostRoom = kHostRows + 8;

class HostJobRows {
 public:
  HostJobRows() : c_(new Columns) {}

  bool full() const { return rows_ == kHostRows; }
  size_t rows() const { return rows_; }
  void Append(const act_job& job);
  // Returns the number of rows of the block, and removes all rows.
  uint32_t Encode(stream::BlockWriter* writer, proto::Block* block);

 private:
  struct Columns {
    uint64_t submit[kHostRoom], doorbell[kHostRoom], submit_end[kHostRoom], irq[kHostRoom];
    uint64_t complete[kHostRoom], sequence[kHostRoom], correlation[kHostRoom];
    uint64_t copy_bytes[kHostRoom], device_ticks[kHostRoom];
    uint32_t known[kHostRoom], where[kHostRoom], status[kHostRoom], job[kHostRoom];
    uint32_t cmds[kHostRoom], pid[kHostRoom], tid[kHostRoom], cpu[kHostRoom], part[kHostRoom];
  };

  std::unique_ptr<Columns> c_;
  size_t rows_ = 0;
};

class HostWaitRows {
 public:
  HostWaitRows() : c_(new Columns) {}

  bool full() const { return rows_ == kHostRows; }
  size_t rows() const { return rows_; }
  void Append(const act_wake& wake);
  uint32_t Encode(stream::BlockWriter* writer, proto::Block* block);

 private:
  struct Columns {
    uint64_t wait[kHostRoom], wake[kHostRoom], sequence[kHostRoom], correlation[kHostRoom];
    uint64_t waiter[kHostRoom];
    uint32_t known[kHostRoom], device[kHostRoom], context[kHostRoom], queue[kHostRoom];
    uint32_t job[kHostRoom], status[kHostRoom], pid[kHostRoom], tid[kHostRoom], cpu[kHostRoom];
  };

  std::unique_ptr<Columns> c_;
  size_t rows_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_HOST_ROWS_H_
