// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/driver_source.h"

#include <cstring>
#include <limits>

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kLog2Records = 14;
constexpr size_t kRecordsPerDrain = 1024;
constexpr uint32_t kInFlight = 0xffff;  // as axl_job tells it
constexpr char kHop[] = "driver-ring/";

// The time of a stamp, by its distance from another one whose time is known. 0 = not taken.
uint64_t ToNs(uint64_t stamp, uint64_t known, uint64_t known_ns, uint32_t stamp_khz) {
  if (stamp == 0) return 0;
  const auto distance = static_cast<int64_t>(stamp - known);
  if (stamp_khz == 0) return known_ns + static_cast<uint64_t>(distance);
  const __int128 distance_ns = static_cast<__int128>(distance) * 1'000'000 / stamp_khz;
  return known_ns + static_cast<uint64_t>(distance_ns);
}

act_job ToJob(const axl_rec_host_job& from, uint32_t device, uint32_t stamp_khz) {
  act_job job = {};
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
  return job;
}

act_wake ToWake(const axl_rec_host_wait& from, uint32_t device) {
  act_wake wake = {};
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
  return wake;
}

}  // namespace

std::optional<DriverRecord> ReadDriverRecord(const axl_host_record& in_ring, uint32_t device,
                                             uint32_t stamp_khz) {
  axl_host_record record;
  std::memcpy(&record, &in_ring, sizeof(record));
  if (record.h.queue >= AXL_MAX_QUEUES || record.h.context >= AXL_MAX_CONTEXTS) return {};
  DriverRecord read;
  read.context = record.h.context;
  switch (record.h.type) {
    case AXL_REC_HOST_JOB:
      read.kind = DriverRecord::Kind::kJob;
      read.job = ToJob(record.host_job, device, stamp_khz);
      return read;
    case AXL_REC_HOST_WAIT:
      read.kind = DriverRecord::Kind::kWait;
      read.wake = ToWake(record.host_wait, device);
      return read;
    default:
      return {};
  }
}

Status DriverSource::Start() {
  auto ring = device_->OpenDriverRing(kLog2Records);
  if (!ring.ok()) return ring.status();
  auto reader = RingReader::Open(ring->map.get(), ring->map.bytes());
  if (!reader.ok()) return Status::Error(device_->name() + ": " + reader.message());
  ring_ = std::move(ring).value();
  reader_ = std::move(reader).value();
  handler_->OnProbe("driver:" + device_->name(), true, "");
  handler_->OnEventCost({"driver-ring",
                         ring_.job_ns,
                         0,
                         {proto::HostBatch::KIND_COMPLETE, proto::HostBatch::KIND_WAKE}});
  return {};
}

template <typename Rows>
void DriverSource::Send(Rows* rows) {
  proto::Packet packet;
  const uint32_t count = rows->Encode(&writer_, packet.mutable_block());
  if (count > 0) {
    handler_->OnBlock(&packet, static_cast<int64_t>(packet.block().first()), count, count);
  }
}

void DriverSource::HandleJob(const act_job& job, uint32_t context) {
  const auto of_call = static_cast<uint32_t>(job.correlation >> 32);
  // Submitted while nobody listened: whose it is only its correlation or its context says.
  const uint32_t pid = job.h.pid != 0 ? job.h.pid : of_call;
  if (pid != 0 ? !owner_.wanted(pid) : !owner_.owned(context)) {
    ++foreign_;
    return;
  }
  if (pid != 0) owner_.used(context, pid, job.correlation);
  jobs_.Append(job);
  if (jobs_.full()) Send(&jobs_);
}

void DriverSource::Handle(const axl_host_record& record) {
  const auto read = ReadDriverRecord(record, device_->number(), ring_.stamp_khz);
  if (!read) {
    ++bad_;
  } else if (read->kind == DriverRecord::Kind::kJob) {
    HandleJob(read->job, read->context);
  } else if (owner_.wanted(read->wake.h.pid)) {
    waits_.Append(read->wake);
    if (waits_.full()) Send(&waits_);
  } else {
    ++foreign_;
  }
}

Pace DriverSource::Drain(int64_t now_ns) {
  Pace pace;
  pace.fill_permille =
      reader_->Drain(kRecordsPerDrain, [this](const axl_record* records, size_t count) {
        static_assert(sizeof(axl_host_record) == sizeof(axl_record));
        const auto* host = reinterpret_cast<const axl_host_record*>(records);
        for (size_t i = 0; i < count; ++i) Handle(host[i]);
      });
  if (reader_->more()) pace.next_ns = now_ns;
  return pace;
}

std::vector<Hop> DriverSource::Hops() {
  const RingCounts& counts = reader_->counts();
  const uint64_t bad = counts.bad_index + counts.bad_sequence + bad_;
  const uint64_t out = counts.out - foreign_ - bad_, waiting = jobs_.rows() + waits_.rows();
  return {{kHop + device_->name(), out + counts.AllLost() + bad, out - waiting, counts.AllLost(),
           bad, "", waiting}};
}

void DriverSource::Flush() {
  Send(&jobs_);
  Send(&waits_);
}

void DriverSource::Stop() {
  // At most what fits, whoever else writes to it.
  for (int rounds = 0; rounds < 1 << (kLog2Records - 9); ++rounds) {
    (void)Drain(0);
    if (!reader_->more()) break;
  }
  Flush();
  const uint64_t lost = reader_->counts().AllLost();
  if (lost > 0) {
    Loss loss;
    loss.hop = kHop + device_->name();
    loss.count = lost;
    loss.device = device_->number();
    handler_->OnLoss(loss);
  }
  for (const Hop& hop : Hops()) handler_->OnHop(hop);
  ring_.map.Reset();
  ring_.fd.Reset();
}

}  // namespace acceltrace::daemon
