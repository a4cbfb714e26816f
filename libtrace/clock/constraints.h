// SPDX-License-Identifier: Apache-2.0
//
// What orders of events show of a clock: a trace has two of them for each of its jobs.
#ifndef LIBTRACE_CLOCK_CONSTRAINTS_H_
#define LIBTRACE_CLOCK_CONSTRAINTS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace acceltrace::clock {

// What is known beforehand of when a reading was made.
struct Window {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t lo_ns = kMin, hi_ns = kMax;  // certainly within, on the host's clock
  int64_t near_ns = kMin;              // a guess, kMin = none
  // Of the announced jumps, in order: so many certainly lay behind, so many at most.
  uint32_t min_jumps = 0, max_jumps = std::numeric_limits<uint32_t>::max();
};

// What one event shows of another: a host event at host_ns that cannot have been
// after (kHostFirst: doorbell write, doorbell seen), or cannot have been before
// (kDeviceFirst: completion written, interrupt handled), the device's `ticks`.
struct Constraint {
  enum class Order : uint8_t { kHostFirst, kDeviceFirst };
  uint64_t ticks = 0;
  int64_t host_ns = 0;
  Order order = Order::kHostFirst;
  // What else is known of when it was; nothing: not far from host_ns.
  Window when = {};
};

// Many of them, in order. Windows end within seconds of the host's event, as a rule, and what else
// is known is the same for many in a row: 24 bytes each, not 56.
class Constraints {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void Add(const Constraint& constraint);
  // visit(constraint)
  template <typename Visit>
  void Each(const Visit& visit) const {
    Constraint constraint;
    auto rest = rests_.begin();
    auto odd = odds_.begin();
    for (size_t i = 0; i < size_; ++i) {
      while (rest != rests_.end() && rest->first == i) constraint.when = (rest++)->second;
      const Short& from = chunks_[i / kChunk][i % kChunk];
      constraint.ticks = from.ticks, constraint.host_ns = from.host_ns;
      constraint.order = from.lo_before & kDeviceFirst ? Constraint::Order::kDeviceFirst
                                                       : Constraint::Order::kHostFirst;
      Window& when = constraint.when;
      const uint32_t lo_before = from.lo_before & ~kDeviceFirst;
      when.lo_ns = lo_before == kNoLo ? Window::kMin : from.host_ns - int64_t{lo_before};
      when.hi_ns = from.hi_after == kNoHi ? Window::kMax : from.host_ns + int64_t{from.hi_after};
      if (odd != odds_.end() && odd->first == i) {
        when.lo_ns = odd->second.lo_ns, when.hi_ns = odd->second.hi_ns;
        ++odd;
      }
      visit(static_cast<const Constraint&>(constraint));
    }
  }

 private:
  // kDeviceFirst: its order, beside the distance.
  static constexpr uint32_t kDeviceFirst = uint32_t{1} << 31, kNoLo = kDeviceFirst - 1;
  static constexpr uint32_t kNoHi = std::numeric_limits<uint32_t>::max();
  static constexpr size_t kChunk = 4096;
  struct Short {
    uint64_t ticks;
    int64_t host_ns;
    uint32_t lo_before, hi_after;
  };

  size_t size_ = 0;
  std::vector<std::shared_ptr<Short[]>> chunks_;  // full ones are the same in copies
  // From this one on, without lo_ns and hi_ns.
  std::vector<std::pair<size_t, Window>> rests_;
  std::vector<std::pair<size_t, Window>> odds_;  // whose window begins or ends elsewhere
};

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_CONSTRAINTS_H_
