// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/part/few_rows.h"

#include <algorithm>
#include <limits>

#include "libtrace/model/load/convert.h"
#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/orders.h"
#include "libtrace/stream/columns/validate.h"

namespace acceltrace::model {

using proto::Block;
using proto::HostBatch;
using proto::JobBatch;
using proto::Packet;
using stream::FewColumns;

bool FewRows::ReadDescriptions(std::vector<size_t> places) {
  std::sort(places.begin(), places.end());
  const std::unique_ptr<stream::Reader> reader = index_.Choose(std::move(places));
  Packet packet;
  while (reader->Read(&packet) == stream::Reader::Next::kPacket) {
    decoder_.Add(packet, reader->stats().worth_bytes, reader->columns());
  }
  model_.read = reader->stats();
  // Losses that a device reported have device times.
  const auto by_device = [](const proto::LossBatch& batch) {
    return std::any_of(batch.in_ticks().begin(), batch.in_ticks().end(),
                       [](uint32_t in_ticks) { return in_ticks != 0; });
  };
  return model_.read.gap_count == 0 &&
         std::none_of(decoder_.losses.begin(), decoder_.losses.end(), by_device);
}

bool FewRows::OpenPacket(size_t place, FewColumns* columns) {
  std::string_view packet;
  return index_.ReadBytes(place, &buffer_, &packet) && columns->Open(packet);
}

bool FewRows::ReadOwners(const std::vector<size_t>& places) {
  FewColumns columns(Packet::kHost, {HostBatch::kKindFieldNumber, HostBatch::kDeviceFieldNumber,
                                     HostBatch::kJobFieldNumber, HostBatch::kPidFieldNumber});
  const auto set = [this](uint64_t device, uint64_t job, uint64_t pid) {
    const uint32_t row = RowOf(device);
    const auto number = static_cast<uint32_t>(job);
    if (row == kNoRow || jobs_.Find(row, number) == nullptr) return false;
    jobs_.SetPid(row, number, static_cast<uint32_t>(pid));
    return true;
  };
  const auto of_rows = [&] {
    while (const size_t rows = columns.Next()) {
      const uint64_t *kind = columns.Column(0), *device = columns.Column(1);
      const uint64_t *job = columns.Column(2), *pid = columns.Column(3);
      for (size_t i = 0; i < rows; ++i) {
        if (kind[i] > HostBatch::Kind_MAX || RowOf(device[i]) == kNoRow) return false;
        if (kind[i] == HostBatch::KIND_SUBMIT && !set(device[i], job[i], pid[i])) return false;
      }
    }
    return true;
  };
  const auto of_jobs = [&](const stream::BlockColumns& block) {
    for (size_t row = 0; row < block.rows(); ++row) {
      const auto at = [&](int column) { return static_cast<uint32_t>(block.At(column, row)); };
      if (RowOf(at(Block::COLUMN_DEVICE)) == kNoRow) return false;
      if ((at(Block::COLUMN_KNOWN) & 1) != 0 &&
          !set(at(Block::COLUMN_DEVICE), at(Block::COLUMN_JOB), at(Block::COLUMN_PID))) {
        return false;
      }
    }
    return true;
  };
  return EachPacket(places, &columns, [&] {
    jobs_.CountRows(columns.rows());
    return columns.host_jobs() != nullptr ? of_jobs(*columns.host_jobs()) : of_rows();
  });
}

bool FewRows::ReadHost(const std::vector<size_t>& places) {
  std::vector<uint32_t> fields = {HostBatch::kKindFieldNumber, HostBatch::kTimeNsDeltaFieldNumber,
                                  HostBatch::kDeviceFieldNumber, HostBatch::kJobFieldNumber};
  if (owners_) fields.push_back(HostBatch::kPidFieldNumber);
  if (calls_) {
    fields.insert(fields.end(),
                  {HostBatch::kCorrelationDeltaFieldNumber, HostBatch::kArg0FieldNumber,
                   HostBatch::kArg1FieldNumber, HostBatch::kInFlightFieldNumber});
  }
  FewColumns columns(Packet::kHost, fields);
  return EachPacket(places, &columns, [&] {
    jobs_.CountRows(columns.rows());
    if (columns.host_jobs() != nullptr) return SeeHostJobs(*columns.host_jobs());
    if (columns.host_waits() != nullptr) return SeeHostWaits(*columns.host_waits());
    while (const size_t rows = columns.Next()) {
      if (!SeeEvents(&columns, rows)) return false;
    }
    return true;
  });
}

bool FewRows::SeeEvents(FewColumns* columns, size_t rows) {
  const uint64_t *kind = columns->Column(0), *time = columns->Column(1);
  const uint64_t *device = columns->Column(2), *job = columns->Column(3);
  const uint64_t* pid = owners_ ? columns->Column(4) : job;
  const size_t first = owners_ ? 5 : 4;  // index of the first column for calls
  const uint64_t* correlation = calls_ ? columns->Column(first) : job;
  for (size_t i = 0; i < rows; ++i) {
    if (kind[i] > HostBatch::Kind_MAX) return false;
    if (!See({static_cast<int>(kind[i]), time[i], device[i], job[i], pid[i], correlation[i]})) {
      return false;
    }
    if (!calls_ || kind[i] != HostBatch::KIND_WAKE) continue;
    // This event of a job in flight may be recorded again.
    if (columns->Column(first + 3)[i] != 0) return false;
    if (!SeeWake(time[i], device[i], job[i], columns->Column(first + 1)[i],
                 columns->Column(first + 2)[i])) {
      return false;
    }
  }
  return true;
}

uint32_t FewRows::RowOf(uint64_t device) {
  if (device != last_number_) {
    last_number_ = device;
    last_row_ =
        device < stream::kMaxDevices ? decoder_.DeviceRow(static_cast<uint32_t>(device)) : kNoRow;
  }
  return last_row_;
}

bool FewRows::See(const Event& event) {
  if (event.time > static_cast<uint64_t>(stream::kMaxTimeNs)) return false;
  const uint32_t row = RowOf(event.device);
  if (row == kNoRow) return false;
  const bool submit = event.kind == HostBatch::KIND_SUBMIT;
  const bool complete = event.kind == HostBatch::KIND_COMPLETE;
  if (!submit && !complete && event.kind != HostBatch::KIND_DOORBELL &&
      event.kind != HostBatch::KIND_SUBMIT_END) {
    return true;
  }
  const auto job = static_cast<uint32_t>(event.job);
  uint8_t* const known = jobs_.Find(row, job);
  if (known == nullptr) return false;
  const auto at_ns = static_cast<int64_t>(event.time);
  uint8_t more = Near(at_ns);
  if (at_ns <= stretch_.to_ns) more |= kBeforeEnd;
  if (at_ns >= stretch_.from_ns) more |= kAfterBegin;
  // Events of a job in flight at a snapshot may be repeated; other code decides which of them
  // counts.
  if (submit) more |= (*known & kSubmitted) != 0 ? kRepeated : kSubmitted;
  if (complete) more |= (*known & kCompleted) != 0 ? kRepeated : kCompleted;
  *known |= more;
  if (calls_ && job != 0) *known |= kCounts;
  if (submit) jobs_.SetPid(row, job, static_cast<uint32_t>(event.pid));
  if (submit) jobs_.SetCall(row, job, event.correlation);
  return true;
}

bool FewRows::SeeWake(uint64_t time, uint64_t device, uint64_t job, uint64_t status,
                      uint64_t call) {
  if (time > static_cast<uint64_t>(stream::kMaxTimeNs)) return false;
  const uint32_t row = RowOf(device);
  if (row == kNoRow) return false;
  // The thread gave up, or waited for no job.
  if (status == std::numeric_limits<uint32_t>::max() || job == 0) return true;
  wakes_.push_back({JobKey(row, static_cast<uint32_t>(job)), static_cast<int64_t>(time), call});
  return true;
}

bool FewRows::SeeHostJobs(const stream::BlockColumns& block) {
  for (size_t row = 0; row < block.rows(); ++row) {
    const uint64_t known = block.At(Block::COLUMN_KNOWN, row);
    const auto see = [&](int kind, int column) {
      return See({kind, block.At(column, row),
                  static_cast<uint32_t>(block.At(Block::COLUMN_DEVICE, row)),
                  static_cast<uint32_t>(block.At(Block::COLUMN_JOB, row)),
                  static_cast<uint32_t>(block.At(Block::COLUMN_PID, row)),
                  block.At(Block::COLUMN_CORRELATION, row)});
    };
    if ((known & 1) != 0 && (!see(HostBatch::KIND_SUBMIT, Block::COLUMN_SUBMIT_NS) ||
                             !see(HostBatch::KIND_DOORBELL, Block::COLUMN_DOORBELL_NS) ||
                             !see(HostBatch::KIND_SUBMIT_END, Block::COLUMN_SUBMIT_END_NS))) {
      return false;
    }
    if ((known & 4) != 0 && !see(HostBatch::KIND_COMPLETE, Block::COLUMN_COMPLETE_NS)) {
      return false;
    }
  }
  return true;
}

bool FewRows::SeeHostWaits(const stream::BlockColumns& block) {
  for (size_t row = 0; row < block.rows(); ++row) {
    if (!SeeWake(block.At(Block::COLUMN_WAKE_NS, row),
                 static_cast<uint32_t>(block.At(Block::COLUMN_DEVICE, row)),
                 static_cast<uint32_t>(block.At(Block::COLUMN_JOB, row)),
                 block.At(Block::COLUMN_STATUS, row),
                 block.At(Block::COLUMN_WAIT_CORRELATION, row))) {
      return false;
    }
  }
  return true;
}

bool FewRows::ReadJobs(const std::vector<size_t>& places) {
  FewColumns columns(Packet::kJobs,
                     {JobBatch::kDoorbellTicksDeltaFieldNumber,
                      JobBatch::kCompletionTicksAfterFieldNumber, JobBatch::kRecordDeltaFieldNumber,
                      JobBatch::kJobFieldNumber, JobBatch::kCorrelationDeltaFieldNumber});
  return EachPacket(places, &columns, [&] {
    const uint32_t device = decoder_.DeviceRow(columns.device());
    if (device == kNoRow) return false;
    jobs_.CountRows(columns.rows());
    Records& records = RecordsOf(device, Packet::kJobs);
    while (const size_t rows = columns.Next()) {
      const uint64_t* job = columns.Column(3);
      const uint64_t* correlation = calls_ ? columns.Column(4) : job;
      if (columns.has(2) && !records.Add(columns.Column(2), rows)) return false;
      for (size_t i = 0; i < rows; ++i) {
        const auto number = static_cast<uint32_t>(job[i]);
        uint8_t* const known = number == 0 ? nullptr : jobs_.Find(device, number);
        if (known == nullptr) return false;
        if (calls_) *known |= kCounts, jobs_.SetCall(device, number, correlation[i]);
        if (IsSure(*known) || (*known & kCounts) == 0) continue;
        const uint64_t doorbell = columns.Column(0)[i];
        if (!SeeRoughly(device, doorbell, known) ||
            !SeeRoughly(device, doorbell + columns.Column(1)[i], known)) {
          return false;
        }
      }
    }
    return true;
  });
}

uint8_t FewRows::Near(int64_t at_ns) const {
  return static_cast<uint8_t>((at_ns <= stretch_.to_ns + guard_ns_ ? kNearEnd : 0) |
                              (at_ns >= stretch_.from_ns - guard_ns_ ? kNearBegin : 0));
}

bool FewRows::SeeRoughly(uint32_t device, uint64_t ticks, uint8_t* known) {
  if (device != rough_row_) {
    rough_row_ = device, clock_ = nullptr;
    for (const auto& [number, clock] : rough_) {
      if (decoder_.DeviceRow(number) == device) clock_ = &clock;
    }
  }
  if (clock_ != nullptr) *known |= Near(clock_->HostNs(ticks));
  return clock_ != nullptr;
}

bool FewRows::AllTold() const {
  return jobs_.All([](uint8_t known) {
    return IsSure(known) || !HasAll(known, kCounts | kNearBegin | kNearEnd);
  });
}

void FewRows::FinishLosses() {
  for (auto& clock : decoder_.clocks) clock = clock::MapBuilder(clock::ClockInfo());
  size_t losses = 0;
  for (const proto::LossBatch& batch : decoder_.losses) {
    losses += static_cast<size_t>(batch.hop_size());
  }
  constexpr size_t kMost = 65'536;  // further ones are summed up
  model_.losses.reserve(std::min(losses, kMost));
  if (!decoder_.losses.empty()) {
    ConvertTimes({}, FindOrders(model_.host), true, &decoder_, &model_);
  }
}

}  // namespace acceltrace::model
