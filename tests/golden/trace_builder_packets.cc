// SPDX-License-Identifier: Apache-2.0
//
// TraceBuilder, second part: writes everything that was added as packets.
#include <algorithm>

#include "libtrace/stream/columns/columns.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::test {

using proto::HostBatch;
using stream::DeltaEncoder;

void TraceBuilder::AddHostPacket(std::vector<proto::Packet>* packets) {
  std::vector<HostRow> rows;
  for (const auto& owned : jobs_) {
    const JobSpec* job = owned.get();
    if (job->others) continue;
    uint64_t copy_bytes = 0, device_ticks = 0;
    for (const CommandSpec& command : job->commands) {
      if (command.unit == kIn || command.unit == kOut) copy_bytes += command.bytes;
    }
    if (job->completion_ns != 0) device_ticks = Ticks(job->device, job->completion_ns);
    const auto add = [&](int64_t time_ns, HostBatch::Kind kind, uint64_t arg0, uint64_t arg1,
                         uint64_t correlation) {
      if (time_ns != 0) rows.push_back({time_ns, kind, job, arg0, arg1, correlation});
    };
    add(job->submit_ns, HostBatch::KIND_SUBMIT, job->commands.size(), copy_bytes, job->correlation);
    add(job->doorbell_ns, HostBatch::KIND_DOORBELL, job->sequence, 0, job->correlation);
    add(job->submit_end_ns, HostBatch::KIND_SUBMIT_END, 0, 0, job->correlation);
    add(job->irq_ns, HostBatch::KIND_IRQ, job->queue + 1, 1, 0);
    add(job->complete_ns, HostBatch::KIND_COMPLETE, job->status, device_ticks, job->correlation);
    add(job->wait_ns, HostBatch::KIND_WAIT, 0, 0, job->wait_correlation);
    add(job->wake_ns, HostBatch::KIND_WAKE, job->status, job->wait_correlation, job->correlation);
  }
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const HostRow& a, const HostRow& b) { return a.time_ns < b.time_ns; });
  HostBatch* batch = packets->emplace_back().mutable_host();
  DeltaEncoder times, correlations;
  for (const HostRow& row : rows) {
    const bool of_job = row.kind != HostBatch::KIND_IRQ && row.kind != HostBatch::KIND_WAIT;
    batch->add_kind(row.kind);
    times.Append(row.time_ns, batch->mutable_time_ns_delta());
    batch->add_cpu(0);
    batch->add_pid(row.job->pid);
    batch->add_tid(row.job->tid);
    batch->add_device(row.job->device);
    batch->add_context(row.kind == HostBatch::KIND_IRQ ? 0 : row.job->context);
    batch->add_queue(row.job->queue);
    batch->add_job(of_job ? row.job->job : 0);
    batch->add_sequence(row.kind == HostBatch::KIND_IRQ ? 0 : row.job->sequence);
    correlations.Append(row.correlation, batch->mutable_correlation_delta());
    batch->add_arg0(row.arg0);
    batch->add_arg1(row.arg1);
  }
}

void TraceBuilder::AddDevicePackets(std::vector<proto::Packet>* packets) {
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    proto::Packet command_packet, job_packet, counter_packet;
    proto::CommandBatch* commands = command_packet.mutable_commands();
    proto::JobBatch* jobs = job_packet.mutable_jobs();
    commands->set_device(device);
    jobs->set_device(device);
    DeltaEncoder fetched, records, correlations, doorbells, job_records, job_correlations;
    uint64_t record = 0;
    for (const auto& job : jobs_) {
      if (job->device != device || job->completion_ns == 0 || job->others) continue;
      const auto ticks = [&](int64_t ns) { return Ticks(device, ns); };
      int64_t first_start = INT64_MAX, last_end = 0;
      uint32_t index = 0;
      for (const CommandSpec& command : job->commands) {
        first_start = std::min(first_start, command.start_ns);
        last_end = std::max(last_end, command.end_ns);
        fetched.Append(ticks(command.fetched_ns), commands->mutable_fetched_ticks_delta());
        commands->add_head_ticks_after(ticks(command.head_ns) - ticks(command.fetched_ns));
        commands->add_start_ticks_after(ticks(command.start_ns) - ticks(command.head_ns));
        commands->add_end_ticks_after(ticks(command.end_ns) - ticks(command.start_ns));
        records.Append(record++, commands->mutable_record_delta());
        commands->add_unit(command.unit);
        commands->add_context(job->context);
        commands->add_queue(job->queue);
        commands->add_job(job->job);
        commands->add_index(index++);
        commands->add_opcode(command.opcode);
        commands->add_status(command.status);
        commands->add_limiter(command.limiter);
        commands->add_tag(command.tag);
        correlations.Append(job->correlation, commands->mutable_correlation_delta());
        commands->add_work(command.work);
        commands->add_bytes(command.bytes);
        commands->add_memory_bytes(command.memory_bytes);
        commands->add_row_hits(command.row_hits);
        commands->add_row_misses(command.row_misses);
        for (uint64_t stall : StallTicks(job->device, command)) commands->add_stall_ticks(stall);
      }
      const uint64_t doorbell = ticks(job->device_doorbell_ns);
      const auto after = [&](int64_t ns) { return static_cast<int64_t>(ticks(ns) - doorbell); };
      doorbells.Append(doorbell, jobs->mutable_doorbell_ticks_delta());
      jobs->add_fetched_ticks_after(after(job->fetched_ns));
      jobs->add_first_start_ticks_after(after(first_start));
      jobs->add_last_end_ticks_after(after(last_end));
      jobs->add_completion_ticks_after(after(job->completion_ns));
      jobs->add_irq_ticks_after(job->device_irq_ns == 0 ? 0 : after(job->device_irq_ns));
      jobs->add_has_irq(job->device_irq_ns != 0);
      job_records.Append(record++, jobs->mutable_record_delta());
      jobs->add_context(job->context);
      jobs->add_queue(job->queue);
      jobs->add_job(job->job);
      jobs->add_commands(static_cast<uint32_t>(job->commands.size()));
      jobs->add_status(job->status);
      job_correlations.Append(job->correlation, jobs->mutable_correlation_delta());
    }
    if (commands->job_size() > 0) packets->push_back(command_packet);
    if (jobs->job_size() > 0) packets->push_back(job_packet);
    const auto& samples = devices_[device].counters;
    if (samples.empty()) continue;
    proto::CounterBatch* counters = counter_packet.mutable_counters();
    counters->set_device(device);
    for (uint32_t c = 0; c < NumCounters(); ++c) counters->add_counter(c);
    std::vector<DeltaEncoder> values(NumCounters());
    DeltaEncoder times;
    for (const auto& [time_ns, row] : samples) {
      times.Append(Ticks(device, time_ns), counters->mutable_time_ticks_delta());
      for (size_t c = 0; c < row.size(); ++c) {
        values[c].Append(row[c], counters->mutable_value_delta());
      }
    }
    packets->push_back(counter_packet);
  }
}

