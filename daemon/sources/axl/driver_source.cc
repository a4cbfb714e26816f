// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/driver_source.h"

#include <cstring>
#include <limits>

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kLog2Records = 14;
constexpr size_t kRecordsPerDrain = 1024;
constexpr char kHop[] = "driver-ring/";
// The driver measures the cost of tracing a job in one piece. In its actual places in submission,
// handler and completion, the cost is higher by this factor: registers are saved, and times are
// kept until they are needed. Counted in instructions, it is 305 there, or 377 if the program is so
// much later that the interrupt finds it outside of the kernel, which makes entry and exit more
// expensive. Which of the two applies to a program is unknown: see docs/benchmarks.md. Half of the
// increase is the error.
constexpr double kJobInPlace = 325.0 / 248;

}  // namespace

Status DriverSource::Start() {
  auto ring = device_->OpenDriverRing(kLog2Records);
  if (!ring.ok()) return ring.status();
  auto reader = RingReader::Open(ring->map.get(), ring->map.bytes());
  if (!reader.ok()) return Status::Error(device_->name() + ": " + reader.message());
  ring_ = std::move(ring).value();
  reader_ = std::move(reader).value();
  handler_->OnProbe("driver:" + device_->name(), true, "");
  using Kind = proto::HostBatch;
  EventCost job = {"driver-ring",
                   ring_.job_ns * kJobInPlace,
                   ring_.job_ns * (kJobInPlace - 1) / 2,
                   {Kind::KIND_COMPLETE}};
  // It is not known whether lost events were jobs or waits.
  job.events = [this] { return num_jobs_ + Lost(); };
  handler_->OnEventCost(job);
  EventCost wait = {"driver-ring-wait", ring_.wait_ns, 0, {Kind::KIND_WAKE}};
  wait.events = [this] { return num_waits_; };
  handler_->OnEventCost(wait);
  return {};
}

// What arrived and was lost so far is not part of the recording.
void DriverSource::Begin() {
  reader_->Drain(size_t{1} << kLog2Records, [](const axl_record*, size_t) {});
  at_start_ = reader_->counts();
}

uint64_t DriverSource::Lost() const { return reader_->counts().AllLost() - at_start_.AllLost(); }

template <typename Rows>
void DriverSource::Send(Rows* rows) {
  proto::Packet packet;
  const uint32_t count = rows->Encode(&writer_, packet.mutable_block());
  if (count > 0) {
    handler_->OnBlock(&packet, static_cast<int64_t>(packet.block().first()), count, count);
  }
}

bool DriverSource::IsWanted(uint64_t correlation) {
  const auto client = static_cast<uint32_t>(correlation >> 32);
  if (client != 0 && client == wanted_client_) return true;
  if (foreign_clients_.Has(client)) return false;
  if (owners_ != nullptr && !owners_->WantedClient(client)) {
    foreign_clients_.Add(client);
    return false;
  }
  wanted_client_ = client;
  return true;
}

void DriverSource::HandleJob(const act_job& job, uint32_t context) {
  if (!IsWanted(job.correlation)) {
    ++foreign_;
    return;
  }
  ++num_jobs_;
  // Consecutive jobs are usually of the same client.
  const Use use = {context, static_cast<uint32_t>(job.correlation >> 32), job.h.pid};
  if (use != last_use_) {
    if (owners_ != nullptr) {
      owners_->NoteJob(device_->number(), context, job.h.pid, job.correlation);
    }
    last_use_ = use;
  }
  handler_->OnJobOver(static_cast<int64_t>(job.submit_ns), static_cast<int64_t>(job.h.time_ns));
  jobs_.Append(job);
  if (jobs_.full()) Send(&jobs_);
}

void DriverSource::Handle(const axl_host_record& record) {
  if (!ReadDriverRecord(record, device_->number(), ring_.stamp_khz, &read_)) {
    ++bad_;
  } else if (read_.kind == DriverRecord::Kind::kJob) {
    HandleJob(read_.job, read_.context);
  } else if (IsWanted(read_.wake.wait_correlation)) {
    ++num_waits_;
    waits_.Append(read_.wake);
    if (waits_.full()) Send(&waits_);
  } else {
    ++foreign_;
  }
}

Pace DriverSource::Drain(int64_t now_ns) {
  Pace pace;
  wanted_client_ = 0;
  foreign_clients_.Clear();
  last_use_ = {};
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
  const uint64_t bad =
      counts.bad_index + counts.bad_sequence - at_start_.bad_index - at_start_.bad_sequence + bad_;
  const uint64_t out = counts.out - at_start_.out - foreign_ - bad_;
  const uint64_t waiting = jobs_.rows() + waits_.rows();
  return {{kHop + device_->name(), out + Lost() + bad, out - waiting, Lost(), bad, kSessionHop,
           waiting}};
}

void DriverSource::Flush() {
  Send(&jobs_);
  Send(&waits_);
}

void DriverSource::Stop() {
  // Limited to the ring's size, as other processes may still write to it.
  for (int rounds = 0; rounds < 1 << (kLog2Records - 9); ++rounds) {
    (void)Drain(0);
    if (!reader_->more()) break;
  }
  Flush();
  if (const uint64_t lost = Lost(); lost > 0) {
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
