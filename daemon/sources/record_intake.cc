// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/record_intake.h"

#include <algorithm>
#include <cstring>

#include "daemon/give_way.h"
#include "libtrace/stream/lanes.h"

namespace acceltrace::daemon {
namespace {

constexpr size_t kStep = 128;  // some ten microseconds

}  // namespace

bool RecordIntake::AskWanted(const axl_record& record, uint32_t client) {
  axl_record copy = {};
  std::memcpy(&copy, &record, sizeof(copy));
  if (foreign_clients_.Has(client) || !wanted_(device_, copy)) {
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

// Commands, most of what there is, are taken as they lie, many at once.
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
  } else if (wanted_(device_, record)) {
    handler_->OnRecord(device_, record);
  } else {
    ++foreign_;
    handler_->OnOthersRecord(device_, record);
  }
}

// A command or job of a process that is not recorded, as it was when it was asked about.
void RecordIntake::ReportOther(const axl_record& record) {
  if (CheckRecord(record, limits_) != nullptr) {
    ++bad_;
    return;
  }
  ++foreign_;
  handler_->OnOthersRecord(device_, record);
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
