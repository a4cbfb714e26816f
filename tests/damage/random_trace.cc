// SPDX-License-Identifier: Apache-2.0
#include "tests/damage/random_trace.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "libtrace/stream/columns/batches.h"
#include "libtrace/stream/columns/columns.h"
#include "tests/damage/blocks.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::test {
namespace {

using google::protobuf::FieldDescriptor;
using proto::DeviceEventBatch;
using proto::Packet;
using stream::DeltaEncoder;

constexpr uint32_t kPid = 300;
constexpr int64_t kBeginNs = 10'000'000'000;  // no sample is before time 0

// Maps the time of an undisturbed clock to the value of the disturbed one.
class Warp {
 public:
  Warp(const TraceBuilder& builder, uint32_t device, uint32_t bits, uint64_t hz)
      : builder_(builder), device_(device), hz_(hz) {
    mask_ = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    pieces_.push_back({0, 0, 1});
  }

  // Adds the device's events of it, of which some are not recorded.
  void Add(int64_t at_ns, Random* random, DeviceEventBatch* events, DeltaEncoder* times) {
    const uint64_t at = builder_.Ticks(device_, at_ns);
    const uint64_t before = At(at);
    Piece next{at, before, pieces_.back().rate};
    DeviceEventBatch::Kind kind = DeviceEventBatch::KIND_CLOCK;
    uint64_t shown_before = 0;
    switch (random->Below(4)) {
      case 0:
        next.rate *= 1 + (static_cast<double>(random->Below(2000)) - 1000) * 1e-6;
        break;
      case 1:
        kind = DeviceEventBatch::KIND_RESET;
        next.start = random->Below(3) * random->Below(1000);
        break;
      default:
        next.start += (random->OneIn(2) ? 1 : -1) * (random->Any() >> (20 + random->Below(44)));
        if (random->OneIn(3)) next.rate *= 1.00002;
        shown_before = before & mask_;
    }
    pieces_.push_back(next);
    if (random->OneIn(4)) return;
    events->add_kind(kind);
    times->Append(next.start & mask_, events->mutable_time_ticks_delta());
    events->add_arg0(kind == DeviceEventBatch::KIND_CLOCK
                         ? static_cast<uint64_t>(static_cast<double>(hz_) * 1000 * next.rate)
                         : 0);
    events->add_arg1(shown_before);
    events->add_arg2(0);
  }

  uint64_t Raw(uint64_t ticks) const { return At(ticks) & mask_; }

 private:
  struct Piece {
    uint64_t from, start;
    double rate;
  };
  uint64_t At(uint64_t ticks) const {
    size_t p = pieces_.size() - 1;
    while (p > 0 && ticks < pieces_[p].from) --p;
    const uint64_t since = ticks - pieces_[p].from;
    const double more = static_cast<double>(static_cast<int64_t>(since)) * (pieces_[p].rate - 1);
    return pieces_[p].start + since + static_cast<uint64_t>(static_cast<int64_t>(more));
  }

