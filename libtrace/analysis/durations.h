// SPDX-License-Identifier: Apache-2.0
//
// How long did a device take, by its own clock?
//
// A device writes down whole ticks: the count x stands for an instant in
// [x, x + 1). Between two such times only the rate of the clock and these two
// roundings are uncertain; the clock's offset to the host is not in it. Sums of such
// durations add the roundings, not offsets:
//
//   one after the other, as a unit runs its commands: a whole tick is certain if no
//   begin and no end lies in it, and a tick in which some do is counted once;
//   parts of a command (busy, a stall): the device charges whole ticks as they come,
//   so that a part may have kPartOverTicks more than it should, or miss kPartUnderTicks
//   (docs/device-counters.md has the rule; docs/stream.md asks it of any device).
#ifndef LIBTRACE_ANALYSIS_DURATIONS_H_
#define LIBTRACE_ANALYSIS_DURATIONS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/cursor.h"
#include "libtrace/analysis/span.h"
#include "libtrace/clock/paces.h"
#include "libtrace/model/model.h"

namespace acceltrace::analysis {

inline constexpr double kPartOverTicks = 1, kPartUnderTicks = 2;

// A time on a device's clock.
struct Mark : model::DeviceTime {
  Mark() = default;
  explicit Mark(const model::DeviceTime& time) : model::DeviceTime(time) {}

  bool Same(const Mark& other) const {
    return ticks == other.ticks && epoch == other.epoch && host.lo_ns == other.host.lo_ns &&
           host.mid_ns == other.host.mid_ns && host.hi_ns == other.host.hi_ns;
  }
  bool SameEpoch(const Mark& other) const {
    return epoch == other.epoch && epoch != clock::kNoEpoch;
  }
  // As the ticks say, or the epochs; where neither is known, as it seems.
  bool Before(const Mark& other) const {
    if (SameEpoch(other)) return static_cast<int64_t>(other.ticks - ticks) > 0;
    if (epoch == clock::kNoEpoch || other.epoch == clock::kNoEpoch) {
      return host.mid_ns < other.host.mid_ns;
    }
    return epoch < other.epoch;
  }
};
inline Mark MarkOf(const model::DeviceTimes& times, size_t row) { return Mark(times.At(row)); }
// The same for rows in order, or nearly; without what the device wrote.
struct MarkCursor {
  explicit MarkCursor(const model::DeviceTimes& times)
      : ticks(times.ticks),
        epoch(times.epoch),
        mid_ns(times.host.mid_ns()),
        before_ns(times.host.before_ns()),
        after_ns(times.host.after_ns()) {}
  Mark operator[](size_t row) {
    Mark mark;
    mark.ticks = ticks[row], mark.epoch = epoch[row];
    const auto mid = static_cast<uint64_t>(mid_ns[row]);
    mark.host = {static_cast<int64_t>(mid - before_ns[row]), static_cast<int64_t>(mid),
                 static_cast<int64_t>(mid + after_ns[row])};
    return mark;
  }

  Cursor<uint64_t> ticks;
  Cursor<uint32_t> epoch;
  Cursor<int64_t> mid_ns;
  Cursor<uint64_t> before_ns, after_ns;
};

// Host ns that a tick takes: bounds.
struct Rate {
  double lo = 1, mid = 1, hi = 1;
  // One rate, as far as matters; else it changed somewhere.
  bool Even() const { return hi - lo < 1e-3 * lo; }
};

// Not for several threads at once.
class Durations {
 public:
  explicit Durations(const model::Device& device);

  // From one event to another one that comes after it.
  Span Between(const Mark& from, const Mark& to) const;
  // The same, with fractions.
  Amount Elapsed(const Mark& from, const Mark& to) const;
  // Where their RateBetween() is known.
  Amount Elapsed(const Mark& from, const Mark& to, const Rate& rate) const;
  // From one count to another one of the same epoch, counts as such: nothing is rounded.
  Amount Exactly(const Mark& from, const Mark& to) const;
  // So many of the ticks between two events; both of one epoch.
  Amount Of(double lo_ticks, double mid_ticks, double hi_ticks, const Mark& from,
            const Mark& to) const;
  static Amount Of(double lo_ticks, double mid_ticks, double hi_ticks, const Rate& rate) {
    return {std::max(0.0, lo_ticks) * rate.lo, mid_ticks * rate.mid, hi_ticks * rate.hi};
  }
  Rate RateBetween(const Mark& from, const Mark& to) const;
  double nominal_tick_ns() const { return nominal_ns_; }
  bool known() const { return device_.clock.valid(); }

 private:
  // Of how long many ticks take.
  Rate Each(const model::Interval& many) const;
  Rate FindRate(const Mark& from, const Mark& to) const;

  const model::Device& device_;
  double nominal_ns_;  // a tick
  mutable clock::Paces paces_;
  mutable model::Interval many_;  // of which each_ is
  mutable Rate each_{0, 0, 0};
  // What paces_ did not find and was asked last: many parts of a command lie between the same
  // few times.
  struct Asked {
    Mark from, to;
    Rate rate;
    bool any = false;
  };
  mutable std::array<Asked, 4> asked_;
};

// The lengths of what a unit did, one after the other: Add() in order of time.
class UnitSum {
 public:
  explicit UnitSum(const Durations* time) : time_(time) {}
  void Add(const Mark& from, const Mark& to) { Add(from, to, time_->RateBetween(from, to)); }
  // rate: RateBetween() of them; of times that are in no order it is not used.
  void Add(const Mark& from, const Mark& to, const Rate& rate);
  const Amount& sum() const { return sum_; }
  // Things that did not end before the next one began.
  uint64_t overlaps() const { return overlaps_; }

 private:
  const Durations* time_;
  Amount sum_;
  uint64_t overlaps_ = 0;
  bool any_ = false;
  Mark last_;
};

// Rows of Commands by device, unit and start.
std::vector<uint32_t> RowsByStart(const model::Model& model);
// rows: these. Whether those of each unit rise: then all units can be read at once, row by row,
// and columns are read once.
bool RowsRise(const model::Commands& commands, const std::vector<uint32_t>& rows);

// How long commands waited at the head of their queues, head to start. A unit that has
// several queues waits for one of them only while it runs none of the others: head is where
// the wait would have begun in one piece, and each piece has edges of its own.
class Waits {
 public:
  // rows: RowsByStart(). times: of each device.
  Waits(const model::Model& model, const std::vector<uint32_t>& rows,
        const std::vector<Durations>& times);
  // head, start: of the command; ahead: Elapsed() from one to the other.
  Amount Of(size_t command, const Mark& head, const Mark& start, const Amount& ahead) const;

 private:
  const model::Model& model_;
  const std::vector<Durations>& times_;
  // Of each command: how many others may have run between its pieces.
  std::vector<uint32_t> between_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_DURATIONS_H_
