// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/common/host_rows.h"

#include <algorithm>

namespace acceltrace::daemon {
namespace {

using proto::Block;

// Block.COLUMN_KNOWN
constexpr uint32_t kSubmitted = 1, kInterrupted = 2, kCompleted = 4;

}  // namespace

// An unknown time is replaced by the one before it, which costs no space.
void HostJobRows::Append(const act_job& job) {
  Columns& c = *c_;
  const size_t row = rows_++;
  const uint64_t complete = job.h.time_ns;
  const uint32_t known = (job.submit_ns != 0 ? kSubmitted : 0) |
                         (job.irq_ns != 0 ? kInterrupted : 0) | (complete != 0 ? kCompleted : 0);
  const uint64_t submit = job.submit_ns != 0 ? job.submit_ns : complete;
  const uint64_t doorbell = job.submit_ns != 0 ? job.doorbell_ns : submit;
  const uint64_t end = complete != 0 ? complete : doorbell;
  c.known[row] = known;
  c.submit[row] = submit;
  c.doorbell[row] = doorbell - submit;
  c.submit_end[row] = (job.submit_ns != 0 ? job.submit_end_ns : doorbell) - doorbell;
  c.complete[row] = end - doorbell;
  c.irq[row] = (job.irq_ns != 0 ? job.irq_ns : end) - end;
  c.sequence[row] = job.sequence;
  c.correlation[row] = job.correlation;
  c.copy_bytes[row] = job.copy_bytes;
  c.device_ticks[row] = job.device_ticks;
  // dev, ctx and queue have only one significant byte each.
  c.where[row] = static_cast<uint32_t>((job.where & 0xff) | (job.where >> 8 & 0xff00) |
                                       (job.where >> 16 & 0xff0000));
  c.status[row] = static_cast<uint32_t>(job.where >> 48);
  c.job[row] = static_cast<uint32_t>(job.job_cmds);
  c.cmds[row] = static_cast<uint32_t>(job.job_cmds >> 32);
  c.pid[row] = job.h.pid;
  c.tid[row] = job.h.tid;
  c.cpu[row] = job.h.cpu;
}

uint32_t HostJobRows::Encode(stream::BlockWriter* writer, Block* block) {
  if (rows_ == 0) return 0;
  const auto rows = static_cast<uint32_t>(rows_);
  Columns& c = *c_;
  block->set_table(Block::TABLE_HOST_JOBS);
  block->set_first(*std::min_element(c.submit, c.submit + rows_));
  block->set_last(*std::max_element(c.submit, c.submit + rows_));
  writer->Begin(block, rows_);
  writer->Delta(Block::COLUMN_SUBMIT_NS, c.submit);
  writer->Reference(Block::COLUMN_DOORBELL_NS, c.doorbell, Block::COLUMN_SUBMIT_NS);
  writer->Reference(Block::COLUMN_SUBMIT_END_NS, c.submit_end, Block::COLUMN_DOORBELL_NS);
  writer->Reference(Block::COLUMN_COMPLETE_NS, c.complete, Block::COLUMN_DOORBELL_NS);
  writer->Reference(Block::COLUMN_IRQ_NS, c.irq, Block::COLUMN_COMPLETE_NS);
  writer->Narrow(Block::COLUMN_KNOWN, c.known);
  writer->Part(Block::COLUMN_DEVICE, c.where, 0, 0xff, c.part);
  writer->Part(Block::COLUMN_CONTEXT, c.where, 8, 0xff, c.part);
  writer->Part(Block::COLUMN_QUEUE, c.where, 16, 0xff, c.part);
  writer->Narrow(Block::COLUMN_STATUS, c.status);
  writer->DeltaNarrow(Block::COLUMN_JOB, c.job);
  writer->Part(Block::COLUMN_COMMANDS, c.cmds, 0, 0xffff, c.part);
  writer->Part(Block::COLUMN_SUBMIT_CPU, c.cmds, 16, 0xffff, c.part);
  writer->Narrow(Block::COLUMN_CPU, c.cpu);
  writer->Narrow(Block::COLUMN_PID, c.pid);
  writer->Narrow(Block::COLUMN_TID, c.tid);
  writer->Delta(Block::COLUMN_SEQUENCE, c.sequence);
  writer->Delta(Block::COLUMN_CORRELATION, c.correlation);
  writer->Wide(Block::COLUMN_COPY_BYTES, c.copy_bytes);
  writer->Delta(Block::COLUMN_DEVICE_TICKS, c.device_ticks);
  writer->Finish();
  rows_ = 0;
  return rows;
}

void HostWaitRows::Append(const act_wake& wake) {
  Columns& c = *c_;
  const size_t row = rows_++;
  const uint64_t begin = wake.wait_ns != 0 ? wake.wait_ns : wake.h.time_ns;
  c.known[row] = wake.wait_ns != 0 ? kSubmitted : 0;
  c.wait[row] = begin;
  c.wake[row] = wake.h.time_ns - begin;
  c.sequence[row] = wake.sequence;
  c.correlation[row] = wake.correlation;
  // Without a count it is not that of a call, but the driver's information on the waiter.
  c.waiter[row] = static_cast<uint32_t>(wake.wait_correlation) ? wake.wait_correlation : 0;
  c.device[row] = wake.h.extra;
  c.context[row] = wake.context;
  c.queue[row] = wake.queue;
  c.job[row] = wake.job;
  c.status[row] = wake.status;
  c.pid[row] = wake.h.pid;
  c.tid[row] = wake.h.tid;
  c.cpu[row] = wake.h.cpu;
}

uint32_t HostWaitRows::Encode(stream::BlockWriter* writer, Block* block) {
  if (rows_ == 0) return 0;
  const auto rows = static_cast<uint32_t>(rows_);
  Columns& c = *c_;
  block->set_table(Block::TABLE_HOST_WAITS);
  block->set_first(*std::min_element(c.wait, c.wait + rows_));
  block->set_last(*std::max_element(c.wait, c.wait + rows_));
  writer->Begin(block, rows_);
  writer->Delta(Block::COLUMN_WAIT_NS, c.wait);
  writer->Reference(Block::COLUMN_WAKE_NS, c.wake, Block::COLUMN_WAIT_NS);
  writer->Narrow(Block::COLUMN_KNOWN, c.known);
  writer->Narrow(Block::COLUMN_DEVICE, c.device);
  writer->Narrow(Block::COLUMN_CONTEXT, c.context);
  writer->Narrow(Block::COLUMN_QUEUE, c.queue);
  writer->Narrow(Block::COLUMN_STATUS, c.status);
  writer->DeltaNarrow(Block::COLUMN_JOB, c.job);
  writer->Narrow(Block::COLUMN_CPU, c.cpu);
  writer->Narrow(Block::COLUMN_PID, c.pid);
  writer->Narrow(Block::COLUMN_TID, c.tid);
  writer->Delta(Block::COLUMN_SEQUENCE, c.sequence);
  writer->Delta(Block::COLUMN_CORRELATION, c.correlation);
  writer->Delta(Block::COLUMN_WAIT_CORRELATION, c.waiter);
  writer->Finish();
  rows_ = 0;
  return rows;
}

}  // namespace acceltrace::daemon
