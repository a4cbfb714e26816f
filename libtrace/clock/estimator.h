// SPDX-License-Identifier: Apache-2.0
//
// Converts device ticks to host times with bounds. docs/clocks.md explains the method and proves
// the bounds.
//
//   MapBuilder builder(ClockInfo::From(device.clock()));
//   builder.Add(clock_batch);            // every ClockBatch of the device, any order
//   builder.AddCut(ticks, cut, near_ns); // what the device said of its clock
//   builder.AddConstraints(constraints); // from the order of events, optional
//   Result<Map> map = builder.Build();
//   Interval when = map->ToHost(ticks, near_ns);
//
// Host times are CLOCK_MONOTONIC in ns. Ticks are raw: they have the width of the device's counter,
// wrap, and restart at a reset. No time is ever moved to make an order look right. Whatever
// contradicts the samples is left out and counted, and the caller must report it.
#ifndef LIBTRACE_CLOCK_ESTIMATOR_H_
#define LIBTRACE_CLOCK_ESTIMATOR_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "libtrace/base/result.h"
#include "libtrace/clock/constraints.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::clock {

// The time of an event on the host's clock: certainly within [lo_ns, hi_ns], and mid_ns by the best
// estimate.
struct Interval {
  int64_t lo_ns = 0;
  int64_t mid_ns = 0;
  int64_t hi_ns = 0;

  int64_t width_ns() const { return hi_ns - lo_ns; }
  bool Contains(int64_t time_ns) const { return lo_ns <= time_ns && time_ns <= hi_ns; }
};

// The epoch of times whose ticks cannot be compared to any others, since it is not known on which
// curve they are.
inline constexpr uint32_t kNoEpoch = std::numeric_limits<uint32_t>::max();

// A reading of a device clock, converted.
struct DeviceTime {
  uint64_t raw_ticks = 0;  // as written by the device
  // The ticks continued over wraps and announced jumps: what a wider clock that was never set would
  // have shown. Within an epoch, differences are elapsed ticks; between epochs (across an
  // unannounced jump or a reset) they mean nothing.
  uint64_t ticks = 0;
  uint32_t epoch = kNoEpoch;
  // The instant at which the device's clock was within [ticks, ticks + 1).
  Interval host;
};

// Columns of device times, all of the same length. raw_ticks are those that the caller asked for.
struct TimeColumns {
  uint64_t* ticks = nullptr;
  uint32_t* epoch = nullptr;
  // mid_ns, and the distances of lo_ns and hi_ns from it.
  int64_t* mid_ns = nullptr;
  uint64_t *before_ns = nullptr, *after_ns = nullptr;
};

// What is known of a device clock in advance.
struct ClockInfo {
  double nominal_hz = 0;
  uint32_t bits = 64;  // the counter wraps at 2^bits

  static ClockInfo From(const proto::Clock& clock) {
    return {static_cast<double>(clock.nominal_hz()), clock.bits() == 0 ? 64 : clock.bits()};
  }
};

struct Options {
  // The fastest that the frequency may drift without a step; docs/clocks.md derives the number. A
  // trace that shows more raises it.
  double max_drift_ppm_per_s = 2.0;
  // The least error of a cross-timestamp, in addition to the rounding of its values. PTM's
  // timestamps count whole ns, and half the difference of two spans of them is the correction.
  // Pairs that scatter more get a larger error.
  double ptm_error_ns = 1.0;
};

// A reading of the device clock: it showed `device_ticks` at an instant within [host_before_ns,
// host_after_ns]. These are rounded down and up, so that their middle is that of the read.
struct Sample {
  int64_t host_before_ns = 0;
  int64_t host_after_ns = 0;
  uint64_t device_ticks = 0;
  // Reads of the cycle counter within the bracket; both 0 = none.
  uint64_t tsc_before = 0;
  uint64_t tsc_after = 0;
  // A cross-timestamp of the link: the values of both clocks at the same instant.
  bool has_ptm = false;
  uint64_t ptm_device_ticks = 0;
  int64_t ptm_host_ns = 0;
};

// Appends the samples of a batch.
void AppendSamples(const proto::ClockBatch& batch, std::vector<Sample>* samples);

// The kinds of announced interruptions of a clock.
enum class Cut : uint8_t {
  kFrequency,  // another frequency from these ticks on, without a jump
  kReset,      // the count restarts: `ticks` are the first of the new count
  kJump,       // the count was set: the clock showed `before`, then `ticks`
};

// An interruption that the device announced.
struct Change {
  Cut cut = Cut::kFrequency;
  uint64_t ticks = 0;   // raw, the first ones after the change
  uint64_t before = 0;  // for a jump: raw, the last ones before it
  double hz = 0;        // frequency after the change, 0 = not announced
  Window when;
};

// How well a clock is known, for reports and JSON.
struct Quality {
  uint64_t samples = 0;  // all that were added
  uint64_t samples_used = 0;
  uint64_t samples_rejected = 0;  // contradicted by their neighbours, or malformed
  uint64_t samples_wrong = 0;     // of those, without the undecided ones and cross-timestamps
  uint64_t ptm_samples = 0;
  uint64_t constraints = 0;           // all that were added
  uint64_t constraints_rejected = 0;  // contradicted by the samples: causality violations
  uint32_t pieces = 0;                // smooth parts
  uint32_t resets = 0;                // unannounced restarts of the count
  uint32_t jumps = 0;                 // announced ones
  uint32_t steps = 0;
  int64_t first_ns = 0, last_ns = 0;  // of the samples in use
  double offset_ns = 0;               // host time minus nominal device time at the last sample
  double rate_ppm = 0;                // device frequency against nominal, mean of the last piece
  double rate_min_ppm = 0, rate_max_ppm = 0;                             // over all pieces
  int64_t round_trip_min_ns = 0, round_trip_median_ns = 0;               // of the brackets
  double residual_p50_ns = 0, residual_p99_ns = 0, residual_max_ns = 0;  // bracket middle - mid_ns
  int64_t width_median_ns = 0, width_max_ns = 0;  // of the intervals at the samples
  double drift_ppm_per_s = 0;                     // what was assumed in the end
};