void TraceBuilder::AddOthersPackets(std::vector<proto::Packet>* packets) {
  for (const auto& job : jobs_) {
    if (!job->others) continue;
    proto::OthersBatch* others = packets->emplace_back().mutable_others();
    others->set_device(job->device);
    DeltaEncoder heads;
    for (const CommandSpec& command : job->commands) {
      const uint64_t head = Ticks(job->device, command.head_ns);
      heads.Append(head, others->mutable_first_head_ticks_delta());
      others->add_last_end_ticks_after(Ticks(job->device, command.end_ns) - head);
      others->add_unit(command.unit);
      others->add_commands(1);
      others->add_held_ticks(Ticks(job->device, command.end_ns) - head);
      others->add_bytes(command.bytes);
      others->add_failed(command.status != 0);
      for (int s = 0; s < kNumStalls; ++s) {
        others->add_stall_ticks(s == kStallSemaphore ? Ticks(job->device, command.start_ns) - head
                                                     : Ticks(job->device, command.stall_ns[s]) -
                                                           Ticks(job->device, 0));
      }
    }
  }
}

void TraceBuilder::AddClockPackets(std::vector<proto::Packet>* packets) {
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    const ClockSpec& clock = devices_[device].clock;
    proto::ClockBatch* batch = packets->emplace_back().mutable_clocks();
    batch->set_device(device);
    DeltaEncoder befores, ticks;
    const int64_t first = first_ns_ - clock.sample_period_ns;
    for (int64_t at = first; at < last_ns_ + 2 * clock.sample_period_ns;
         at += clock.sample_period_ns) {
      // The device latched its clock in the middle of the bracket.
      befores.Append(at - clock.sample_width_ns / 2, batch->mutable_host_before_ns_delta());
      batch->add_host_width_ns(static_cast<uint64_t>(clock.sample_width_ns));
      ticks.Append(Ticks(device, at), batch->mutable_device_ticks_delta());
    }
  }
}

std::vector<proto::Packet> TraceBuilder::Packets() {
  std::vector<proto::Packet> packets;
  if (first_ns_ > last_ns_) first_ns_ = last_ns_ = 1'000'000;
  if (info_.start_ns() == 0) info_.set_start_ns(first_ns_ - 1000);
  if (accounts_.stop_ns() == 0) accounts_.set_stop_ns(last_ns_ + 1000);
  *packets.emplace_back().mutable_info() = info_;
  for (const DeviceState& device : devices_) {
    *packets.emplace_back().mutable_device() = device.about;
  }
  const auto add = [&](const auto& batch, auto mutable_batch) {
    proto::Packet packet;
    *(packet.*mutable_batch)() = batch;
    if (stream::Rows(packet) > 0) packets.push_back(packet);
  };
  add(strings_, &proto::Packet::mutable_strings);
  add(processes_, &proto::Packet::mutable_processes);
  add(process_events_, &proto::Packet::mutable_process_events);
  add(groups_, &proto::Packet::mutable_process_groups);
  add(op_names_, &proto::Packet::mutable_op_names);
  add(api_, &proto::Packet::mutable_api);
  add(stack_frames_, &proto::Packet::mutable_stack_frames);
  add(call_stacks_, &proto::Packet::mutable_call_stacks);
  add(ranges_, &proto::Packet::mutable_ranges);
  AddHostPacket(&packets);
  AddClockPackets(&packets);
  AddDevicePackets(&packets);
  AddOthersPackets(&packets);
  add(losses_, &proto::Packet::mutable_losses);
  *packets.emplace_back().mutable_accounts() = accounts_;
  return packets;
}

}  // namespace acceltrace::test
