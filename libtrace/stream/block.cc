// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/block.h"

#include <algorithm>
#include <string>
#include <vector>

#include "libtrace/stream/block_columns.h"
#include "libtrace/stream/columns.h"
#include "libtrace/stream/validate.h"

namespace acceltrace::stream {
namespace {

using google::protobuf::RepeatedField;
using proto::Block;
using proto::HostBatch;

Status Bad(const char* what) { return Status::Error(std::string("invalid block: ") + what); }

void ToCommands(const BlockColumns& columns, uint32_t device, proto::CommandBatch* batch) {
  batch->set_device(device);
  columns.CopyDeltas(Block::COLUMN_FETCHED_TICKS, batch->mutable_fetched_ticks_delta());
  columns.CopyTo(Block::COLUMN_HEAD_TICKS_AFTER, batch->mutable_head_ticks_after());
  columns.CopyTo(Block::COLUMN_START_TICKS_AFTER, batch->mutable_start_ticks_after());
  columns.CopyTo(Block::COLUMN_END_TICKS_AFTER, batch->mutable_end_ticks_after());
  columns.CopyDeltas(Block::COLUMN_RECORD, batch->mutable_record_delta());
  columns.CopyTo(Block::COLUMN_UNIT, batch->mutable_unit());
  columns.CopyTo(Block::COLUMN_CONTEXT, batch->mutable_context());
  columns.CopyTo(Block::COLUMN_QUEUE, batch->mutable_queue());
  columns.CopyTo(Block::COLUMN_JOB, batch->mutable_job());
  columns.CopyTo(Block::COLUMN_INDEX, batch->mutable_index());
  columns.CopyTo(Block::COLUMN_OPCODE, batch->mutable_opcode());
  columns.CopyTo(Block::COLUMN_STATUS, batch->mutable_status());
  columns.CopyTo(Block::COLUMN_LIMITER, batch->mutable_limiter());
  columns.CopyTo(Block::COLUMN_TAG, batch->mutable_tag());
  columns.CopyDeltas(Block::COLUMN_CORRELATION, batch->mutable_correlation_delta());
  columns.CopyTo(Block::COLUMN_WORK, batch->mutable_work());
  columns.CopyTo(Block::COLUMN_BYTES, batch->mutable_bytes());
  columns.CopyTo(Block::COLUMN_MEMORY_BYTES, batch->mutable_memory_bytes());
  columns.CopyTo(Block::COLUMN_ROW_HITS, batch->mutable_row_hits());
  columns.CopyTo(Block::COLUMN_ROW_MISSES, batch->mutable_row_misses());
}

// Row-major, unlike in a block.
void AddStalls(const BlockColumns& columns, int stalls, proto::CommandBatch* batch) {
  batch->mutable_stall_ticks()->Reserve(static_cast<int>(columns.rows()) * stalls);
  for (size_t row = 0; row < columns.rows(); ++row) {
    for (int s = 0; s < stalls; ++s) {
      batch->add_stall_ticks(columns.At(Block::COLUMN_STALL_TICKS + s, row));
    }
  }
}

void ToJobs(const BlockColumns& columns, uint32_t device, proto::JobBatch* batch) {
  batch->set_device(device);
  columns.CopyDeltas(Block::COLUMN_DOORBELL_TICKS, batch->mutable_doorbell_ticks_delta());
  columns.CopyTo(Block::COLUMN_FETCHED_TICKS_AFTER, batch->mutable_fetched_ticks_after());
  columns.CopyTo(Block::COLUMN_FIRST_START_TICKS_AFTER, batch->mutable_first_start_ticks_after());
  columns.CopyTo(Block::COLUMN_LAST_END_TICKS_AFTER, batch->mutable_last_end_ticks_after());
  columns.CopyTo(Block::COLUMN_COMPLETION_TICKS_AFTER, batch->mutable_completion_ticks_after());
  columns.CopyTo(Block::COLUMN_IRQ_TICKS_AFTER, batch->mutable_irq_ticks_after());
  columns.CopyTo(Block::COLUMN_HAS_IRQ, batch->mutable_has_irq());
  columns.CopyDeltas(Block::COLUMN_RECORD, batch->mutable_record_delta());
  columns.CopyTo(Block::COLUMN_CONTEXT, batch->mutable_context());
  columns.CopyTo(Block::COLUMN_QUEUE, batch->mutable_queue());
  columns.CopyTo(Block::COLUMN_JOB, batch->mutable_job());
  columns.CopyTo(Block::COLUMN_COMMANDS, batch->mutable_commands());
  columns.CopyTo(Block::COLUMN_STATUS, batch->mutable_status());
  columns.CopyDeltas(Block::COLUMN_CORRELATION, batch->mutable_correlation_delta());
}

void ToApiCalls(const BlockColumns& columns, proto::ApiBatch* batch) {
  columns.CopyDeltas(Block::COLUMN_BEGIN_NS, batch->mutable_begin_ns_delta());
  columns.CopyTo(Block::COLUMN_DURATION_NS, batch->mutable_duration_ns());
  columns.CopyTo(Block::COLUMN_PID, batch->mutable_pid());
  columns.CopyTo(Block::COLUMN_TID, batch->mutable_tid());
  columns.CopyTo(Block::COLUMN_NAME, batch->mutable_name());
  columns.CopyDeltas(Block::COLUMN_CORRELATION, batch->mutable_correlation_delta());
  columns.CopyTo(Block::COLUMN_BYTES, batch->mutable_bytes());
  columns.CopyTo(Block::COLUMN_STREAM, batch->mutable_stream());
  columns.CopyTo(Block::COLUMN_RESULT, batch->mutable_result());
  columns.CopyTo(Block::COLUMN_OPEN, batch->mutable_open());
  columns.CopyTo(Block::COLUMN_BEGAN_BEFORE, batch->mutable_began_before());
}

// Rows of host tables to the events that they stand for.
class HostRows {
 public:
  HostRows(const BlockColumns& columns, HostBatch* batch) : columns_(columns), batch_(*batch) {}

