// SPDX-License-Identifier: Apache-2.0
//
// Writes a random history as packets.
#include <algorithm>
#include <cmath>

#include "libtrace/stream/columns/columns.h"
#include "tests/scoring/history_machine.h"
#include "tests/scoring/history_random.h"

namespace acceltrace::scoring {

namespace {

using proto::DeviceEventBatch;
using proto::HostBatch;
using stream::DeltaEncoder;

constexpr double kStartNs = 5e12;
constexpr double kMs = 1e6, kSecond = 1e9;
// Interval of a batch in the stream, as with the daemon.
constexpr double kFlushNs = 5e8;

class Writer {
 public:
  Writer(const std::vector<Machine>& machines, std::vector<HostRow> host,
         const EventRecords& event_records, double end_ns, History* history)
      : machines_(machines),
        host_(std::move(host)),
        event_records_(event_records),
        end_ns_(end_ns),
        history_(*history) {}

  void Run() {
    proto::TraceInfo* info = history_.packets.emplace_back().mutable_info();
    info->set_schema_version(1);
    info->set_start_ns(static_cast<int64_t>(kStartNs) - 1'000'000);
    proto::Strings* strings = history_.packets.emplace_back().mutable_strings();
    strings->add_id(1);
    strings->add_value("device-ring");
    for (const Machine& machine : machines_) Describe(machine);
    for (double from = kStartNs - kFlushNs; from < end_ns_ + kSecond; from += kFlushNs) {
      const double to = from + kFlushNs;
      WriteHost(from, to);
      for (const Machine& machine : machines_) {
        WriteCommands(machine, from, to);
        WriteJobs(machine, from, to);
        WriteEvents(machine, from, to);
        WriteCounters(machine, from, to);
        WriteSamples(machine, from, to);
        WriteLosses(machine, from, to);
      }
    }
    proto::Accounts* accounts = history_.packets.emplace_back().mutable_accounts();
    accounts->set_stop_ns(static_cast<int64_t>(end_ns_ + 10 * kMs));
  }

 private:
  void Describe(const Machine& machine) {
    proto::Device* about = history_.packets.emplace_back().mutable_device();
    about->set_device(machine.number);
    about->set_name("axl" + std::to_string(machine.number));
    about->mutable_clock()->set_nominal_hz(static_cast<uint64_t>(machine.hz));
    about->mutable_clock()->set_bits(machine.bits);
    for (const char* name : {"first", "second"}) {
      proto::Unit* unit = about->add_units();
      unit->set_name(name);
      unit->set_kind(proto::Unit::KIND_MATRIX);
      unit->set_work_unit("MACs");
      unit->set_peak_work_per_s(1e12);
    }
    about->add_stalls("semaphore");
    about->add_stalls("memory");
    about->add_limiters("compute");
    about->add_statuses("ok");
    about->add_counters()->set_name("serial");
    about->add_counters()->set_name("elapsed_ticks");
  }

  void WriteSamples(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::ClockBatch* batch = packet.mutable_clocks();
    batch->set_device(machine.number);
    DeltaEncoder before, ticks, tsc, ptm_ticks, ptm_host, ptm_tsc;
    for (const clock::Sample& sample : machine.samples) {
      const auto at = static_cast<double>(sample.host_before_ns);
      if (at < from || at >= to) continue;
      before.Append(static_cast<uint64_t>(sample.host_before_ns),
                    batch->mutable_host_before_ns_delta());
      batch->add_host_width_ns(static_cast<uint64_t>(sample.host_after_ns - sample.host_before_ns));
      ticks.Append(sample.device_ticks, batch->mutable_device_ticks_delta());
      tsc.Append(uint64_t{0}, batch->mutable_tsc_before_delta());
      batch->add_tsc_width(0);
      ptm_ticks.Append(sample.ptm_device_ticks, batch->mutable_ptm_device_ticks_delta());
      ptm_host.Append(static_cast<uint64_t>(sample.ptm_host_ns),
                      batch->mutable_ptm_host_ns_delta());
      ptm_tsc.Append(uint64_t{0}, batch->mutable_ptm_tsc_delta());
      batch->add_has_ptm(sample.has_ptm);
    }
    if (batch->host_before_ns_delta_size() > 0) history_.packets.push_back(packet);
  }

  static int64_t After(uint64_t later, uint64_t earlier, uint64_t mask) {
    const uint64_t forward = (later - earlier) & mask;
    if (forward <= mask / 2) return static_cast<int64_t>(forward);
    return -static_cast<int64_t>((earlier - later) & mask);
  }

