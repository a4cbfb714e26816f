// SPDX-License-Identifier: Apache-2.0
//
// Writes device records to columns directly, with a few loads and stores each and without messages
// in between.
//
// Every field is read once, since the device may write to a record at any time. Rows are checked by
// the rules of record_check.h when a block is made of them; the check is vectorised for the case
// that all are good.
#ifndef DAEMON_SOURCES_AXL_RECORD_ROWS_H_
#define DAEMON_SOURCES_AXL_RECORD_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/sources/axl/record_check.h"
#include "daemon/sources/axl/transpose.h"
#include "kmod/uapi/axl_hw.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/columns/block_writer.h"

namespace acceltrace::daemon {

// The rows of a block, and extra space, as vector units may write past the end.
inline constexpr size_t kBlockRows = 1024;
inline constexpr size_t kBlockRoom = kBlockRows + 8;

// The numbers of encoded and of refused rows.
struct EncodedRows {
  uint32_t good = 0, bad = 0;
};

class CommandRows {
 public:
  CommandRows(uint32_t device, const RecordLimits& limits)
      : device_(device), limits_(limits), mask_(limits.TickMask()), c_(new Columns) {}

  size_t room() const { return kBlockRows - rows_; }
  size_t rows() const { return rows_; }

  // Appends at most room() records, each of a command.
  void Append(const axl_record* const* records, size_t count) {
    Transpose(records, count, &c_->word[0][rows_], kBlockRoom);
    rows_ += count;
  }

  // Makes a block of the good rows, if there are any, and removes all rows.
  EncodedRows Encode(stream::BlockWriter* writer, proto::Block* block);

  // Columns of a block that are computed from the records' words.
  struct Derived {
    uint64_t head_after[kBlockRoom], start_after[kBlockRoom], end_after[kBlockRoom];
    uint64_t semaphore[kBlockRoom];  // its stall minus start_after, mostly 0
    uint32_t head[kBlockRoom];       // type, engine, queue, context
    uint32_t what[kBlockRoom];       // index, opcode, status
    uint32_t record[kBlockRoom], job[kBlockRoom], tag[kBlockRoom], limiter[kBlockRoom];
    uint32_t row_hits[kBlockRoom], row_misses[kBlockRoom];
    uint32_t stall[AXL_NUM_STALLS][kBlockRoom];
    uint32_t part[kBlockRoom];  // one part of a column with several
  };
  struct Columns {
    uint64_t word[kRecordWords][kBlockRoom];  // of struct axl_rec_cmd
    Derived of;
    uint64_t first, last;  // smallest and largest kFetched
  };

 private:
  bool Write(stream::BlockWriter* writer, proto::Block* block);
  void KeepGood();

  uint32_t device_;
  RecordLimits limits_;
  uint64_t mask_;
  std::unique_ptr<Columns> c_;
  size_t rows_ = 0;
};

class JobRows {
 public:
  JobRows(uint32_t device, const RecordLimits& limits)
      : device_(device), limits_(limits), mask_(limits.TickMask()), c_(new Columns) {}

  bool full() const { return rows_ == kBlockRows; }
  size_t rows() const { return rows_; }
  void Append(const axl_rec_job& job);
  EncodedRows Encode(stream::BlockWriter* writer, proto::Block* block);

 private:
  struct Columns {
    uint64_t doorbell[kBlockRoom], fetched_after[kBlockRoom], start_after[kBlockRoom];
    uint64_t end_after[kBlockRoom], completion_after[kBlockRoom], irq_after[kBlockRoom];
    uint64_t correlation[kBlockRoom];
    uint32_t has_irq[kBlockRoom], head[kBlockRoom], record[kBlockRoom], job[kBlockRoom];
    uint32_t commands[kBlockRoom], status[kBlockRoom], part[kBlockRoom];
  };

  uint64_t After(uint64_t ticks, uint64_t doorbell) const {
    const uint64_t forward = (ticks - doorbell) & mask_;
    return forward <= mask_ / 2 ? forward : 0 - ((doorbell - ticks) & mask_);
  }

  uint32_t device_;
  RecordLimits limits_;
  uint64_t mask_;
  std::unique_ptr<Columns> c_;
  size_t rows_ = 0;
  uint32_t bad_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_RECORD_ROWS_H_
