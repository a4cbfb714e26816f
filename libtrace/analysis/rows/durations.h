// SPDX-License-Identifier: Apache-2.0
//
// How long did a device take, by its own clock?
//
// A device records whole ticks: the count x stands for an instant in [x, x + 1). Between two such
// times only the rate of the clock and these two roundings are uncertain, but not the clock's
// offset to the host. Sums of such durations add up roundings instead of offsets:
//
//   successive commands of a unit: a whole tick is certain if nothing begins or ends in it,
//   and a tick in which something does is counted once;
//   parts of a command (busy, a stall): the device charges whole ticks as they come, so that
//   a part may have up to kPartOverTicks too many or kPartUnderTicks too few
//   (docs/device-counters.md has the rule, which docs/stream.md requires of any device).
#ifndef LIBTRACE_ANALYSIS_ROWS_DURATIONS_H_
#define LIBTRACE_ANALYSIS_ROWS_DURATIONS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/span.h"
#include "libtrace/clock/paces.h"
#include "libtrace/model/tables/model.h"

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
  // Compares by ticks or epochs; if both are unknown, by the estimated host times.
  bool Before(const Mark& other) const {
    if (SameEpoch(other)) return static_cast<int64_t>(other.ticks - ticks) > 0;
    if (epoch == clock::kNoEpoch || other.epoch == clock::kNoEpoch) {
      return host.mid_ns < other.host.mid_ns;
    }
    return epoch < other.epoch;
  }
};
inline Mark MarkOf(const model::DeviceTimes& times, size_t row) { return Mark(times.At(row)); }
// Reads marks row by row, without the raw ticks.
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

// Bounds of host ns per tick.
struct Rate {
  double lo = 1, mid = 1, hi = 1;
  // Returns true if the rate is nearly constant; otherwise it changed in between.
  bool Even() const { return hi - lo < 1e-3 * lo; }
};

// Not thread-safe.
class Durations {
 public:
  explicit Durations(const model::Device& device);

  // The time from one event to a later one.
  Span Between(const Mark& from, const Mark& to) const;
  // The same with fractions of ns.
  Amount Elapsed(const Mark& from, const Mark& to) const;
  // For a known RateBetween() of the two.
  Amount Elapsed(const Mark& from, const Mark& to, const Rate& rate) const;
  // The time between two counts of the same epoch, taken as exact numbers without rounding.
  Amount Exactly(const Mark& from, const Mark& to) const;
  // The time of a number of ticks between two events of the same epoch.
  Amount Of(double lo_ticks, double mid_ticks, double hi_ticks, const Mark& from,
            const Mark& to) const;
  static Amount Of(double lo_ticks, double mid_ticks, double hi_ticks, const Rate& rate) {
    return {std::max(0.0, lo_ticks) * rate.lo, mid_ticks * rate.mid, hi_ticks * rate.hi};
  }
  Rate RateBetween(const Mark& from, const Mark& to) const;
  double nominal_tick_ns() const { return nominal_ns_; }
  bool known() const { return device_.clock.valid(); }

 private:
  // Converts the duration of many ticks to that of one.
  Rate Each(const model::Interval& many) const;
  Rate FindRate(const Mark& from, const Mark& to) const;

  const model::Device& device_;
  double nominal_ns_;  // a tick
  mutable clock::Paces paces_;
  mutable model::Interval many_;  // the value from which each_ was computed
  mutable Rate each_{0, 0, 0};
  // The last queries that paces_ could not answer: many parts of a command are between the same few
  // times.
  struct Asked {
    Mark from, to;
    Rate rate;
    bool any = false;
  };
  mutable std::array<Asked, 4> asked_;
};

// Sums up the durations of successive things on a unit. Add() must be called in order of time.
class UnitSum {
 public:
  explicit UnitSum(const Durations* time) : time_(time) {}
  void Add(const Mark& from, const Mark& to) { Add(from, to, time_->RateBetween(from, to)); }
  // `rate` is RateBetween() of the two; it is not used if they are out of order.
  void Add(const Mark& from, const Mark& to, const Rate& rate);
  const Amount& sum() const { return sum_; }
  // Returns how many things did not end before the next one began.
  uint64_t overlaps() const { return overlaps_; }

 private:
  const Durations* time_;
  Amount sum_;
  uint64_t overlaps_ = 0;
  bool any_ = false;
  Mark last_;
};

// Returns rows of Commands sorted by device, unit and start.
std::vector<uint32_t> RowsByStart(const model::Model& model);
// Returns true if the rows of each unit, as returned by RowsByStart(), are in increasing order.
// Then all units can be processed together row by row, and columns are read only once.
bool RowsRise(const model::Commands& commands, const std::vector<uint32_t>& rows);

// Computes how long commands waited at the head of their queues, from head to start. A unit with
// several queues only waits for one of them while it runs no command of the others: `head` is where
// the wait would have begun if it were one piece, and each piece has edges of its own.
class Waits {
 public:
  // `rows` come from RowsByStart(), `times` has one element per device.
  Waits(const model::Model& model, const std::vector<uint32_t>& rows,
        const std::vector<Durations>& times);
  // `head` and `start` are the command's, and `ahead` is the Elapsed() time between them.
  Amount Of(size_t command, const Mark& head, const Mark& start, const Amount& ahead) const;

 private:
  const model::Model& model_;
  const std::vector<Durations>& times_;
  // For each command, how many others may have run between the pieces of its wait.
  std::vector<uint32_t> between_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_DURATIONS_H_