  void Job(size_t row) {
    const uint64_t known = At(Block::COLUMN_KNOWN, row);
    in_flight_ = known & 4 ? 0 : 1;
    if (known & 1) {
      Event(row, HostBatch::KIND_SUBMIT, Block::COLUMN_SUBMIT_NS, Block::COLUMN_SUBMIT_CPU,
            At(Block::COLUMN_COMMANDS, row), At(Block::COLUMN_COPY_BYTES, row));
      Event(row, HostBatch::KIND_DOORBELL, Block::COLUMN_DOORBELL_NS, Block::COLUMN_SUBMIT_CPU, 0,
            0);
      Event(row, HostBatch::KIND_SUBMIT_END, Block::COLUMN_SUBMIT_END_NS, Block::COLUMN_SUBMIT_CPU,
            0, 0);
    }
    if (known & 2) Irq(row);
    if (known & 4) {
      Event(row, HostBatch::KIND_COMPLETE, Block::COLUMN_COMPLETE_NS, Block::COLUMN_CPU,
            At(Block::COLUMN_STATUS, row), At(Block::COLUMN_DEVICE_TICKS, row));
    }
  }

  void Wait(size_t row) {
    const uint64_t waiter = At(Block::COLUMN_WAIT_CORRELATION, row);
    if (At(Block::COLUMN_KNOWN, row) & 1) {
      Event(row, HostBatch::KIND_WAIT, Block::COLUMN_WAIT_NS, Block::COLUMN_CPU, 0, waiter,
            Block::COLUMN_WAIT_CORRELATION);
      batch_.set_job(batch_.job_size() - 1, 0);
    }
    Event(row, HostBatch::KIND_WAKE, Block::COLUMN_WAKE_NS, Block::COLUMN_CPU,
          At(Block::COLUMN_STATUS, row), waiter);
  }

 private:
  uint64_t At(int column, size_t row) const { return columns_.At(column, row); }

  void Event(size_t row, uint32_t kind, int time, int cpu, uint64_t arg0, uint64_t arg1,
             int correlation = Block::COLUMN_CORRELATION) {
    batch_.add_kind(kind);
    time_.Append(At(time, row), batch_.mutable_time_ns_delta());
    batch_.add_cpu(static_cast<uint32_t>(At(cpu, row)));
    batch_.add_pid(static_cast<uint32_t>(At(Block::COLUMN_PID, row)));
    batch_.add_tid(static_cast<uint32_t>(At(Block::COLUMN_TID, row)));
    batch_.add_device(static_cast<uint32_t>(At(Block::COLUMN_DEVICE, row)));
    batch_.add_context(static_cast<uint32_t>(At(Block::COLUMN_CONTEXT, row)));
    batch_.add_queue(static_cast<uint32_t>(At(Block::COLUMN_QUEUE, row)));
    batch_.add_job(static_cast<uint32_t>(At(Block::COLUMN_JOB, row)));
    batch_.add_sequence(At(Block::COLUMN_SEQUENCE, row));
    correlation_.Append(At(correlation, row), batch_.mutable_correlation_delta());
    batch_.add_arg0(arg0);
    batch_.add_arg1(arg1);
    batch_.add_in_flight(in_flight_);
  }

