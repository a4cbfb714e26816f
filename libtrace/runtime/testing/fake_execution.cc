// SPDX-License-Identifier: Apache-2.0
//
// FakeKernel's jobs: submission, execution, completion, waiting.
#include <algorithm>
#include <cerrno>

#include "libtrace/runtime/testing/fake_kernel.h"
#include "libtrace/runtime/testing/fake_ops.h"

namespace acceltrace::runtime {
namespace {

bool Satisfied(const axl_desc& command, const std::vector<uint64_t>& sems) {
  for (int i = 0; i < 2; ++i) {
    if (command.wait_sem[i] != AXL_SEM_NONE && sems[command.wait_sem[i]] < command.wait_value[i])
      return false;
  }
  return true;
}

bool SemOk(uint16_t sem) { return sem == AXL_SEM_NONE || sem < AXL_SEMS_PER_CONTEXT; }

bool WellFormed(const axl_desc& command) {
  return !command.flags && !command.job && !command.index && !command.correlation &&
         !command.reserved && command.engine < AXL_NUM_ENGINES && SemOk(command.wait_sem[0]) &&
         SemOk(command.wait_sem[1]) && SemOk(command.signal_sem);
}

}  // namespace

FakeKernel::Ctx* FakeKernel::FindCtx(File& file, uint32_t handle) {
  if (handle == 0 || handle > file.contexts.size()) return nullptr;
  Ctx& ctx = file.contexts[handle - 1];
  return ctx.alive ? &ctx : nullptr;
}

int FakeKernel::Submit(File& file, axl_submit* submit) {
  Ctx* ctx = FindCtx(file, submit->ctx);
  if (!ctx || submit->queue >= ctx->queues.size()) return -ENOENT;
  if (submit->num_cmds == 0 || submit->num_cmds > AXL_MAX_JOB_COMMANDS ||
      submit->cmd_bytes != sizeof(axl_desc) || (submit->flags & ~AXL_SUBMIT_FLAGS_ALL))
    return -EINVAL;
  if (ctx->dead) return -EIO;
  Queue& queue = ctx->queues[submit->queue];
  const auto* commands = reinterpret_cast<const axl_desc*>(submit->cmds);
  for (uint32_t i = 0; i < submit->num_cmds; ++i) {
    if (!WellFormed(commands[i])) return -EINVAL;
  }
  submit->sequence = ++queue.submitted;
  submit->job = static_cast<uint32_t>(jobs_.size()) + 1;
  submit->fence_fd = -1;
  jobs_.push_back({file.device,
                   submit->ctx,
                   submit->queue,
                   submit->job,
                   submit->sequence,
                   uint64_t{file.client} << 32 | static_cast<uint32_t>(submit->correlation),
                   {commands, commands + submit->num_cmds}});
  queue.open[submit->sequence] = submit->num_cmds;
  for (uint32_t i = 0; i < submit->num_cmds; ++i) {
    Pending pending = {jobs_.size() - 1, commands[i]};
    pending.command.index = i;
    queue.fifo[commands[i].engine].push_back({submit->sequence, pending});
    NoteUse(file, *submit, commands[i]);
  }
  if (mode_ == Mode::kEager) {
    while (RunOne(file)) {
    }
  }
  changed_.notify_all();
  return 0;
}

void FakeKernel::NoteUse(File& file, const axl_submit& submit, const axl_desc& command) {
  std::vector<uint64_t> refs;
  if (command.opcode == AXL_OP_MATMUL)
    refs = {command.matmul.a, command.matmul.b, command.matmul.c};
  else if (command.opcode == AXL_OP_COPY_H2D || command.opcode == AXL_OP_COPY_D2H)
    refs = {command.copy.host, command.copy.device};
  else if (command.opcode != AXL_OP_NOP)
    refs = {command.vector.src0, command.vector.src1, command.vector.dst};
  for (const uint64_t ref : refs) {
    const auto found = file.buffers.find(AXL_REF_HANDLE(ref));
    if (found != file.buffers.end())
      found->second->last_use[{submit.ctx, submit.queue}] = submit.sequence;
  }
}

bool FakeKernel::RunOne(File& file) {
  struct Candidate {
    Ctx* ctx;
    Queue* queue;
    uint32_t engine;
  };
  std::vector<Candidate> candidates;
  for (Ctx& ctx : file.contexts) {
    if (!ctx.alive || ctx.dead) continue;
    for (Queue& queue : ctx.queues) {
      for (uint32_t engine = 0; engine < AXL_NUM_ENGINES; ++engine) {
        if (!queue.fifo[engine].empty() &&
            Satisfied(queue.fifo[engine].front().second.command, ctx.sems))
          candidates.push_back({&ctx, &queue, engine});
      }
    }
  }
  if (candidates.empty()) return false;
  const size_t pick = mode_ == Mode::kEager ? 0 : random_() % candidates.size();
  Execute(file, *candidates[pick].ctx, *candidates[pick].queue, candidates[pick].engine);
  return true;
}

void FakeKernel::Execute(File& file, Ctx& ctx, Queue& queue, uint32_t engine) {
  const auto [sequence, pending] = queue.fifo[engine].front();
  queue.fifo[engine].pop_front();
  const axl_desc& command = pending.command;
  const auto memory = [&](uint64_t ref, uint64_t bytes) -> std::byte* {
    const auto found = file.buffers.find(AXL_REF_HANDLE(ref));
    if (found == file.buffers.end()) return nullptr;
    const uint64_t offset = AXL_REF_OFFSET(ref);
    if (offset > found->second->bytes || bytes > found->second->bytes - offset) return nullptr;
    return found->second->memory + offset;
  };
  uint32_t status = RunFakeCommand(command, memory);
  if (fail_status_ && fail_skip_-- == 0) {
    status = fail_status_;
    fail_status_ = 0;
  }
  ++executed_;
  clock_ += 100;
  if (status != AXL_ST_OK) {  // the context is lost and drops its queued work
    ctx.dead = true;
    queue.failed = sequence;
    queue.failed_status = status;
    queue.failed_index = command.index;
    for (Queue& other : ctx.queues) {
      for (auto& fifo : other.fifo) fifo.clear();
      if (&other != &queue && other.completed < other.submitted) {
        other.failed = other.completed + 1;
        other.failed_status = AXL_ST_CANCELED;
      }
      other.completed = other.submitted;
    }
    return;
  }
  if (command.signal_sem != AXL_SEM_NONE)
    ctx.sems[command.signal_sem] =
        std::max<uint64_t>(ctx.sems[command.signal_sem], command.signal_value);
  --queue.open[sequence];
  Settle(queue);
}

// The jobs of a queue complete in order.
void FakeKernel::Settle(Queue& queue) {
  while (!queue.open.empty() && queue.open.begin()->second == 0) {
    queue.completed = queue.open.begin()->first;
    queue.ticks[queue.completed] = clock_;
    queue.open.erase(queue.open.begin());
  }
}

int FakeKernel::Wait(File& file, axl_wait* wait, std::unique_lock<std::mutex>& lock) {
  Ctx* ctx = FindCtx(file, wait->ctx);
  if (!ctx || wait->queue >= ctx->queues.size()) return -ENOENT;
  if (wait->flags || !wait->sequence) return -EINVAL;
  if (wait->sequence > ctx->queues[wait->queue].submitted) return -ENOENT;
  while (ctx->queues[wait->queue].completed < wait->sequence) {
    if (wait->deadline_ns >= 0) return -ETIMEDOUT;
    if (mode_ == Mode::kHeld) {
      changed_.wait(lock);
    } else if (!RunOne(file)) {
      deadlocked_ = true;
      return -EDEADLK;
    }
    ctx = FindCtx(file, wait->ctx);
    if (!ctx) return -ENODEV;
  }
  const Queue& queue = ctx->queues[wait->queue];
  changed_.notify_all();
  if (queue.failed && wait->sequence >= queue.failed) {
    const bool guilty = wait->sequence == queue.failed;
    wait->status = guilty ? queue.failed_status : uint32_t{AXL_ST_CANCELED};
    wait->error_index = guilty ? queue.failed_index : 0;
    return -EIO;
  }
  wait->status = AXL_ST_OK;
  const auto ticks = queue.ticks.find(wait->sequence);
  wait->device_ticks = ticks == queue.ticks.end() ? 0 : ticks->second;
  return 0;
}

}  // namespace acceltrace::runtime
