// SPDX-License-Identifier: Apache-2.0
#include "libtrace/stream/columns/columns.h"

#include <algorithm>

#include "libtrace/stream/columns/batches.h"

namespace acceltrace::stream {

namespace {

using google::protobuf::RepeatedField;

template <typename T>
void DropIfZero(RepeatedField<T>* column) {
  const bool zero = std::all_of(column->begin(), column->end(), [](T value) { return value == 0; });
  if (zero) column->Clear();
}

template <typename... Columns>
void DropIfZero(Columns*... columns) {
  (DropIfZero(columns), ...);
}

// This is spelled out because it runs for each packet, and reflection reads a column value by value
// through a virtual call. columns_test.cc compares it with the schema.
void DropZeros(proto::Processes* batch) { DropIfZero(batch->mutable_tid(), batch->mutable_name()); }

void DropZeros(proto::OpNames* batch) { DropIfZero(batch->mutable_tag(), batch->mutable_name()); }

void DropZeros(proto::ApiBatch* batch) {
  DropIfZero(batch->mutable_duration_ns(), batch->mutable_pid(), batch->mutable_tid(),
             batch->mutable_name(), batch->mutable_correlation_delta(), batch->mutable_bytes(),
             batch->mutable_stream(), batch->mutable_result(), batch->mutable_open(),
             batch->mutable_began_before());
}

void DropZeros(proto::RangeBatch* batch) {
  DropIfZero(batch->mutable_duration_ns(), batch->mutable_pid(), batch->mutable_tid(),
             batch->mutable_name(), batch->mutable_depth(), batch->mutable_mark(),
             batch->mutable_open(), batch->mutable_began_before());
}

void DropZeros(proto::HostBatch* batch) {
  DropIfZero(batch->mutable_time_ns_delta(), batch->mutable_cpu(), batch->mutable_pid(),
             batch->mutable_tid(), batch->mutable_device(), batch->mutable_context(),
             batch->mutable_queue(), batch->mutable_job(), batch->mutable_sequence(),
             batch->mutable_correlation_delta(), batch->mutable_arg0(), batch->mutable_arg1(),
             batch->mutable_in_flight());
}

void DropZeros(proto::CommandBatch* batch) {
  DropIfZero(batch->mutable_head_ticks_after(), batch->mutable_start_ticks_after(),
             batch->mutable_end_ticks_after(), batch->mutable_record_delta(), batch->mutable_unit(),
             batch->mutable_context(), batch->mutable_queue(), batch->mutable_job(),
             batch->mutable_index(), batch->mutable_opcode(), batch->mutable_status(),
             batch->mutable_limiter(), batch->mutable_tag(), batch->mutable_correlation_delta(),
             batch->mutable_work(), batch->mutable_bytes(), batch->mutable_memory_bytes(),
             batch->mutable_row_hits(), batch->mutable_row_misses(), batch->mutable_stall_ticks());
}

void DropZeros(proto::JobBatch* batch) {
  DropIfZero(batch->mutable_fetched_ticks_after(), batch->mutable_first_start_ticks_after(),
             batch->mutable_last_end_ticks_after(), batch->mutable_completion_ticks_after(),
             batch->mutable_irq_ticks_after(), batch->mutable_has_irq(),
             batch->mutable_record_delta(), batch->mutable_context(), batch->mutable_queue(),
             batch->mutable_job(), batch->mutable_commands(), batch->mutable_status(),
             batch->mutable_correlation_delta());
}

void DropZeros(proto::CounterBatch* batch) {
  DropIfZero(batch->mutable_value_delta(), batch->mutable_host_before_ns_delta(),
             batch->mutable_host_after_ns_delta());
}

void DropZeros(proto::ClockBatch* batch) {
  DropIfZero(batch->mutable_host_width_ns(), batch->mutable_device_ticks_delta(),
             batch->mutable_tsc_before_delta(), batch->mutable_tsc_width(),
             batch->mutable_ptm_device_ticks_delta(), batch->mutable_ptm_host_ns_delta(),
             batch->mutable_ptm_tsc_delta(), batch->mutable_has_ptm());
}

void DropZeros(proto::DeviceEventBatch* batch) {
  DropIfZero(batch->mutable_time_ticks_delta(), batch->mutable_record_delta(),
             batch->mutable_arg0(), batch->mutable_arg1(), batch->mutable_arg2());
}

void DropZeros(proto::LossBatch* batch) {
  DropIfZero(batch->mutable_count(), batch->mutable_first(), batch->mutable_last(),
             batch->mutable_in_ticks(), batch->mutable_device());
}

void DropZeros(proto::ProcessEvents* batch) {
  DropIfZero(batch->mutable_time_ns_delta(), batch->mutable_pid(), batch->mutable_tid(),
             batch->mutable_parent());
}

void DropZeros(proto::OthersBatch* batch) {
  DropIfZero(batch->mutable_last_end_ticks_after(), batch->mutable_unit(),
             batch->mutable_commands(), batch->mutable_held_ticks(), batch->mutable_bytes(),
             batch->mutable_stall_ticks(), batch->mutable_failed());
}

void DropZeros(proto::ThreadRunBatch* batch) {
  DropIfZero(batch->mutable_run_ns(), batch->mutable_pid(), batch->mutable_tid(),
             batch->mutable_cpu(), batch->mutable_away(), batch->mutable_away_ns(),
             batch->mutable_ready_ns(), batch->mutable_waker_pid(), batch->mutable_waker_tid(),
             batch->mutable_waker_irq(), batch->mutable_wait(), batch->mutable_left(),
             batch->mutable_charged_ns(), batch->mutable_minor_faults(),
             batch->mutable_major_faults(), batch->mutable_migrations(), batch->mutable_voluntary(),
             batch->mutable_involuntary(), batch->mutable_began_before());
}

void DropZeros(proto::InterruptBatch* batch) {
  DropIfZero(batch->mutable_stretch_ns(), batch->mutable_kind(), batch->mutable_cpu(),
             batch->mutable_number(), batch->mutable_name(), batch->mutable_count(),
             batch->mutable_total_ns(), batch->mutable_longest_ns(), batch->mutable_hits(),
             batch->mutable_hit_ns(), batch->mutable_device());
}

void DropZeros(proto::SystemCounters* batch) {
  DropIfZero(batch->mutable_source(), batch->mutable_name(), batch->mutable_object(),
             batch->mutable_unit(), batch->mutable_kind(), batch->mutable_device());
}

void DropZeros(proto::SystemSamples* batch) {
  DropIfZero(batch->mutable_counter(), batch->mutable_value());
}

void DropZeros(proto::ProcessGroups* batch) {
  DropIfZero(batch->mutable_pid(), batch->mutable_group());
}

void DropZeros(proto::StackFrames* batch) {
  DropIfZero(batch->mutable_place(), batch->mutable_object(), batch->mutable_build_id(),
             batch->mutable_offset());
}

void DropZeros(proto::CallStacks* batch) {
  DropIfZero(batch->mutable_correlation_delta(), batch->mutable_stack());
}

void DropZeros(proto::Footer* batch) {
  DropIfZero(batch->mutable_body(), batch->mutable_first_ns_delta(), batch->mutable_events(),
             batch->mutable_checksum(), batch->mutable_table());
}

}  // namespace

size_t Rows(const proto::Packet& packet) {
  if (!IsBatch(packet.body_case())) return 0;
  const google::protobuf::Message& batch = *Body(packet);
  const auto& reflection = *batch.GetReflection();
  const auto& descriptor = *batch.GetDescriptor();
  int rows = 0;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *descriptor.field(i);
    if (field.is_repeated() && !IsRowMajor(field)) {
      rows = std::max(rows, reflection.FieldSize(batch, &field));
    }
  }
  return rows;
}