  // One event for each run of the handler, with the number of jobs that it found done: they
  // follow each other within a queue.
  void Irq(size_t row) {
    for (size_t i = runs_.size(); i-- > 0;) {
      if (At(Block::COLUMN_QUEUE, runs_[i].row) != At(Block::COLUMN_QUEUE, row) ||
          At(Block::COLUMN_DEVICE, runs_[i].row) != At(Block::COLUMN_DEVICE, row)) {
        continue;
      }
      if (At(Block::COLUMN_IRQ_NS, runs_[i].row) == At(Block::COLUMN_IRQ_NS, row)) {
        batch_.set_arg1(runs_[i].event, batch_.arg1(runs_[i].event) + 1);
        return;
      }
      runs_.erase(runs_.begin() + static_cast<ptrdiff_t>(i));
    }
    if (runs_.size() >= kMaxRuns) runs_.erase(runs_.begin());
    Event(row, HostBatch::KIND_IRQ, Block::COLUMN_IRQ_NS, Block::COLUMN_CPU, 0, 1,
          Block::COLUMN_UNKNOWN);
    const int event = batch_.kind_size() - 1;
    batch_.set_job(event, 0);
    batch_.set_sequence(event, 0);
    runs_.push_back({row, event});
  }

  static constexpr size_t kMaxRuns = 64;  // queues
  struct Run {
    size_t row;
    int event;
  };

  const BlockColumns& columns_;
  HostBatch& batch_;
  DeltaEncoder time_, correlation_;
  uint32_t in_flight_ = 0;
  std::vector<Run> runs_;  // the newest of each queue
};

Status ToBatch(const Block& block, bool packed, proto::Packet* batch) {
  batch->clear_body();
  if (!Block::Table_IsValid(static_cast<int>(block.table())) || block.table() == 0) return {};
  if (packed && block.codec() != proto::Packed::CODEC_ZSTD) return {};  // of a newer version
  if (block.device() >= kMaxDevices) return Bad("device number too large");
  if (block.stalls() > kMaxStalls) return Bad("too many stall causes");
  BlockColumns columns;
  const Status status = packed ? columns.DecodePacked(block) : columns.Decode(block);
  if (!status.ok()) return status;
  switch (block.table()) {
    case Block::TABLE_COMMANDS:
      ToCommands(columns, block.device(), batch->mutable_commands());
      AddStalls(columns, static_cast<int>(block.stalls()), batch->mutable_commands());
      break;
    case Block::TABLE_DEVICE_JOBS:
      ToJobs(columns, block.device(), batch->mutable_jobs());
      break;
    case Block::TABLE_HOST_JOBS:
    case Block::TABLE_HOST_WAITS: {
      HostRows rows(columns, batch->mutable_host());
      for (size_t row = 0; row < columns.rows(); ++row) {
        block.table() == Block::TABLE_HOST_JOBS ? rows.Job(row) : rows.Wait(row);
      }
      break;
    }
    case Block::TABLE_API_CALLS:
      ToApiCalls(columns, batch->mutable_api());
      break;
    default:
      break;
  }
  return {};
}

}  // namespace

proto::Packet::BodyCase BatchOf(uint32_t table) {
  switch (table) {
    case Block::TABLE_COMMANDS:
      return proto::Packet::kCommands;
    case Block::TABLE_DEVICE_JOBS:
      return proto::Packet::kJobs;
    case Block::TABLE_HOST_JOBS:
    case Block::TABLE_HOST_WAITS:
      return proto::Packet::kHost;
    case Block::TABLE_API_CALLS:
      return proto::Packet::kApi;
    default:
      return proto::Packet::BODY_NOT_SET;
  }
}

size_t LeastBlockBytes(uint32_t table, size_t rows) {
  // A row of jobs is five rows of the batch, one of waits is two.
  const size_t times = table == Block::TABLE_HOST_JOBS    ? 5
                       : table == Block::TABLE_HOST_WAITS ? 2
                                                          : 1;
  const size_t free_rows = kFreeRows / times;
  const size_t least =
      rows < free_rows ? 0 : (rows - free_rows) * times * LeastRowBytes(BatchOf(table));
  return std::max(rows, least);
}

size_t LeastPackedBytes(uint32_t table, size_t rows) {
  return (LeastBlockBytes(table, rows) + kPackedWorth - 1) / kPackedWorth;
}

Status UnpackBlock(const Block& block, proto::Packet* batch) {
  return ToBatch(block, false, batch);
}

Status UnpackPackedBlock(const Block& block, proto::Packet* batch) {
  return ToBatch(block, true, batch);
}

}  // namespace acceltrace::stream
