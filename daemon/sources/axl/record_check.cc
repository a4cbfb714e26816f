// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/record_check.h"

namespace acceltrace::daemon {
namespace {

constexpr uint8_t kNone = 0xff;
// Longer stalls are recorded as this.
constexpr uint32_t kMostStall = UINT32_MAX;

// Checks one time, or several that were combined by OR.
const char* CheckTicks(uint64_t ticks, uint64_t mask) {
  return (ticks & ~mask) != 0 ? "a time is wider than the clock" : nullptr;
}

const char* CheckHead(const axl_rec_head& head, const RecordLimits& limits) {
  if (head.engine >= AXL_NUM_ENGINES && head.engine != kNone) return "no such engine";
  if (head.queue >= limits.num_queues && head.queue != kNone) return "no such queue";
  if (head.context >= limits.num_contexts && head.context != kNone) return "no such context";
  return CheckTicks(head.time, limits.TickMask());
}

const char* CheckCommand(const axl_rec_cmd& cmd, const RecordLimits& limits) {
  const uint64_t mask = limits.TickMask();
  if (cmd.h.engine == kNone) return "a command without an engine";
  if (cmd.h.queue == kNone || cmd.h.context == kNone) return "a command without a queue";
  if (cmd.job == 0) return "a command without a job";
  if (cmd.index >= AXL_MAX_JOB_COMMANDS) return "command index out of range";
  if (cmd.status > AXL_ST_CANCELED) return "unknown status";
  if (cmd.limiter > AXL_LIMIT_THROTTLE) return "unknown limiter";
  if (const char* wrong = CheckTicks(cmd.fetched | cmd.head | cmd.start | cmd.end, mask)) {
    return wrong;
  }
  // Neither order nor length are checked, as the clock may have been set in between, or have
  // wrapped more than once. The only difference that does not stem from two readings is that of a
  // command's head.
  const uint32_t waited = cmd.stall[AXL_STALL_SEMAPHORE];
  if (waited != kMostStall && ((cmd.start - cmd.head - waited) & mask) != 0) {
    return "its head is not its start less the semaphore stall";
  }
  return nullptr;
}

const char* CheckJob(const axl_rec_job& job, const RecordLimits& limits) {
  const uint64_t mask = limits.TickMask();
  if (job.h.queue == kNone || job.h.context == kNone) return "a job without a queue";
  if (job.job == 0) return "a job without a number";
  if (job.commands > AXL_MAX_JOB_COMMANDS) return "too many commands in a job";
  if (job.status > AXL_ST_CANCELED) return "unknown status";
  const uint64_t times =
      job.doorbell | job.fetched | job.first_start | job.last_end | job.completion | job.irq;
  return CheckTicks(times, mask);
}

const char* CheckCounters(const axl_rec_counters& counters, const RecordLimits& limits) {
  if (counters.count == 0 || counters.count > AXL_REC_COUNTERS_PER) return "bad counter count";
  if (counters.first >= limits.num_counters ||
      counters.first + counters.count > limits.num_counters) {
    return "no such counter";
  }
  if (counters.first % AXL_REC_COUNTERS_PER != 0) return "counters out of step";
  return nullptr;
}

const char* CheckLoss(const axl_rec_loss& loss, const RecordLimits& limits) {
  if (const char* wrong = CheckTicks(loss.first_time, limits.TickMask())) return wrong;
  if (const char* wrong = CheckTicks(loss.last_time, limits.TickMask())) return wrong;
  return loss.lost == 0 ? "a loss of nothing" : nullptr;
}

}  // namespace

const char* CheckRecord(const axl_record& record, const RecordLimits& limits) {
  if (const char* wrong = CheckHead(record.h, limits)) return wrong;
  switch (record.h.type) {
    case AXL_REC_CMD:
      return CheckCommand(record.cmd, limits);
    case AXL_REC_JOB:
      return CheckJob(record.job, limits);
    case AXL_REC_DOORBELL:
      return record.h.queue == kNone ? "a doorbell without a queue" : nullptr;
    case AXL_REC_COUNTERS:
      return CheckCounters(record.counters, limits);
    case AXL_REC_LOSS:
      return CheckLoss(record.loss, limits);
    case AXL_REC_EVENT:
      return record.event.event >= AXL_EV_LINK && record.event.event <= AXL_EV_RESET
                 ? nullptr
                 : "unknown event";
    default:
      return "unknown record type";
  }
}

}  // namespace acceltrace::daemon
