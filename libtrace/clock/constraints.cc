// SPDX-License-Identifier: Apache-2.0
#include "libtrace/clock/constraints.h"

#include <algorithm>

namespace acceltrace::clock {
namespace {

// How far one time is behind another, if it is from 0 to `most`.
bool IsNear(int64_t from_ns, int64_t to_ns, uint32_t most, uint32_t* apart) {
  int64_t by_ns = 0;
  if (__builtin_sub_overflow(to_ns, from_ns, &by_ns) || by_ns < 0 || by_ns > int64_t{most}) {
    return false;
  }
  *apart = static_cast<uint32_t>(by_ns);
  return true;
}

}  // namespace

void Constraints::Add(const Constraint& constraint) {
  const Window& when = constraint.when;
  Short next{constraint.ticks, constraint.host_ns, kNoLo, kNoHi};
  const bool lo_near = when.lo_ns == Window::kMin ||
                       IsNear(when.lo_ns, constraint.host_ns, kNoLo - 1, &next.lo_before);
  const bool hi_near = when.hi_ns == Window::kMax ||
                       IsNear(constraint.host_ns, when.hi_ns, kNoHi - 1, &next.hi_after);
  if (!lo_near || !hi_near) odds_.emplace_back(size_, when);
  if (constraint.order == Constraint::Order::kDeviceFirst) next.lo_before |= kDeviceFirst;
  const Window* rest = rests_.empty() ? nullptr : &rests_.back().second;
  if (rest == nullptr || rest->near_ns != when.near_ns || rest->min_jumps != when.min_jumps ||
      rest->max_jumps != when.max_jumps) {
    rests_.emplace_back(size_, when);
  }
  if (size_ % kChunk == 0) {
    chunks_.push_back(std::make_shared<Short[]>(kChunk));
  } else if (chunks_.back().use_count() > 1) {
    auto own = std::make_shared<Short[]>(kChunk);
    std::copy_n(chunks_.back().get(), size_ % kChunk, own.get());
    chunks_.back() = std::move(own);
  }
  chunks_.back()[size_ % kChunk] = next;
  ++size_;
}

}  // namespace acceltrace::clock
