// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/run_rows.h"

#include <algorithm>
#include <utility>

namespace acceltrace::daemon {

static_assert(ACT_STATE_UNKNOWN == int{proto::ThreadRunBatch::STATE_UNKNOWN});
static_assert(ACT_STATE_RUNNABLE == int{proto::ThreadRunBatch::STATE_RUNNABLE});
static_assert(ACT_STATE_SLEEPING == int{proto::ThreadRunBatch::STATE_SLEEPING});
static_assert(ACT_STATE_BLOCKED == int{proto::ThreadRunBatch::STATE_BLOCKED});
static_assert(ACT_STATE_STOPPED == int{proto::ThreadRunBatch::STATE_STOPPED});
static_assert(ACT_STATE_ENDED == int{proto::ThreadRunBatch::STATE_ENDED});
static_assert(ACT_STATE_RUNNING == int{proto::ThreadRunBatch::STATE_RUNNING});

bool RunRows::Add(const act_run& run, int64_t since_ns, uint32_t wait) {
  const auto end_ns = static_cast<int64_t>(run.end_ns);
  auto begin_ns = static_cast<int64_t>(run.begin_ns);
  auto away_ns = static_cast<int64_t>(run.away_ns), ready_ns = static_cast<int64_t>(run.ready_ns);
  bool began_before = false;
  uint8_t away = run.away;
  if (begin_ns == 0) {  // it was running already
    began_before = true;
    begin_ns = away_ns = ready_ns = std::min(since_ns, end_ns);
    away = ACT_STATE_UNKNOWN;
  } else if (away_ns == 0) {
    began_before = true;
    if (ready_ns == 0) ready_ns = std::min(since_ns, begin_ns);
    away_ns = std::min(since_ns, ready_ns);
  }
  if (away_ns <= 0 || away_ns > ready_ns || ready_ns > begin_ns || begin_ns > end_ns ||
      end_ns < 0 || away > ACT_STATE_RUNNING || run.left > ACT_STATE_RUNNING) {
    return false;
  }
  proto::ThreadRunBatch* batch = packet_.mutable_thread_runs();
  begin_.Append(begin_ns, batch->mutable_begin_ns_delta());
  batch->add_run_ns(static_cast<uint64_t>(end_ns - begin_ns));
  batch->add_pid(run.pid);
  batch->add_tid(run.tid);
  batch->add_cpu(run.cpu);
  batch->add_away(away);
  batch->add_away_ns(static_cast<uint64_t>(begin_ns - away_ns));
  batch->add_ready_ns(static_cast<uint64_t>(begin_ns - ready_ns));
  batch->add_waker_pid(run.waker_pid);
  batch->add_waker_tid(run.waker_tid);
  batch->add_waker_irq(run.waker_irq != 0 ? 1 : 0);
  batch->add_wait(wait);
  batch->add_left(run.left);
  batch->add_charged_ns(run.counts.charged_ns);
  batch->add_minor_faults(run.counts.minor_faults);
  batch->add_major_faults(run.counts.major_faults);
  batch->add_migrations(run.counts.migrations);
  batch->add_voluntary(run.counts.voluntary);
  batch->add_involuntary(run.counts.involuntary);
  batch->add_began_before(began_before ? 1 : 0);
  ++rows_;
  if (first_ns_ == 0 || away_ns < first_ns_) first_ns_ = away_ns;
  return true;
}

bool RunRows::AddOpen(const act_thread& thread, uint32_t tid, int64_t now_ns,
                      const act_thread_counts& counts, int64_t since_ns, uint32_t wait) {
  act_run run = {};
  run.end_ns = static_cast<uint64_t>(now_ns);
  run.begin_ns = thread.begin_ns;
  run.away_ns = thread.away_ns;
  run.ready_ns = thread.ready_ns;
  run.away = thread.away;
  run.left = ACT_STATE_RUNNING;
  if (thread.begin_ns == 0) {  // it is not running: a run without length tells what it waits for
    run.begin_ns = run.end_ns;
    run.left = ACT_STATE_RUNNABLE;
    if (thread.ready_ns == 0) {
      run.ready_ns = run.begin_ns;
      run.left = thread.away;
    }
  }
  run.counts = counts;
  run.pid = thread.pid;
  run.tid = tid;
  run.waker_pid = thread.waker_pid;
  run.waker_tid = thread.waker_tid;
  run.waker_irq = thread.waker_irq;
  run.cpu = thread.cpu;
  return Add(run, since_ns, wait);
}

proto::Packet RunRows::Take() {
  begin_ = {};
  rows_ = 0;
  first_ns_ = 0;
  return std::exchange(packet_, {});
}

}  // namespace acceltrace::daemon
