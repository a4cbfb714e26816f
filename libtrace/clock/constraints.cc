// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/constraints.h"

#include <algorithm>

namespace acceltrace::clock {
namespace {

// Returns true if one time is 0 to `most` after another, and sets *apart to the difference.
bool IsNear(int64_t from_ns, int64_t to_ns, uint32_t most, uint32_t* apart) {
  int64_t by_ns = 0;
  if (__builtin_sub_overflow(to_ns, from_ns, &by_ns) || by_ns < 0 || by_ns > int64_t{most}) {
    return false;
  }
  *apart = static_cast<uint32_t>(by_ns);
  return true;
}

}  // namespace

void Constraints::AddOther(const Constraint& constraint) {
  const Window& when = constraint.when;
  uint32_t lo_before = kNoLo, hi_after = kNoHi;
  const bool lo_near =
      when.lo_ns == Window::kMin || IsNear(when.lo_ns, constraint.host_ns, kNoLo - 1, &lo_before);
  const bool hi_near =
      when.hi_ns == Window::kMax || IsNear(constraint.host_ns, when.hi_ns, kNoHi - 1, &hi_after);
  if (!lo_near || !hi_near) odds_.emplace_back(size_, when);
  if (constraint.order == Constraint::Order::kDeviceFirst) lo_before |= kDeviceFirst;
  if (!IsRest(when)) rests_.emplace_back(size_, when);
  const size_t at = size_ % kChunk;
  if (at == 0) {
    chunks_.push_back(std::make_shared_for_overwrite<Chunk>());
  } else if (chunks_.back().use_count() > 1) {
    chunks_.back() = std::make_shared<Chunk>(*chunks_.back());
  }
  chunks_.back()->Set(at, constraint.ticks, constraint.host_ns, lo_before, hi_after);
  ++size_;
}

Constraint Constraints::Run::At(size_t at) const {
  Constraint one{ticks[at], host_ns[at], Constraint::Order::kHostFirst, {}};
  const uint32_t before = lo_before[at] & ~kDeviceFirst;
  if (before != lo_before[at]) one.order = Constraint::Order::kDeviceFirst;
  if (before != kNoLo) one.when.lo_ns = one.host_ns - int64_t{before};
  if (hi_after[at] != kNoHi) one.when.hi_ns = one.host_ns + int64_t{hi_after[at]};
  one.when.min_jumps = min_jumps, one.when.max_jumps = max_jumps;
  return one;
}

const Constraint& Constraints::Reader::At(size_t i) {
  const auto &rests = of_.rests_, &odds = of_.odds_;
  for (; rest_ < rests.size() && rests[rest_].first <= i; ++rest_) known_ = rests[rest_].second;
  const Chunk& chunk = *of_.chunks_[i / kChunk];
  const Run run{kChunk,         chunk.ticks,      chunk.host_ns,   chunk.lo_before,
                chunk.hi_after, known_.min_jumps, known_.max_jumps};
  constraint_ = run.At(i % kChunk);
  Window& when = constraint_.when;
  when.near_ns = known_.near_ns;
  while (odd_ < odds.size() && odds[odd_].first < i) ++odd_;
  if (odd_ < odds.size() && odds[odd_].first == i) {
    when.lo_ns = odds[odd_].second.lo_ns, when.hi_ns = odds[odd_].second.hi_ns;
  }
  return constraint_;
}

Constraints::Run Constraints::Reader::RunAt(size_t i) {
  const auto &rests = of_.rests_, &odds = of_.odds_;
  while (run_odd_ < odds.size() && odds[run_odd_].first < i) ++run_odd_;
  if (run_odd_ < odds.size() && odds[run_odd_].first == i) return {};
  size_t end = std::min(of_.size_, (i / kChunk + 1) * kChunk);
  if (run_odd_ < odds.size()) end = std::min(end, odds[run_odd_].first);
  while (run_rest_ < rests.size() && rests[run_rest_].first <= i) ++run_rest_;
  const Window& known = rests[run_rest_ - 1].second;
  const auto same_jumps = [&](const Window& next) {
    return next.min_jumps == known.min_jumps && next.max_jumps == known.max_jumps;
  };
  size_t next = run_rest_;
  while (next < rests.size() && rests[next].first < end && same_jumps(rests[next].second)) ++next;
  if (next < rests.size()) end = std::min(end, rests[next].first);
  const Chunk& chunk = *of_.chunks_[i / kChunk];
  const size_t at = i % kChunk;
  return {end - i,
          chunk.ticks + at,
          chunk.host_ns + at,
          chunk.lo_before + at,
          chunk.hi_after + at,
          known.min_jumps,
          known.max_jumps};
}

}  // namespace acceltrace::clock
