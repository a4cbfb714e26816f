// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/stamp_scale.h"

#include <algorithm>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace acceltrace::daemon {
namespace {

constexpr int kReads = 5;
constexpr int64_t kLongNs = 20'000'000;

uint64_t Tsc() {
#if defined(__x86_64__)
  _mm_lfence();
  const uint64_t tsc = __rdtsc();
  _mm_lfence();
  return tsc;
#else
  return 0;
#endif
}

}  // namespace

StampScale::Mark StampScale::Read() {
  Mark best;
  for (int i = 0; i < kReads; ++i) {
    Mark mark;
    timespec now;
    mark.before = Tsc();
    clock_gettime(CLOCK_MONOTONIC, &now);
    mark.after = Tsc();
    mark.ns = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    if (i == 0 || mark.after - mark.before < best.after - best.before) best = mark;
  }
  return best;
}

void StampScale::Add(const Mark& mark) {
  const uint64_t half_width = (mark.after - mark.before + 1) / 2;
  const uint64_t tsc = mark.before + (mark.after - mark.before) / 2;
  const int64_t passed_ns = mark.ns - marked_ns_;
  if (marked_ && tsc > marked_tsc_ && passed_ns > 0) {
    const uint64_t ticks = tsc - marked_tsc_;
    Line line = {marked_tsc_, marked_ns_, 0};
    line.rate = static_cast<uint64_t>((static_cast<unsigned __int128>(passed_ns) << 32) / ticks);
    const uint64_t width_ns = static_cast<uint64_t>(
        static_cast<unsigned __int128>(std::max(half_width, half_width_ticks_)) * line.rate >> 32);
    bound_ns_ = std::max(bound_ns_, width_ns + Departure(tsc, mark.ns) + 1);
    newest_ = (newest_ + 1) % kLines;
    lines_[newest_] = last_ = line;
    count_ = std::min(count_ + 1, kLines);
  } else if (marked_) {
    return;  // no time has passed
  } else {
    long_tsc_ = tsc;
    long_ns_ = mark.ns;
  }
  marked_ = true;
  marked_tsc_ = tsc;
  marked_ns_ = mark.ns;
  half_width_ticks_ = half_width;
  last_stamp_ = mark.after;
}

// Returns how far the kernel's clock may deviate from a line between two marks, given the change of
// its rate since the last long interval. Short ones would only measure brackets.
uint64_t StampScale::Departure(uint64_t tsc, int64_t ns) {
  if (ns - long_ns_ < kLongNs) return 0;
  const uint64_t ticks = tsc - long_tsc_;
  const auto rate =
      static_cast<uint64_t>((static_cast<unsigned __int128>(ns - long_ns_) << 32) / ticks);
  uint64_t departure = 0;
  if (long_rate_ != 0) {
    const uint64_t change = rate > long_rate_ ? rate - long_rate_ : long_rate_ - rate;
    // Half of what the change amounts to, as it may have occurred in the middle.
    departure = static_cast<uint64_t>(static_cast<unsigned __int128>(change) * ticks >> 33);
  }
  long_tsc_ = tsc;
  long_ns_ = ns;
  long_rate_ = rate;
  return departure;
}

int64_t StampScale::Search(uint64_t stamp) {
  size_t at = newest_;
  for (size_t i = 1; i < count_; ++i) {
    const uint64_t end = lines_[at].tsc;
    at = (at + kLines - 1) % kLines;
    if (lines_[at].tsc > stamp) continue;
    found_ = lines_[at];
    found_ticks_ = end - found_.tsc;
    break;
  }
  return At(lines_[at], stamp);
}

}  // namespace acceltrace::daemon