  void WriteCommands(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::CommandBatch* batch = packet.mutable_commands();
    batch->set_device(machine.number);
    const TrueClock& clock = machine.c();
    const uint64_t mask = clock.mask();
    DeltaEncoder fetched, records, correlations;
    for (const CommandRow& row : machine.commands) {
      if (row.made_ns < from || row.made_ns >= to) continue;
      const TrueCommand& t = row.truth;
      // The wait is subtracted from the start, in ticks that do not jump.
      const uint64_t wait = clock.Elapsed(t.start) - clock.Elapsed(t.head);
      const uint64_t start = clock.Raw(t.start), head = (start - wait) & mask;
      fetched.Append(clock.Raw(t.fetched), batch->mutable_fetched_ticks_delta());
      batch->add_head_ticks_after((head - clock.Raw(t.fetched)) & mask);
      batch->add_start_ticks_after(wait);
      batch->add_end_ticks_after((clock.Raw(t.end) - start) & mask);
      records.Append(row.record, batch->mutable_record_delta());
      batch->add_unit(t.unit);
      batch->add_context(1);
      batch->add_queue(0);
      batch->add_job(row.job);
      batch->add_index(row.index);
      batch->add_opcode(1);
      batch->add_status(0);
      batch->add_limiter(0);
      batch->add_tag(0);
      correlations.Append(uint64_t{row.job}, batch->mutable_correlation_delta());
      batch->add_work(1000);
      batch->add_bytes(0);
      batch->add_memory_bytes(0);
      batch->add_row_hits(0);
      batch->add_row_misses(0);
      batch->add_stall_ticks(wait);
      batch->add_stall_ticks(clock.Elapsed(t.start + t.stalled) - clock.Elapsed(t.start));
      history_.truth.commands[{machine.number, row.job, row.index}] = t;
    }
    if (batch->fetched_ticks_delta_size() > 0) history_.packets.push_back(packet);
  }

  void WriteJobs(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::JobBatch* batch = packet.mutable_jobs();
    batch->set_device(machine.number);
    const TrueClock& clock = machine.c();
    DeltaEncoder doorbells, records, correlations;
    for (const JobRow& row : machine.jobs) {
      if (row.made_ns < from || row.made_ns >= to) continue;
      const TrueJob& t = row.truth;
      const uint64_t doorbell = clock.Raw(t.doorbell);
      const auto after = [&](double ns) { return After(clock.Raw(ns), doorbell, clock.mask()); };
      doorbells.Append(doorbell, batch->mutable_doorbell_ticks_delta());
      batch->add_fetched_ticks_after(after(t.fetched));
      batch->add_first_start_ticks_after(after(t.first_start));
      batch->add_last_end_ticks_after(after(t.last_end));
      batch->add_completion_ticks_after(after(t.completion));
      batch->add_irq_ticks_after(t.has_irq ? after(t.irq) : 0);
      batch->add_has_irq(t.has_irq);
      records.Append(row.record, batch->mutable_record_delta());
      batch->add_context(1);
      batch->add_queue(row.queue);
      batch->add_job(row.job);
      batch->add_commands(row.commands);
      batch->add_status(0);
      correlations.Append(uint64_t{row.job}, batch->mutable_correlation_delta());
      history_.truth.jobs[{machine.number, row.job}] = t;
    }
    if (batch->doorbell_ticks_delta_size() > 0) history_.packets.push_back(packet);
  }

