// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/online.h"

namespace acceltrace::clock {

namespace {

template <typename T>
void PushBounded(const T& value, size_t limit, std::deque<T>* queue) {
  if (queue->size() == limit) queue->pop_front();
  queue->push_back(value);
}

}  // namespace

void OnlineClock::Add(const Sample& sample) {
  for (Tightest* tightest : {&lower_, &upper_}) {
    if (tightest->constraint) {
      PushBounded(*tightest->constraint, 2 * kMaxSamples, &constraints_);
    }
    tightest->constraint.reset();
  }
  PushBounded(sample, kMaxSamples, &samples_);
  stale_ = true;
}

void OnlineClock::Add(const Change& change) {
  PushBounded(change, kMaxCuts, &changes_);
  stale_ = true;
}

void OnlineClock::AddCut(uint64_t ticks, Cut cut, int64_t near_ns, double hz) {
  Change change{cut, ticks, 0, hz, {}};
  change.when.near_ns = near_ns;
  Add(change);
}

void OnlineClock::AddConstraint(const Constraint& constraint) {
  // By how much the device's event is later (earlier) than required, as far as is known.
  if (!map_.ok()) return;
  const int64_t mid_ns = map_->ToHost(constraint.ticks, constraint.host_ns).mid_ns;
  const bool is_lower = constraint.order == Constraint::Order::kHostFirst;
  const int64_t room_ns = is_lower ? mid_ns - constraint.host_ns : constraint.host_ns - mid_ns;
  Tightest& tightest = is_lower ? lower_ : upper_;
  if (tightest.constraint && tightest.room_ns <= room_ns) return;
  tightest = {constraint, room_ns};
  stale_ = true;
}

const Result<Map>& OnlineClock::Current() {
  if (!stale_) return map_;
  stale_ = false;
  MapBuilder builder(info_, options_);
  for (const Sample& sample : samples_) builder.Add(sample);
  for (const Change& change : changes_) builder.Add(change);
  const int64_t oldest_ns = samples_.empty() ? 0 : samples_.front().host_before_ns;
  const auto add = [&](const Constraint& constraint) {
    if (constraint.host_ns >= oldest_ns) builder.AddConstraints({&constraint, 1});
  };
  for (const Constraint& constraint : constraints_) add(constraint);
  for (const Tightest* tightest : {&lower_, &upper_}) {
    if (tightest->constraint) add(*tightest->constraint);
  }
  map_ = builder.Build();
  return map_;
}

}  // namespace acceltrace::clock
