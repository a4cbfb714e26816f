// SPDX-License-Identifier: Apache-2.0
//
// Batches of host events.
#include <algorithm>

#include "daemon/session/batches.h"

namespace acceltrace::daemon {

using proto::Block;

void ApiBatch::Add(const ApiBegin& begin, int64_t end_ns, int32_t result) {
  Put(begin, end_ns, result);
  Count(begin.time_ns, 2);
}

void ApiBatch::Add(const ApiSpan& span) {
  const size_t row = rows();
  Put(span.begin, span.end_ns, span.result);
  c_->open[row] = span.open;
  c_->began_before[row] = span.began_before;
  Count(span.begin.time_ns, span.open || span.began_before ? 1 : 2);
}

void ApiBatch::Put(const ApiBegin& begin, int64_t end_ns, int32_t result) {
  Columns& c = *c_;
  const size_t row = rows();
  c.begin[row] = static_cast<uint64_t>(begin.time_ns);
  c.duration[row] = static_cast<uint64_t>(end_ns - begin.time_ns);
  c.correlation[row] = begin.correlation;
  c.bytes[row] = begin.bytes;
  c.pid[row] = begin.pid;
  c.tid[row] = begin.tid;
  c.name[row] = begin.name;
  c.stream[row] = begin.stream;
  c.result[row] = static_cast<uint32_t>(result);
  c.open[row] = c.began_before[row] = 0;
}

FinishedBatch ApiBatch::Take() {
  Columns& c = *c_;
  proto::Block* block = packet().mutable_block();
  block->set_table(Block::TABLE_API_CALLS);
  block->set_first(*std::min_element(c.begin, c.begin + rows()));
  block->set_last(*std::max_element(c.begin, c.begin + rows()));
  writer_.Begin(block, rows());
  writer_.Delta(Block::COLUMN_BEGIN_NS, c.begin);
  writer_.Wide(Block::COLUMN_DURATION_NS, c.duration);
  writer_.Narrow(Block::COLUMN_PID, c.pid);
  writer_.Narrow(Block::COLUMN_TID, c.tid);
  writer_.Narrow(Block::COLUMN_NAME, c.name);
  writer_.Delta(Block::COLUMN_CORRELATION, c.correlation);
  writer_.Wide(Block::COLUMN_BYTES, c.bytes);
  writer_.Narrow(Block::COLUMN_STREAM, c.stream);
  writer_.Narrow(Block::COLUMN_RESULT, c.result);
  writer_.Narrow(Block::COLUMN_OPEN, c.open);
  writer_.Narrow(Block::COLUMN_BEGAN_BEFORE, c.began_before);
  writer_.Finish();
  return TakeCurrent();
}

void RangeBatch::Add(const RangeSpan& span) {
  Columns& c = *c_;
  const size_t row = rows();
  c.begin_delta[row] = static_cast<int64_t>(static_cast<uint64_t>(span.push.time_ns) -
                                            static_cast<uint64_t>(last_ns_));
  last_ns_ = span.push.time_ns;
  c.duration[row] = static_cast<uint64_t>(span.end_ns - span.push.time_ns);
  c.pid[row] = span.push.pid;
  c.tid[row] = span.push.tid;
  c.name[row] = span.push.name;
  c.depth[row] = span.push.depth;
  c.mark[row] = span.mark;
  c.open[row] = span.open;
  c.began_before[row] = span.began_before;
  Count(span.push.time_ns, span.mark || span.open || span.began_before ? 1 : 2);
}

FinishedBatch RangeBatch::Take() {
  const Columns& c = *c_;
  const size_t count = rows();
  proto::RangeBatch* ranges = packet().mutable_ranges();
  const auto put = [count](const auto* from, auto* to) { to->Add(from, from + count); };
  put(c.begin_delta, ranges->mutable_begin_ns_delta());
  put(c.duration, ranges->mutable_duration_ns());
  put(c.pid, ranges->mutable_pid());
  put(c.tid, ranges->mutable_tid());
  put(c.name, ranges->mutable_name());
  put(c.depth, ranges->mutable_depth());
  put(c.mark, ranges->mutable_mark());
  put(c.open, ranges->mutable_open());
  put(c.began_before, ranges->mutable_began_before());
  last_ns_ = 0;
  return TakeCurrent();
}

void ProcessEventBatch::Add(const ProcessEvent& event) {
  proto::ProcessEvents* events = packet().mutable_process_events();
  events->add_kind(event.kind);
  time_.Append(event.time_ns, events->mutable_time_ns_delta());
  events->add_pid(event.pid);
  events->add_tid(event.tid);
  events->add_parent(event.parent);
  Count(event.time_ns, 0);
}

FinishedBatch ProcessEventBatch::Take() {
  time_ = {};
  return TakeCurrent();
}

void HostBatch::Add(const HostEvent& event) {
  proto::HostBatch* host = packet().mutable_host();
  host->add_kind(event.kind);
  time_.Append(event.time_ns, host->mutable_time_ns_delta());
  host->add_cpu(event.cpu);
  host->add_pid(event.pid);
  host->add_tid(event.tid);
  host->add_device(event.device);
  host->add_context(event.context);
  host->add_queue(event.queue);
  host->add_job(event.job);
  host->add_sequence(event.sequence);
  correlation_.Append(event.correlation, host->mutable_correlation_delta());
  host->add_arg0(event.arg0);
  host->add_arg1(event.arg1);
  Count(event.time_ns, 1);
}

FinishedBatch HostBatch::Take() {
  time_ = {};
  correlation_ = {};
  return TakeCurrent();
}

}  // namespace acceltrace::daemon