  void WriteEvents(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::DeviceEventBatch* batch = packet.mutable_device_events();
    batch->set_device(machine.number);
    DeltaEncoder times, records;
    std::vector<std::pair<uint64_t, size_t>> order;
    for (size_t i = 0; i < machine.events.size(); ++i) {
      const double at = machine.events[i].at_ns;
      if (at >= from && at < to && !machine.events[i].lost)
        order.emplace_back(event_records_.at({machine.number, i}), i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [record, i] : order) {
      const Event& event = machine.events[i];
      batch->add_kind(event.kind);
      times.Append(machine.c().Raw(event.at_ns), batch->mutable_time_ticks_delta());
      records.Append(record, batch->mutable_record_delta());
      batch->add_arg0(event.arg0);
      batch->add_arg1(event.arg1);
      const bool of_clock = event.kind == DeviceEventBatch::KIND_CLOCK;
      batch->add_arg2(of_clock ? event.id : event.queue);
      history_.truth.events[{machine.number, event.kind, of_clock ? event.id : event.arg0}] =
          event.at_ns;
    }
    if (!order.empty()) history_.packets.push_back(packet);
  }

  void WriteCounters(const Machine& machine, double from, double to) {
    proto::Packet packet, latch_packet;
    proto::CounterBatch* batch = packet.mutable_counters();
    batch->set_device(machine.number);
    batch->add_counter(0);
    batch->add_counter(1);
    DeltaEncoder times;
    uint64_t last_serial = 0, last_elapsed = 0;
    for (const auto& [at, serial] : machine.counters) {
      if (at < from || at >= to) continue;
      const uint64_t elapsed = machine.c().Elapsed(at);
      times.Append(machine.c().Raw(at), batch->mutable_time_ticks_delta());
      batch->add_value_delta(static_cast<int64_t>(serial - last_serial));
      batch->add_value_delta(static_cast<int64_t>(elapsed - last_elapsed));
      last_serial = serial, last_elapsed = elapsed;
      history_.truth.counters[{machine.number, serial}] = at;
    }
    if (batch->time_ticks_delta_size() > 0) history_.packets.push_back(packet);
    proto::CounterBatch* latches = latch_packet.mutable_counters();
    latches->set_device(machine.number);
    DeltaEncoder ticks, befores, afters;
    for (const auto& [raw, before, after] : machine.latches) {
      if (static_cast<double>(before) < from || static_cast<double>(before) >= to) continue;
      ticks.Append(raw, latches->mutable_time_ticks_delta());
      befores.Append(static_cast<uint64_t>(before), latches->mutable_host_before_ns_delta());
      afters.Append(static_cast<uint64_t>(after), latches->mutable_host_after_ns_delta());
    }
    if (latches->time_ticks_delta_size() > 0) history_.packets.push_back(latch_packet);
  }

  void WriteHost(double from, double to) {
    std::stable_sort(host_.begin(), host_.end(),
                     [](const HostRow& a, const HostRow& b) { return a.at_ns < b.at_ns; });
    proto::Packet packet;
    HostBatch* batch = packet.mutable_host();
    DeltaEncoder times, correlations;
    for (const HostRow& row : host_) {
      if (row.at_ns < from || row.at_ns >= to) continue;
      batch->add_kind(row.kind);
      // Rounded down for times before an event, up after.
      const double ns =
          row.kind == HostBatch::KIND_COMPLETE ? std::ceil(row.at_ns) : std::floor(row.at_ns);
      times.Append(static_cast<uint64_t>(ns), batch->mutable_time_ns_delta());
      batch->add_cpu(0);
      batch->add_pid(100);
      batch->add_tid(100);
      batch->add_device(row.device);
      batch->add_context(1);
      batch->add_queue(row.queue);
      batch->add_job(row.job);
      batch->add_sequence(row.job);
      correlations.Append(uint64_t{row.job}, batch->mutable_correlation_delta());
      batch->add_arg0(row.arg0);
      batch->add_arg1(row.arg1);
    }
    if (batch->kind_size() > 0) history_.packets.push_back(packet);
  }

  void WriteLosses(const Machine& machine, double from, double to) {
    proto::Packet packet;
    proto::LossBatch* batch = packet.mutable_losses();
    for (const LossRow& row : machine.losses) {
      if (row.made_ns < from || row.made_ns >= to) continue;
      batch->add_hop(1);
      batch->add_count(row.count);
      batch->add_first(static_cast<int64_t>(machine.c().Raw(row.first_ns)));
      batch->add_last(static_cast<int64_t>(machine.c().Raw(row.last_ns)));
      batch->add_in_ticks(1);
      batch->add_device(machine.number);
      history_.truth.losses[{machine.number, row.count}] = {row.first_ns, row.last_ns};
    }
    if (batch->count_size() > 0) history_.packets.push_back(packet);
  }

  const std::vector<Machine>& machines_;
  std::vector<HostRow> host_;
  const EventRecords& event_records_;
  const double end_ns_;
  History& history_;
};

}  // namespace

void WritePackets(const std::vector<Machine>& machines, std::vector<HostRow> host,
                  const EventRecords& event_records, double end_ns, History* history) {
  Writer(machines, std::move(host), event_records, end_ns, history).Run();
}

bool IsWrongSampleFound(const model::Model& model) {
  return std::any_of(model.devices.begin(), model.devices.end(), [](const model::Device& device) {
    return !device.clock.valid() || device.clock.quality().samples_wrong > 0;
  });
}

bool PlantWrongSample(History* history) {
  HistoryRandom random(history->seed ^ 0x9e3779b97f4a7c15);
  std::vector<std::pair<proto::ClockBatch*, int>> samples;
  for (proto::Packet& packet : history->packets) {
    const int rows = packet.has_clocks() ? packet.clocks().host_before_ns_delta_size() : 0;
    for (int i = 0; i < rows; ++i) samples.emplace_back(packet.mutable_clocks(), i);
  }
  if (samples.empty()) return false;
  const auto& [batch, row] =
      samples[static_cast<size_t>(random.Below(static_cast<int>(samples.size())))];
  const auto by_ns =
      static_cast<int64_t>(random.LogUniform(2e3, 5e4)) * (random.Chance(0.5) ? 1 : -1);
  const auto move = [row = row, by_ns](auto* deltas) {
    deltas->Set(row, deltas->Get(row) + by_ns);
    if (row + 1 < deltas->size()) deltas->Set(row + 1, deltas->Get(row + 1) - by_ns);
  };
  move(batch->mutable_host_before_ns_delta());
  if (random.Chance(0.5)) move(batch->mutable_ptm_host_ns_delta());
  history->text += fmt("; sample at row %d of a batch of device %u wrong by %lld ns", row,
                       batch->device(), static_cast<long long>(by_ns));
  return true;
}

}  // namespace acceltrace::scoring
