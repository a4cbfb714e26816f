// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/sampled_source.h"

#include "daemon/base/host_info.h"
#include "daemon/sources/common/clock_watch.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kPeriodNs = 1'000'000'000;

}  // namespace

Status SampledSource::Start() {
  Readings readings;
  read_(&readings);
  if (readings.empty()) return Status::Error(without_);
  handler_->OnProbe(name_, true, "");
  return {};
}

uint32_t SampledSource::NumberOf(const Reading& reading, proto::SystemCounters* described) {
  const auto [entry, fresh] = numbers_.try_emplace({reading.object, reading.name}, 0);
  if (!fresh) return entry->second;
  if (numbers_.size() > kMaxCounters) {
    numbers_.erase(entry);
    return 0;
  }
  entry->second = first_counter_ + static_cast<uint32_t>(numbers_.size()) - 1;
  described->add_counter(entry->second);
  described->add_source(handler_->Intern(name_));
  described->add_name(handler_->Intern(reading.name));
  described->add_object(reading.object.empty() ? 0 : handler_->Intern(reading.object));
  described->add_unit(handler_->Intern(reading.unit));
  described->add_kind(reading.total ? proto::SystemCounters::KIND_TOTAL
                                    : proto::SystemCounters::KIND_GAUGE);
  described->add_device(reading.device);
  return entry->second;
}

void SampledSource::Sample() {
  Readings readings;
  const int64_t begin_ns = MonotonicNs();
  read_(&readings);
  const int64_t at_ns = begin_ns + (MonotonicNs() - begin_ns) / 2;
  next_ns_ = NextMultiple(at_ns, kPeriodNs);
  proto::Packet counters, samples;
  proto::SystemSamples* batch = samples.mutable_system_samples();
  stream::DeltaEncoder time;
  for (const Reading& reading : readings) {
    const uint32_t number = NumberOf(reading, counters.mutable_system_counters());
    if (number == 0) {
      ++refused_;
      continue;
    }
    time.Append(at_ns, batch->mutable_time_ns_delta());
    batch->add_counter(number);
    batch->add_value(reading.value);
  }
  const auto described = static_cast<uint32_t>(counters.system_counters().counter_size());
  if (described > 0) handler_->OnBlock(&counters, 0, described, 0);
  const auto count = static_cast<uint32_t>(batch->counter_size());
  rows_ += count;
  if (count > 0) handler_->OnBlock(&samples, at_ns, count, count);
  if (refused_ == reported_refused_) return;
  Loss loss;
  loss.hop = name_;
  loss.count = refused_ - std::exchange(reported_refused_, refused_);
  loss.first = loss.last = at_ns;
  handler_->OnLoss(loss);
}

Pace SampledSource::Drain(int64_t now_ns) {
  if (now_ns >= next_ns_) Sample();
  Pace pace;
  pace.next_ns = next_ns_;
  return pace;
}

std::vector<Hop> SampledSource::Hops() {
  return {{"system-" + name_, rows_ + refused_, rows_, refused_, 0, kSessionHop}};
}

void SampledSource::Stop() {
  Sample();
  for (const Hop& hop : Hops()) handler_->OnHop(hop);
}

}  // namespace acceltrace::daemon
