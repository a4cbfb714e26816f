// SPDX-License-Identifier: Apache-2.0
//
// Valid device records as a starting point of tests.
#ifndef DAEMON_TESTING_AXL_RECORDS_H_
#define DAEMON_TESTING_AXL_RECORDS_H_

#include "daemon/sources/axl/record_check.h"
#include "kmod/uapi/axl_counters.h"

namespace acceltrace::daemon {

inline RecordLimits TestLimits() {
  RecordLimits limits;
  limits.num_queues = 8;
  limits.num_contexts = 4;
  limits.num_counters = AXL_NUM_COUNTERS;
  limits.clock_bits = 48;
  return limits;
}

inline axl_record CommandRecord(uint32_t job, uint16_t index, uint32_t sequence) {
  axl_record record = {};
  axl_rec_cmd& cmd = record.cmd;
  cmd.h = {AXL_REC_CMD, AXL_ENGINE_MATRIX, 2, 1, sequence, 2000};
  cmd.fetched = 1000;
  cmd.head = 1100;
  cmd.start = 1300;
  cmd.end = 2000;
  cmd.correlation = (77ULL << 32) | job;
  cmd.job = job;
  cmd.index = index;
  cmd.opcode = AXL_OP_MATMUL;
  cmd.tag = 5;
  cmd.stall[AXL_STALL_SEMAPHORE] = 200;
  cmd.stall[AXL_STALL_MEMORY] = 100;
  cmd.work = 4096;
  cmd.bytes = 512;
  cmd.dram_bytes = 640;
  return record;
}

inline axl_record JobRecord(uint32_t job, uint32_t sequence) {
  axl_record record = {};
  axl_rec_job& rec = record.job;
  rec.h = {AXL_REC_JOB, 0xff, 2, 1, sequence, 2500};
  rec.doorbell = 900;
  rec.fetched = 1000;
  rec.first_start = 1300;
  rec.last_end = 2000;
  rec.completion = 2200;
  rec.irq = 2300;
  rec.correlation = (77ULL << 32) | job;
  rec.job = job;
  rec.commands = 1;
  return record;
}

// Part `part` of snapshot `sample`; counter i has the value base + i.
inline axl_record CounterRecord(uint32_t sample, uint32_t part, uint64_t base, uint32_t sequence) {
  axl_record record = {};
  axl_rec_counters& rec = record.counters;
  rec.h = {AXL_REC_COUNTERS, 0xff, 0xff, 0xff, sequence, 5000 + sample};
  rec.first = static_cast<uint16_t>(part * AXL_REC_COUNTERS_PER);
  const uint32_t left = AXL_NUM_COUNTERS - rec.first;
  rec.count = static_cast<uint16_t>(left < AXL_REC_COUNTERS_PER ? left : AXL_REC_COUNTERS_PER);
  rec.sample = sample;
  for (uint32_t i = 0; i < rec.count; ++i) rec.value[i] = base + rec.first + i;
  return record;
}

inline constexpr uint32_t kCounterParts =
    (AXL_NUM_COUNTERS + AXL_REC_COUNTERS_PER - 1) / AXL_REC_COUNTERS_PER;

}  // namespace acceltrace::daemon

#endif  // DAEMON_TESTING_AXL_RECORDS_H_
