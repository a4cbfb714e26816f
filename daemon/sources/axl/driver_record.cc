// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/driver_record.h"

#include <cstdint>
#include <cstring>

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kInFlight = 0xffff;  // as recorded by axl_job
constexpr int64_t kNsByKhz = 1'000'000;
constexpr int64_t kShort = INT64_MAX / kNsByKhz;  // an hour; needs no 128-bit division

// Returns the time of a stamp by its distance from another one whose time is known; 0 = not taken.
uint64_t ToNs(uint64_t stamp, uint64_t known, uint64_t known_ns, uint32_t stamp_khz) {
  if (stamp == 0) return 0;
  const auto distance = static_cast<int64_t>(stamp - known);
  if (stamp_khz == 0) return known_ns + static_cast<uint64_t>(distance);
  if (distance >= -kShort && distance <= kShort) {
    return known_ns + static_cast<uint64_t>(distance * kNsByKhz / stamp_khz);
  }
  const __int128 distance_ns = static_cast<__int128>(distance) * kNsByKhz / stamp_khz;
  return known_ns + static_cast<uint64_t>(distance_ns);
}

void ReadJob(const axl_rec_host_job& from, uint32_t device, uint32_t stamp_khz, act_job* to) {
  act_job& job = *to;
  job.h.type = ACT_JOB;
  job.h.extra = 0;
  job.h.time_ns = ToNs(from.h.time, from.anchor, from.anchor_ns, stamp_khz);
  job.h.pid = from.pid;
  job.h.tid = from.tid;
  job.h.cpu = static_cast<decltype(job.h.cpu)>(from.cpu);
  job.where = uint64_t{device & 0xffff} | uint64_t{from.h.context} << 16 |
              uint64_t{from.h.queue} << 32 |
              uint64_t{from.status > kInFlight ? kInFlight : from.status} << 48;
  job.job_cmds =
      uint64_t{from.job} | uint64_t{from.num_cmds} << 32 | uint64_t{from.submit_cpu} << 48;
  job.sequence = from.seq;
  job.correlation = from.correlation;
  job.copy_bytes = from.copy_bytes;
  job.device_ticks = from.device_ticks;
  job.submit_ns = ToNs(from.submit, from.doorbell, from.doorbell_ns, stamp_khz);
  job.doorbell_ns = from.doorbell_ns;
  job.submit_end_ns = ToNs(from.submit_end, from.doorbell, from.doorbell_ns, stamp_khz);
  job.irq_ns = ToNs(from.irq, from.anchor, from.anchor_ns, stamp_khz);
}

void ReadWait(const axl_rec_host_wait& from, uint32_t device, act_wake* to) {
  act_wake& wake = *to;
  wake.h.type = ACT_WAKE;
  wake.h.time_ns = from.h.time;
  wake.h.pid = from.pid;
  wake.h.tid = from.tid;
  wake.h.cpu = static_cast<decltype(wake.h.cpu)>(from.cpu);
  wake.h.extra = device;
  wake.context = from.h.context;
  wake.queue = from.h.queue;
  wake.job = from.job;
  wake.status = from.status;
  wake.sequence = from.seq;
  wake.correlation = from.correlation;
  wake.wait_correlation = from.wait_correlation;
  wake.wait_ns = from.wait_ns;
}

}  // namespace

bool ReadDriverRecord(const axl_host_record& in_ring, uint32_t device, uint32_t stamp_khz,
                      DriverRecord* read) {
  axl_host_record record;
  std::memcpy(&record, &in_ring, sizeof(record));
  if (record.h.queue >= AXL_MAX_QUEUES || record.h.context >= AXL_MAX_CONTEXTS) return false;
  read->context = record.h.context;
  switch (record.h.type) {
    case AXL_REC_HOST_JOB:
      read->kind = DriverRecord::Kind::kJob;
      ReadJob(record.host_job, device, stamp_khz, &read->job);
      return true;
    case AXL_REC_HOST_WAIT:
      read->kind = DriverRecord::Kind::kWait;
      ReadWait(record.host_wait, device, &read->wake);
      return true;
    default:
      return false;
  }
}

}  // namespace acceltrace::daemon
