// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/host_events.h"

namespace acceltrace::stream {

using proto::Block;
using proto::HostBatch;

namespace {

constexpr size_t kMostOfRow = 5;  // events
constexpr size_t kMaxRuns = 64;   // of the interrupt handler: one per queue

// Bits of COLUMN_KNOWN of host jobs.
constexpr uint64_t kSubmitted = 1, kInterrupted = 2, kCompleted = 4;
// The same of host waits.
constexpr uint64_t kBegan = 1;

}  // namespace

void HostEventRows::Add(const Common& common, size_t row, const Event& event) {
  const auto narrow = [&](Narrow column, uint64_t value) {
    narrow_[column][rows_] = static_cast<uint32_t>(value);
  };
  narrow(kKind, event.kind), narrow(kCpu, event.cpu);
  narrow(kPid, common.pid[row]), narrow(kTid, common.tid[row]);
  narrow(kDevice, common.device[row]), narrow(kContext, common.context[row]);
  narrow(kQueue, common.queue[row]), narrow(kJob, common.job[row]);
  narrow(kInFlight, in_flight_);
  wide_[kTime][rows_] = event.time;
  wide_[kSequence][rows_] = common.sequence[row];
  wide_[kCorrelation][rows_] = event.correlation;
  wide_[kArg0][rows_] = event.arg0, wide_[kArg1][rows_] = event.arg1;
  ++rows_;
}

void HostEventRows::ExpandJobs(const BlockColumns& columns, const Common& common) {
  const BlockColumn known = columns.of(Block::COLUMN_KNOWN), cpu = columns.of(Block::COLUMN_CPU);
  const BlockColumn submit = columns.of(Block::COLUMN_SUBMIT_NS);
  const BlockColumn doorbell = columns.of(Block::COLUMN_DOORBELL_NS);
  const BlockColumn submit_end = columns.of(Block::COLUMN_SUBMIT_END_NS);
  const BlockColumn submit_cpu = columns.of(Block::COLUMN_SUBMIT_CPU);
  const BlockColumn commands = columns.of(Block::COLUMN_COMMANDS);
  const BlockColumn bytes = columns.of(Block::COLUMN_COPY_BYTES);
  const BlockColumn irq = columns.of(Block::COLUMN_IRQ_NS);
  const BlockColumn complete = columns.of(Block::COLUMN_COMPLETE_NS);
  const BlockColumn status = columns.of(Block::COLUMN_STATUS);
  const BlockColumn ticks = columns.of(Block::COLUMN_DEVICE_TICKS);
  const BlockColumn correlation = columns.of(Block::COLUMN_CORRELATION);
  // The latest run of the handler for each queue, by its first row and its event.
  struct Run {
    size_t row, event;
  };
  std::vector<Run> runs;
  // A run is one event with the number of jobs that it found complete. The jobs of a run are
  // consecutive within their queue.
  const auto add_irq = [&](size_t row) {
    for (size_t i = runs.size(); i-- > 0;) {
      const size_t of = runs[i].row;
      if (common.queue[of] != common.queue[row] || common.device[of] != common.device[row]) {
        continue;
      }
      if (irq[of] == irq[row]) {
        ++wide_[kArg1][runs[i].event];
        return;
      }
      runs.erase(runs.begin() + static_cast<ptrdiff_t>(i));
    }
    if (runs.size() >= kMaxRuns) runs.erase(runs.begin());
    runs.push_back({row, rows_});
    Add(common, row, {HostBatch::KIND_IRQ, irq[row], cpu[row], 0, 0, 1});
    narrow_[kJob][rows_ - 1] = 0, wide_[kSequence][rows_ - 1] = 0;
  };
  for (size_t row = 0; row < columns.rows(); ++row) {
    const uint64_t call = correlation[row];
    in_flight_ = (known[row] & kCompleted) != 0 ? 0 : 1;
    if ((known[row] & kSubmitted) != 0) {
      const uint64_t on = submit_cpu[row];
      Add(common, row, {HostBatch::KIND_SUBMIT, submit[row], on, call, commands[row], bytes[row]});
      Add(common, row, {HostBatch::KIND_DOORBELL, doorbell[row], on, call, 0, 0});
      Add(common, row, {HostBatch::KIND_SUBMIT_END, submit_end[row], on, call, 0, 0});
    }
    if ((known[row] & kInterrupted) != 0) add_irq(row);
    if ((known[row] & kCompleted) != 0) {
      Add(common, row,
          {HostBatch::KIND_COMPLETE, complete[row], cpu[row], call, status[row], ticks[row]});
    }
  }
}

void HostEventRows::ExpandWaits(const BlockColumns& columns, const Common& common) {
  const BlockColumn known = columns.of(Block::COLUMN_KNOWN), cpu = columns.of(Block::COLUMN_CPU);
  const BlockColumn wait = columns.of(Block::COLUMN_WAIT_NS);
  const BlockColumn wake = columns.of(Block::COLUMN_WAKE_NS);
  const BlockColumn waiter = columns.of(Block::COLUMN_WAIT_CORRELATION);
  const BlockColumn status = columns.of(Block::COLUMN_STATUS);
  const BlockColumn correlation = columns.of(Block::COLUMN_CORRELATION);
  in_flight_ = 0;
  for (size_t row = 0; row < columns.rows(); ++row) {
    if ((known[row] & kBegan) != 0) {
      Add(common, row, {HostBatch::KIND_WAIT, wait[row], cpu[row], waiter[row], 0, waiter[row]});
      narrow_[kJob][rows_ - 1] = 0;
    }
    Add(common, row,
        {HostBatch::KIND_WAKE, wake[row], cpu[row], correlation[row], status[row], waiter[row]});
  }
}

void HostEventRows::Expand(const BlockColumns& columns, uint32_t table, TableRows* rows) {
  rows_ = 0;
  const size_t most = columns.rows() * kMostOfRow;
  for (auto& values : narrow_) values.resize(std::max(values.size(), most));
  for (auto& values : wide_) values.resize(std::max(values.size(), most));
  const Common common = {
      columns.of(Block::COLUMN_PID),      columns.of(Block::COLUMN_TID),
      columns.of(Block::COLUMN_DEVICE),   columns.of(Block::COLUMN_CONTEXT),
      columns.of(Block::COLUMN_QUEUE),    columns.of(Block::COLUMN_JOB),
      columns.of(Block::COLUMN_SEQUENCE),
  };
  table == Block::TABLE_HOST_JOBS ? ExpandJobs(columns, common) : ExpandWaits(columns, common);
  constexpr std::array kOfNarrow = {
      HostBatch::kKindFieldNumber,  HostBatch::kCpuFieldNumber,    HostBatch::kPidFieldNumber,
      HostBatch::kTidFieldNumber,   HostBatch::kDeviceFieldNumber, HostBatch::kContextFieldNumber,
      HostBatch::kQueueFieldNumber, HostBatch::kJobFieldNumber,    HostBatch::kInFlightFieldNumber};
  constexpr std::array kOfWide = {HostBatch::kTimeNsDeltaFieldNumber,
                                  HostBatch::kSequenceFieldNumber,
                                  HostBatch::kCorrelationDeltaFieldNumber,
                                  HostBatch::kArg0FieldNumber, HostBatch::kArg1FieldNumber};
  static_assert(kOfNarrow.size() == kNarrows && kOfWide.size() == kWides);
  rows->set_rows(rows_);
  for (size_t i = 0; i < kNarrows; ++i) rows->Set(kOfNarrow[i], {0, narrow_[i].data(), nullptr});
  for (size_t i = 0; i < kWides; ++i) rows->Set(kOfWide[i], {0, nullptr, wide_[i].data()});
}

}  // namespace acceltrace::stream