  const TraceBuilder& builder_;
  uint32_t device_;
  uint64_t hz_, mask_;
  std::vector<Piece> pieces_;
};

JobSpec AnyJob(uint32_t number, uint32_t device, int64_t at_ns, Random* random) {
  JobSpec job;
  job.pid = job.tid = kPid + static_cast<uint32_t>(random->Below(2));
  job.device = device, job.queue = static_cast<uint32_t>(random->Below(2));
  job.job = number, job.sequence = number;
  job.correlation = (uint64_t{job.pid} << 32) + 2 * number;
  job.others = random->OneIn(10);
  job.submit_ns = at_ns + 400, job.doorbell_ns = at_ns + 900, job.submit_end_ns = at_ns + 1'200;
  job.device_doorbell_ns = at_ns + 1'150, job.fetched_ns = at_ns + 1'500;
  int64_t now_ns = at_ns + 2'000;
  for (size_t c = random->Below(4) + 1; c > 0; --c) {
    CommandSpec command;
    command.unit = static_cast<Unit>(random->Below(4));
    command.fetched_ns = at_ns + 1'600, command.head_ns = now_ns;
    command.start_ns = now_ns + static_cast<int64_t>(random->Below(3) * random->Below(5'000));
    now_ns = command.end_ns = command.start_ns + 1 + static_cast<int64_t>(random->Below(90'000));
    command.stall_ns[kStallMemory] = (command.end_ns - command.start_ns) / 5;
    command.bytes = random->Below(1 << 20), command.memory_bytes = command.bytes;
    command.work = random->Below(1 << 24);
    command.tag = static_cast<uint32_t>(random->Below(4));
    command.limiter = static_cast<uint32_t>(random->Below(3));
    command.status = random->OneIn(8) ? 1 : 0;
    command.row_hits = 7, command.row_misses = 1;
    job.commands.push_back(command);
  }
  job.completion_ns = now_ns + 200;
  if (!random->OneIn(4)) job.device_irq_ns = now_ns + 250, job.irq_ns = now_ns + 900;
  job.complete_ns = now_ns + 1'300;
  if (random->OneIn(2)) {
    job.wait_correlation = job.correlation + 1;
    job.wait_ns = at_ns + 1'900, job.wake_ns = now_ns + 2'600;
  }
  return job;
}

// Returns the end of the work.
int64_t AddWork(TraceBuilder* builder, uint32_t devices, int64_t period_ns, Random* random) {
  int64_t now_ns = kBeginNs;
  builder->AddApi("Init", kPid, uint64_t{kPid} << 32, now_ns - 2'000, now_ns - 1'000);
  const size_t jobs = random->Below(7);
  for (uint32_t number = 1; number <= jobs; ++number) {
    const auto device = static_cast<uint32_t>(random->Below(devices));
    const JobSpec job = AnyJob(number, device, now_ns, random);
    builder->AddApi("Launch", job.pid, job.correlation, now_ns, now_ns + 1'400, 64);
    if (job.wake_ns != 0) {
      builder->AddApi("Wait", job.pid, job.wait_correlation, now_ns + 1'700, job.wake_ns + 400);
    }
    builder->AddRange("step " + std::to_string(number), job.pid, now_ns - 10, job.complete_ns, 0);
    if (random->OneIn(2)) builder->AddRange("inner", job.pid, now_ns, now_ns + 1'500, 1);
    if (random->OneIn(3)) builder->AddMark("mark", job.pid, now_ns + 5);
    if (random->OneIn(3)) builder->AddTrueCounters(device, now_ns - 5);
    builder->AddJob(job);
    now_ns = (random->OneIn(3) ? job.submit_end_ns : job.complete_ns + 3'500) + 500;
    if (random->OneIn(5)) now_ns += static_cast<int64_t>(random->Below(8)) * period_ns;
  }
  for (uint32_t d = 0; d < devices; ++d) {
    if (random->OneIn(2)) builder->AddTrueCounters(d, now_ns + 5'000);
  }
  return now_ns + 100'000;
}

void AddRest(TraceBuilder* builder, int64_t end_ns, Random* random) {
  for (uint32_t pid : {kPid, kPid + 1}) {
    builder->AddProcess(pid, pid, "p" + std::to_string(pid));
    builder->AddOpName(pid, 1, "op.1"), builder->AddOpName(pid, 2, "op.2");
  }
  builder->AddProcess(kPid, kPid + 7, "thread");
  for (size_t i = random->Below(4); i > 0; --i) {
    builder->AddProcessEvent(static_cast<proto::ProcessEvents::Kind>(1 + random->Below(6)),
                             kBeginNs + static_cast<int64_t>(random->Below(1'000'000)),
                             kPid + static_cast<uint32_t>(random->Below(2)), kPid, 1);
  }
  if (random->OneIn(3)) builder->AddLoss("bpf-api", 3, kBeginNs + 500, end_ns - 500);
  for (const char* hop : {"device-ring/acc0", "bpf-api", "bpf-driver", "output"}) {
    builder->AddHop(hop, 100, 100 - random->Below(2), random->Below(2), random->Below(2));
  }
  for (const char* name : {"device:acc0", "tp:submit", "usdt:lib:api_begin", "clock:acc0"}) {
    proto::Probe* probe = builder->info()->add_probes();
    probe->set_name(name), probe->set_attached(!random->OneIn(6));
  }
  proto::Accounts* accounts = builder->accounts();
  accounts->set_cpu_ns(1'000'000), accounts->set_bpf_ns(20'000), accounts->set_bpf_runs(30);
  for (const char* kind : {"shared-memory", "usdt", "tracepoint"}) {
    auto* cost = accounts->add_event_costs();
    cost->set_kind(kind), cost->set_cost_ps(200'000), cost->set_error_ps(9'000);
    cost->set_events(random->Below(50));
  }
  for (int64_t at = 0; at < 3; ++at) {
    accounts->add_work_begin_ns_delta(at == 0 ? kBeginNs : 9'000);
    accounts->add_work_ns(2'000), accounts->add_work_cpu_ns(900);
  }
  accounts->set_wake_ns(2'000), accounts->set_wake_error_ns(100);
  if (random->OneIn(4)) {
    auto* unseen = accounts->add_unseen();
    unseen->set_pid(kPid), unseen->set_reason("static");
  }
  if (random->OneIn(4)) accounts->set_overwritten_rows(5), accounts->set_whole_since_ns(kBeginNs);
}

// Adds cross-timestamps, cycle counters, and the host's bracket of counters.
void AddMore(Packet* packet, Random* random) {
  if (packet->has_clocks() && random->OneIn(2)) {
    auto* batch = packet->mutable_clocks();
    batch->mutable_ptm_device_ticks_delta()->CopyFrom(batch->device_ticks_delta());
    batch->mutable_ptm_host_ns_delta()->CopyFrom(batch->host_before_ns_delta());
    for (int i = 0; i < batch->host_before_ns_delta_size(); ++i) {
      batch->add_has_ptm(random->OneIn(5) ? 0 : 1);
      batch->add_tsc_before_delta(3 * batch->host_before_ns_delta(i)), batch->add_tsc_width(1'200);
    }
    if (batch->ptm_host_ns_delta_size() > 0) {
      batch->set_ptm_host_ns_delta(0, batch->ptm_host_ns_delta(0) + 200);
    }
  }
  if (packet->has_counters() && random->OneIn(2)) {
    auto* batch = packet->mutable_counters();
    for (int i = 0; i < batch->time_ticks_delta_size(); ++i) {
      batch->add_host_before_ns_delta(i == 0 ? kBeginNs - 1'000 : 90'000);
      batch->add_host_after_ns_delta(i == 0 ? kBeginNs + 2'000'000 : 90'000);
    }
    if (random->OneIn(4)) batch->clear_counter(), batch->clear_value_delta();
  }
}

void WarpTicks(Packet* packet, const std::vector<Warp>& warps) {
  auto* batch = stream::MutableBody(packet);
  const auto* device = batch->GetDescriptor()->FindFieldByName("device");
  if (device == nullptr || device->is_repeated() || packet->has_device()) return;
  const auto& r = *batch->GetReflection();
  const Warp& warp = warps[r.GetUInt32(*batch, device)];
  for (int i = 0; i < batch->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = batch->GetDescriptor()->field(i);
    if (!field->name().ends_with("ticks_delta") || !field->is_repeated()) continue;
    uint64_t truly = 0, last = 0;
    for (int row = 0; row < r.FieldSize(*batch, field); ++row) {
      truly += static_cast<uint64_t>(r.GetRepeatedInt64(*batch, field, row));
      const uint64_t raw = warp.Raw(truly);
      r.SetRepeatedInt64(batch, field, row, static_cast<int64_t>(raw - last));
      last = raw;
    }
  }
}

}  // namespace

std::vector<Packet> RandomTrace(Random* random) {
  static constexpr uint64_t kHz[] = {1'000'000'000, 250'000'000, 24'576'000, 1'000'000,
                                     312'500'000};
  static constexpr uint32_t kBits[] = {64, 64, 48, 32, 24};
  const auto devices = static_cast<uint32_t>(random->OneIn(12) ? 0 : 1 + random->Below(3));
  // Few samples, however long the trace is.
  const int64_t period_ns = int64_t{100'000} << random->Below(11);
  TraceBuilder builder;
  for (uint32_t d = 0; d < devices; ++d) {
    ClockSpec clock;
    clock.sample_period_ns = period_ns;
    clock.hz = kHz[random->Below(std::size(kHz))];
    clock.ppm = static_cast<double>(random->Below(300)) - 150;
    clock.offset_ticks = random->Any() >> random->Below(64);
    builder.AddDevice(clock);
    builder.device(d)->mutable_clock()->set_bits(kBits[random->Below(std::size(kBits))]);
    builder.device(d)->mutable_clock()->set_ptm(random->OneIn(2));
  }
  const int64_t end_ns = devices == 0 ? kBeginNs : AddWork(&builder, devices, period_ns, random);
  AddRest(&builder, end_ns, random);
  std::vector<Warp> warps;
  std::vector<Packet> events;
  for (uint32_t d = 0; d < devices; ++d) {
    const proto::Clock& clock = builder.device(d)->clock();
    Warp& warp = warps.emplace_back(builder, d, clock.bits(), clock.nominal_hz());
    auto* batch = events.emplace_back().mutable_device_events();
    batch->set_device(d);
    DeltaEncoder times;
    int64_t at_ns = kBeginNs - 200'000;
    for (size_t i = random->Below(5); i > 0; --i) {
      at_ns += static_cast<int64_t>(random->Below(static_cast<size_t>(end_ns - kBeginNs) + 1)) / 2;
      if (random->OneIn(4)) {
        batch->add_kind(static_cast<uint32_t>(1 + random->Below(7)));
        times.Append(warp.Raw(builder.Ticks(d, at_ns)), batch->mutable_time_ticks_delta());
        batch->add_arg0(random->Below(4)), batch->add_arg1(0), batch->add_arg2(1);
      } else {
        warp.Add(at_ns, random, batch, &times);
      }
    }
    if (batch->kind_size() == 0) events.pop_back();
  }
  std::vector<Packet> packets = builder.Packets();
  for (Packet& packet : packets) {
    AddMore(&packet, random);
    if (!packet.has_info() && !packet.has_accounts()) WarpTicks(&packet, warps);
    if (random->OneIn(3)) (void)ToBlock(&packet, random);
    if (random->OneIn(4)) (void)Pack(&packet);
  }
  const auto place = packets.begin() + static_cast<ptrdiff_t>(random->Below(packets.size()));
  packets.insert(place, std::make_move_iterator(events.begin()),
                 std::make_move_iterator(events.end()));
  if (random->OneIn(2)) packets = Divided(packets, 1 + random->Below(8));
  return packets;
}

}  // namespace acceltrace::test
