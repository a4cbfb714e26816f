// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/record_intake.h"

#include <algorithm>
#include <cstring>

#include "daemon/base/give_way.h"
#include "daemon/sources/common/device.h"
#include "libtrace/stream/bytes/lanes.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kStep = 128;  // about ten microseconds

using EventKind = proto::DeviceEventBatch;

// Translates enum axl_event to DeviceEventBatch.Kind.
uint32_t KindOf(uint32_t event) {
  switch (event) {
    case AXL_EV_LINK:
      return EventKind::KIND_LINK;
    case AXL_EV_CLOCK:
      return EventKind::KIND_CLOCK;
    case AXL_EV_THROTTLE:
      return EventKind::KIND_THROTTLE;
    case AXL_EV_ECC:
      return EventKind::KIND_MEMORY_ERROR;
    case AXL_EV_CTX_ERROR:
      return EventKind::KIND_CONTEXT_ERROR;
    case AXL_EV_RESET:
      return EventKind::KIND_RESET;
    default:
      return EventKind::KIND_UNKNOWN;
  }
}

DeviceEvent ToEvent(const axl_rec_event& event) {
  return {KindOf(event.event), event.h.sequence, event.h.time,
          event.arg[0],        event.arg[1],     event.arg[2]};
}

DeviceEvent ToEvent(const axl_rec_doorbell& doorbell) {
  return {EventKind::KIND_DOORBELL, doorbell.h.sequence, doorbell.h.time, doorbell.tail,
          doorbell.previous_tail,   doorbell.h.queue};
}

DeviceCommand ToCommand(const axl_rec_cmd& cmd) {
  DeviceCommand command;
  command.unit = cmd.h.engine;
  command.queue = cmd.h.queue;
  command.fetched_ticks = cmd.fetched;
  command.head_ticks = cmd.head;
  command.end_ticks = cmd.end;
  command.bytes = cmd.bytes;
  command.failed = cmd.status != AXL_ST_OK;
  command.stall_ticks = cmd.stall;
  return command;
}

// The context about which WorkOwners is asked. Records of commands and jobs belong to their client.
uint32_t ContextOf(const axl_record& record) {
  return record.h.context < AXL_MAX_CONTEXTS ? record.h.context : WorkOwners::kNoContext;
}

uint64_t CorrelationOf(const axl_record& record) {
  if (record.h.type == AXL_REC_CMD) return record.cmd.correlation;
  return record.h.type == AXL_REC_JOB ? record.job.correlation : 0;
}

}  // namespace

bool RecordIntake::AskWanted(const axl_record& record, uint32_t client) {
  axl_record copy = {};
  std::memcpy(&copy, &record, sizeof(copy));
  if (foreign_clients_.Has(client) || !wanted_(ContextOf(copy), CorrelationOf(copy))) {
    foreign_clients_.Add(client);
    ReportOther(copy);
    return false;
  }
  wanted_client_ = client;
  return true;
}

template <typename Rows>
void RecordIntake::Send(Rows* rows) {
  proto::Packet packet;
  const EncodedRows encoded = rows->Encode(&writer_, packet.mutable_block());
  bad_ += encoded.bad;
  if (encoded.good > 0) handler_->OnBlock(&packet, 0, encoded.good, encoded.good);
}

// Commands, which are the most frequent records, are read in place, many at once.
void RecordIntake::Handle(const axl_record* records, size_t count) {
  wanted_client_ = 0;
  foreign_clients_.Clear();
  while (count > 0) {
    const size_t most = std::min({count, commands_.room(), kStep});
    size_t picked = 0;
    ACCELTRACE_UNROLL
    for (size_t i = 0; i < most; ++i) {
      const axl_record& record = records[i];
      const auto type = __atomic_load_n(&record.h.type, __ATOMIC_RELAXED);
      if (type != AXL_REC_CMD) {
        HandleOther(record, type);
      } else if (IsWanted(record, record.cmd.correlation)) {
        picked_[picked++] = &record;
      }
    }
    commands_.Append(picked_, picked);
    if (commands_.room() == 0) Send(&commands_);
    records += most;
    count -= most;
    GiveWay();
  }
}

void RecordIntake::HandleOther(const axl_record& in_ring, uint8_t type) {
  if (type == AXL_REC_JOB) {
    if (!IsWanted(in_ring, in_ring.job.correlation)) return;
    jobs_.Append(in_ring.job);
    if (jobs_.full()) Send(&jobs_);
    return;
  }
  axl_record record;
  std::memcpy(&record, &in_ring, sizeof(record));
  if (CheckRecord(record, limits_) != nullptr) {
    ++bad_;
  } else if (record.h.type == AXL_REC_LOSS) {
    ReportLoss(record.loss);
  } else if (!wanted_(ContextOf(record), 0)) {
    ++foreign_;
  } else if (record.h.type == AXL_REC_COUNTERS) {
    ReportCounters(record.counters);
  } else {
    handler_->OnDeviceEvent(
        device_, record.h.type == AXL_REC_EVENT ? ToEvent(record.event) : ToEvent(record.doorbell));
  }
}

void RecordIntake::ReportCounters(const axl_rec_counters& record) {
  uint64_t values[AXL_REC_COUNTERS_PER];  // as __u64 is a different type
  std::copy_n(record.value, record.count, values);
  handler_->OnCounterPart(device_, {record.h.time, record.sample, record.first,
                                    std::span<const uint64_t>(values, record.count)});
}

// Reports a command or job of a process that was not recorded when it was asked for.
void RecordIntake::ReportOther(const axl_record& record) {
  if (CheckRecord(record, limits_) != nullptr) {
    ++bad_;
    return;
  }
  ++foreign_;
  if (record.h.type == AXL_REC_CMD) handler_->OnOthersCommand(device_, ToCommand(record.cmd));
}

void RecordIntake::Flush() {
  if (commands_.rows() > 0) Send(&commands_);
  Send(&jobs_);
}

void RecordIntake::ReportLoss(const axl_rec_loss& record) {
  loss_dated_ += record.lost;
  ++loss_records_;
  Loss loss;
  loss.hop = loss_hop_;
  loss.count = record.lost;
  loss.first = static_cast<int64_t>(record.first_time);
  loss.last = static_cast<int64_t>(record.last_time);
  loss.in_ticks = true;
  loss.device = device_;
  handler_->OnLoss(loss);
}

}  // namespace acceltrace::daemon