namespace internal {
struct MapData;
}

// Immutable, cheap to copy and thread-safe.
class Map {
 public:
  static constexpr int64_t kNoHint = std::numeric_limits<int64_t>::min();

  Map() = default;  // an invalid map
  explicit Map(std::shared_ptr<const internal::MapData> data) : data_(std::move(data)) {}

  bool valid() const { return data_ != nullptr; }

  // Must only be called on a valid map. near_ns is a host time less than half a wrap from the
  // event, such as its job's submission or the clock sample before it in the stream. It selects the
  // wrap, and the count before or after a reset. Without it, a wrapped or reset clock is assumed to
  // be in its last count.
  Interval ToHost(uint64_t ticks, int64_t near_ns = kNoHint) const;
  // Converts a column; near_ns is empty or as long as ticks. Conversion is fastest if ticks are
  // ordered by time.
  void ToHost(std::span<const uint64_t> ticks, std::span<const int64_t> near_ns,
              std::span<Interval> out) const;
  // Returns the duration in ns between two ticks of one smooth part. Its bounds are tighter than
  // the difference of two intervals, since the offset cancels.
  Interval Duration(uint64_t begin_ticks, uint64_t end_ticks, int64_t near_ns = kNoHint) const;

  // Converts a reading whose wrap and count are selected by its window. If several are possible,
  // the interval covers all of them and the epoch is kNoEpoch.
  DeviceTime Locate(uint64_t raw_ticks, const Window& window) const;
  // Returns true if the ticks alone determine the time, so that Locate ignores the window.
  bool NeedsNoWindow() const;
  // Returns true if Locate() would return these very ticks, all in the only epoch. Requires
  // NeedsNoWindow().
  bool AreTicksPlain(std::span<const uint64_t> raw_ticks) const;
  bool AreTicksPlain() const;  // the same for all possible ticks
  // Calls Locate() for each reading. Requires NeedsNoWindow(); fast if times are roughly in order.
  void LocateAll(std::span<const uint64_t> raw_ticks, const TimeColumns& out) const;
  // Returns the time that was `ticks` elapsed ticks earlier on the same count. It is meant for
  // times that the device computed instead of reading its clock.
  DeviceTime Before(const DeviceTime& time, uint64_t ticks) const;
  // Returns the time from one reading to another that the device made at the same time or later, in
  // ns. The bounds allow for the rounding of both to whole ticks. Within an epoch only the rate is
  // uncertain, otherwise the bounds are those of the two times. Never below zero.
  Interval Duration(const DeviceTime& begin, const DeviceTime& end) const;
  // Returns how long lo_ticks to hi_ticks elapsed ticks take that are between the two times.
  // Rounding is left to the caller, who must widen the range for all readings involved.
  Interval Length(uint64_t lo_ticks, uint64_t hi_ticks, const DeviceTime& from,
                  const DeviceTime& to) const;

  const Quality& quality() const;

 private:
  friend class Paces;

  std::shared_ptr<const internal::MapData> data_;
};

class MapBuilder {
 public:
  explicit MapBuilder(const ClockInfo& info, const Options& options = {});

  void Add(const proto::ClockBatch& batch) { AppendSamples(batch, &samples_); }
  void Add(const Sample& sample) { samples_.push_back(sample); }
  size_t samples() const { return samples_.size(); }
  // Drops every second sample except for the last: bounds get wider, but stay correct.
  void Thin();
  // Must be called in order of time. A change of frequency is used with an uncertainty of its own
  // size. Jumps are undone by their announced size.
  void Add(const Change& change) { changes_.push_back(change); }
  void AddCut(uint64_t ticks, Cut cut, int64_t near_ns = Map::kNoHint, double hz = 0);
  void AddConstraints(std::span<const Constraint> constraints);
  // Takes the constraints over, since they are too many for a copy.
  void AddConstraints(Constraints&& constraints);
  // Part of what the device reported before or after a reading was lost, possibly with changes of
  // its clock. Between samples the samples show such changes; before the first and after the last
  // sample only the order of events is known then. At the known place of a loss, an announced
  // change of rate may not have been the only one between two samples.
  void AddLoss(const Window& when) { losses_.push_back(when); }
  void AddLossBefore(uint64_t ticks, const Window& when) { lost_before_.push_back({ticks, when}); }
  void AddLossAfter(uint64_t ticks, const Window& when) { lost_after_.push_back({ticks, when}); }

  // Fails without a nominal frequency or two samples that agree. May be called again after more was
  // added.
  Result<Map> Build() const;

 private:
  ClockInfo info_;
  Options options_;
  std::vector<Sample> samples_;
  std::vector<Change> changes_;
  Constraints constraints_;
  struct Reading {
    uint64_t ticks = 0;
    Window when;
  };
  std::vector<Reading> lost_before_, lost_after_;
  std::vector<Window> losses_;  // ordered by time
};

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_ESTIMATOR_H_
