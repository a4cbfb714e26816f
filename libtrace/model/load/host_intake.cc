// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/load/host_intake.h"

#include <algorithm>
#include <type_traits>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::model {
namespace {

using proto::HostBatch;

// In the order of EachHostField().
constexpr std::array kNumbers = {HostBatch::kKindFieldNumber,
                                 HostBatch::kTimeNsDeltaFieldNumber,
                                 HostBatch::kCpuFieldNumber,
                                 HostBatch::kPidFieldNumber,
                                 HostBatch::kTidFieldNumber,
                                 HostBatch::kDeviceFieldNumber,
                                 HostBatch::kContextFieldNumber,
                                 HostBatch::kQueueFieldNumber,
                                 HostBatch::kJobFieldNumber,
                                 HostBatch::kSequenceFieldNumber,
                                 HostBatch::kCorrelationDeltaFieldNumber,
                                 HostBatch::kArg0FieldNumber,
                                 HostBatch::kArg1FieldNumber};

constexpr size_t kDeviceField = 5;
static_assert(kNumbers[kDeviceField] == HostBatch::kDeviceFieldNumber);

// If there are more runs of the handler at one time, duplicates are not searched for.
constexpr size_t kMostRuns = 64;

}  // namespace

HostRows HostIntake::Read(const stream::TableRows& rows) {
  static_assert(kNumbers.size() == kFields);
  HostRows at;
  size_t field = 0;
  EachHostField(room_.fields, at, [&](auto& values, auto& to) {
    using T = typename std::remove_reference_t<decltype(values)>::value_type;
    const int number = kNumbers[field];
    bool& is_zero = is_zero_[field++];
    to = values.data();
    if (!rows.has(number)) {
      if (!is_zero) values.fill(T{});
      is_zero = true;
    } else if (const auto* wide = rows.of(number).wide; sizeof(T) == 8 && wide != nullptr) {
      to = reinterpret_cast<const T*>(wide);
    } else {
      rows.Read(number, values.data());
      is_zero = false;
    }
  });
  return at;
}

// Replaces numbers of devices by their rows. Returns true if all events of devices are of the same
// one.
bool HostIntake::FindDevices(size_t rows, const RowOf& row_of) {
  uint32_t* const devices = room_.fields.device.data();
  uint32_t low = devices[0], high = low;
  stream::WidenTo(devices, rows, &low, &high);
  is_zero_[kDeviceField] = false;
  bool one = true;
  const auto see = [&](uint32_t row, size_t times) {
    // An event of a device that was never described is kept as evidence.
    if (row == kNoRow) stats_.unknown_device_rows += times;
    if (row != kNoRow && device_ == kNoRow) device_ = row;
    one &= row == kNoRow || row == device_;
  };
  if (low == high) {
    const uint32_t row = row_of(low);
    see(row, rows);
    stream::FillAll(devices, rows, row);
    return one;
  }
  for (size_t i = 0; one && i < rows; ++i) see(devices[i] = row_of(devices[i]), 1);
  return one;
}

bool HostIntake::HasInFlight(const stream::TableRows& rows) {
  if (!rows.has(HostBatch::kInFlightFieldNumber)) return false;
  rows.Read(HostBatch::kInFlightFieldNumber, in_flight_.data());
  uint8_t low = 0, high = 0;
  stream::WidenTo(in_flight_.data(), rows.rows(), &low, &high);
  return high != 0;
}

// Returns true if times never fall, and no run of the handler occurs twice.
bool HostIntake::IsInOrder(const HostRows& events, size_t rows) {
  const int64_t* const times_ns = events.time_ns;
  const int64_t before_ns = holds_ ? held_.fields.time_ns[0] : times_ns[0];
  bool falls = times_ns[0] < before_ns, shared = holds_ && times_ns[0] == before_ns;
  if (!stream::AllRise(times_ns, rows)) {
    for (size_t i = 1; i < rows; ++i) {
      falls |= times_ns[i] < times_ns[i - 1], shared |= times_ns[i] == times_ns[i - 1];
    }
  }
  if (falls) return false;
  for (size_t i = shared ? 0 : rows - 1; i < rows; ++i) {
    if (events.kind[i] != HostBatch::KIND_IRQ) continue;
    if (times_ns[i] != run_ns_) runs_.clear();
    run_ns_ = times_ns[i];
    const uint64_t run = JobKey(events.device[i], events.queue[i]);
    if (std::find(runs_.begin(), runs_.end(), run) != runs_.end()) return false;
    if (runs_.size() >= kMostRuns) return false;
    runs_.push_back(run);
  }
  return true;
}

void HostIntake::AddHeld(bool shares_next) {
  if (!holds_) return;
  HostRows held;
  EachHostField(held_.fields, held, [](const auto& value, auto& at) { at = value.data(); });
  checked_.Add(held, 1, shares_before_, shares_next);
}

void HostIntake::Add(const stream::TableRows& rows, const RowOf& row_of) {
  const size_t count = rows.rows();
  if (!in_order_ || count == 0) return;
  const HostRows events = Read(rows);
  in_order_ = FindDevices(count, row_of) && !HasInFlight(rows) && IsInOrder(events, count);
  if (!in_order_) return;
  jobs_.Add(events, count);
  const int64_t* const times_ns = events.time_ns;
  const bool shares = holds_ && times_ns[0] == held_.fields.time_ns[0];
  AddHeld(shares);
  const bool last_shares = count > 1 ? times_ns[count - 1] == times_ns[count - 2] : shares;
  checked_.Add(events, count - 1, shares, last_shares);
  const HostRows last = RowsFrom(events, count - 1);
  EachHostField(last, held_.fields, [](const auto* from, auto& value) { value[0] = *from; });
  holds_ = true, shares_before_ = last_shares;
}

HostJobs HostIntake::Done(HostEvents* host) {
  AddHeld(false);
  checked_.Done(host);
  return jobs_.Done();
}

}  // namespace acceltrace::model
