// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/device_source.h"

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kLog2Records = 16;  // 8 MiB
// The daemon polls; the watermark interrupt is for those who sleep.
constexpr uint32_t kWatermark = 0;

}  // namespace

Status DeviceSource::Start() {
  auto map = device_->OpenTraceRing(kLog2Records, kWatermark, counter_period_ns_);
  if (!map.ok()) return map.status();
  map_ = std::move(map).value();
  RecordLimits limits;
  limits.num_queues = device_->info().num_queues;
  limits.num_contexts = device_->info().num_contexts;
  limits.num_counters = device_->info().num_counters;
  limits.clock_bits = device_->info().clock_bits;
  auto reader = RingReader::Open(map_.get(), map_.bytes(), limits);
  if (!reader.ok()) return Status::Error(device_->name() + ": " + reader.message());
  reader_ = std::move(reader).value();
  handler_->OnProbe("device:" + device_->name(), true, "");
  return {};
}

void DeviceSource::Handle(const axl_record& record) {
  if (record.h.type == AXL_REC_LOSS) {
    ++loss_records_;
    loss_dated_ += record.loss.lost;
    Loss loss;
    loss.hop = "device-ring/" + device_->name();
    loss.count = record.loss.lost;
    loss.first = static_cast<int64_t>(record.loss.first_time);
    loss.last = static_cast<int64_t>(record.loss.last_time);
    loss.in_ticks = true;
    loss.device = device_->number();
    handler_->OnLoss(loss);
  } else if (wanted_(device_->number(), record)) {
    handler_->OnRecord(device_->number(), record);
  } else {
    ++foreign_;
  }
}

uint32_t DeviceSource::Drain(int64_t) {
  return reader_->Drain([this](const axl_record& record) { Handle(record); });
}

void DeviceSource::Stop() {
  Drain(0);
  device_->CloseTraceRing();
  const RingCounts& counts = reader_->counts();
  if (counts.AllLost() > loss_dated_) {
    // At the end of the recording, or never owned up to: the time is not known.
    Loss loss;
    loss.hop = "device-ring/" + device_->name();
    loss.count = counts.AllLost() - loss_dated_;
    loss.device = device_->number();
    handler_->OnLoss(loss);
  }
  const uint64_t bad = counts.bad + counts.bad_index + counts.bad_sequence;
  const uint64_t out = counts.out - foreign_;
  handler_->OnHop({"device-ring/" + device_->name(), out + counts.AllLost() + bad, out,
                   counts.AllLost(), bad});
  map_.Reset();
}

}  // namespace acceltrace::daemon