void DropZeroColumns(proto::Packet* packet) {
  switch (packet->body_case()) {
    case proto::Packet::kProcesses:
      return DropZeros(packet->mutable_processes());
    case proto::Packet::kOpNames:
      return DropZeros(packet->mutable_op_names());
    case proto::Packet::kApi:
      return DropZeros(packet->mutable_api());
    case proto::Packet::kRanges:
      return DropZeros(packet->mutable_ranges());
    case proto::Packet::kHost:
      return DropZeros(packet->mutable_host());
    case proto::Packet::kCommands:
      return DropZeros(packet->mutable_commands());
    case proto::Packet::kJobs:
      return DropZeros(packet->mutable_jobs());
    case proto::Packet::kCounters:
      return DropZeros(packet->mutable_counters());
    case proto::Packet::kClocks:
      return DropZeros(packet->mutable_clocks());
    case proto::Packet::kDeviceEvents:
      return DropZeros(packet->mutable_device_events());
    case proto::Packet::kLosses:
      return DropZeros(packet->mutable_losses());
    case proto::Packet::kProcessEvents:
      return DropZeros(packet->mutable_process_events());
    case proto::Packet::kOthers:
      return DropZeros(packet->mutable_others());
    case proto::Packet::kThreadRuns:
      return DropZeros(packet->mutable_thread_runs());
    case proto::Packet::kInterrupts:
      return DropZeros(packet->mutable_interrupts());
    case proto::Packet::kSystemCounters:
      return DropZeros(packet->mutable_system_counters());
    case proto::Packet::kSystemSamples:
      return DropZeros(packet->mutable_system_samples());
    case proto::Packet::kProcessGroups:
      return DropZeros(packet->mutable_process_groups());
    case proto::Packet::kStackFrames:
      return DropZeros(packet->mutable_stack_frames());
    case proto::Packet::kCallStacks:
      return DropZeros(packet->mutable_call_stacks());
    case proto::Packet::kIndex:
      return DropZeros(packet->mutable_index());
    case proto::Packet::kFooter:
      return DropZeros(packet->mutable_footer());
    default:
      return;
  }
}

}  // namespace acceltrace::stream
