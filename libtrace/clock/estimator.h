// SPDX-License-Identifier: Apache-2.0
//
// Device ticks to host time, with bounds. The method and its proofs: docs/clocks.md.
//
//   MapBuilder builder(ClockInfo::From(device.clock()));
//   builder.Add(clock_batch);            // every ClockBatch of the device, any order
//   builder.AddCut(ticks, cut, near_ns); // what the device said of its clock
//   builder.AddConstraints(constraints); // what the order of events shows, optional
//   Result<Map> map = builder.Build();
//   Interval when = map->ToHost(ticks, near_ns);
//
// Host times are CLOCK_MONOTONIC ns. Ticks are raw: as wide as the device's
// counter, wrapped, starting anew at a reset. Nothing is ever moved to make an
// order look right: what contradicts is left out, counted and for the caller to report.
#ifndef LIBTRACE_CLOCK_ESTIMATOR_H_
#define LIBTRACE_CLOCK_ESTIMATOR_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "libtrace/clock/constraints.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/result.h"

namespace acceltrace::clock {

// When something happened on the host's clock: certainly within [lo_ns, hi_ns],
// at mid_ns by the best estimate.
struct Interval {
  int64_t lo_ns = 0;
  int64_t mid_ns = 0;
  int64_t hi_ns = 0;

  int64_t width_ns() const { return hi_ns - lo_ns; }
  bool Contains(int64_t time_ns) const { return lo_ns <= time_ns && time_ns <= hi_ns; }
};

// "Not known which": the ticks of such a time differ from others' by nobody knows how much.
inline constexpr uint32_t kNoEpoch = std::numeric_limits<uint32_t>::max();

// A reading of a device clock, and what became of it.
struct DeviceTime {
  uint64_t raw_ticks = 0;  // as the device wrote it
  // Continued over wraps and over jumps that the device announced: what the clock would have
  // shown, were it wider and never set. Within one epoch differences are elapsed ticks;
  // between epochs (an unannounced jump, a reset) they mean nothing.
  uint64_t ticks = 0;
  uint32_t epoch = kNoEpoch;
  // The instant, which lies within [ticks, ticks + 1) on the device's clock.
  Interval host;
};

// Of device times, as long as each other. raw_ticks are those that were asked for.
struct TimeColumns {
  uint64_t* ticks = nullptr;
  uint32_t* epoch = nullptr;
  // mid_ns, and how far lo_ns and hi_ns are from there.
  int64_t* mid_ns = nullptr;
  uint64_t *before_ns = nullptr, *after_ns = nullptr;
};

// What is known of a device clock beforehand.
struct ClockInfo {
  double nominal_hz = 0;
  uint32_t bits = 64;  // the counter wraps at 2^bits

  static ClockInfo From(const proto::Clock& clock) {
    return {static_cast<double>(clock.nominal_hz()), clock.bits() == 0 ? 64 : clock.bits()};
  }
};

struct Options {
  // The fastest that the frequency may wander without a step; see docs/clocks.md
  // for where the number comes from. A trace that shows more raises it.
  double max_drift_ppm_per_s = 2.0;
  // The least error of a cross-timestamp beyond the rounding of its values. PTM's
  // timestamps count whole ns, and half the difference of two spans of them is the
  // correction. Pairs that scatter more are believed less.
  double ptm_error_ns = 1.0;
};

// One reading of the device clock: it showed `device_ticks` at an instant within
// [host_before_ns, host_after_ns]: rounded down and up, so that their middle is that
// of the read.
struct Sample {
  int64_t host_before_ns = 0;
  int64_t host_after_ns = 0;
  uint64_t device_ticks = 0;
  // Cycle counter reads inside the bracket; both 0 = none.
  uint64_t tsc_before = 0;
  uint64_t tsc_after = 0;
  // A cross-timestamp of the link: both clocks at one instant.
  bool has_ptm = false;
  uint64_t ptm_device_ticks = 0;
  int64_t ptm_host_ns = 0;
};

// The samples of a batch, appended.
void AppendSamples(const proto::ClockBatch& batch, std::vector<Sample>* samples);

// Where the clock is not one smooth curve, as the device announced.
enum class Cut : uint8_t {
  kFrequency,  // another frequency from these ticks on, no jump
  kReset,      // counting anew: `ticks` are the first of the new count
  kJump,       // the count was set: it showed `before`, then `ticks`
};

// Such a place, as the device announced it.
struct Change {
  Cut cut = Cut::kFrequency;
  uint64_t ticks = 0;   // raw, the first ones after it
  uint64_t before = 0;  // of a jump: raw, the last ones before it
  double hz = 0;        // the frequency from then on, 0 = not announced
  Window when;
};

// How well a clock is known, for people and for JSON.
struct Quality {
  uint64_t samples = 0;  // given
  uint64_t samples_used = 0;
  uint64_t samples_rejected = 0;  // contradicted by their neighbours, or malformed
  uint64_t samples_wrong = 0;     // of those: not merely left open, and no cross-timestamp
  uint64_t ptm_samples = 0;
  uint64_t constraints = 0;           // given
  uint64_t constraints_rejected = 0;  // contradicted by the samples: causality violations
  uint32_t pieces = 0;                // smooth stretches
  uint32_t resets = 0;                // counts that began anew, unannounced
  uint32_t jumps = 0;                 // announced
  uint32_t steps = 0;
  int64_t first_ns = 0, last_ns = 0;  // of the samples used
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

// Immutable, cheap to copy, safe to use from several threads.
class Map {
 public:
  static constexpr int64_t kNoHint = std::numeric_limits<int64_t>::min();

  Map() = default;  // not valid
  explicit Map(std::shared_ptr<const internal::MapData> data) : data_(std::move(data)) {}

  bool valid() const { return data_ != nullptr; }

  // Only when valid(). near_ns: a host time less than half a wrap away from the
  // event (its job's submission, the clock sample before it in the stream). It
  // chooses the wrap, and the count after or before a reset; without it a wrapped
  // or reset clock is taken to be at its last count.
  Interval ToHost(uint64_t ticks, int64_t near_ns = kNoHint) const;
  // The same for a column; near_ns empty or as long as ticks. Ticks in order of
  // time convert fastest.
  void ToHost(std::span<const uint64_t> ticks, std::span<const int64_t> near_ns,
              std::span<Interval> out) const;
  // A duration between two ticks of one smooth stretch, in ns, with bounds that
  // are tighter than the difference of two intervals: the offset cancels.
  Interval Duration(uint64_t begin_ticks, uint64_t end_ticks, int64_t near_ns = kNoHint) const;

  // A reading, whose wrap and count are chosen by what is known
  // of its time. Where several are possible the interval covers all of them, and the epoch
  // is kNoEpoch.
  DeviceTime Locate(uint64_t raw_ticks, const Window& window) const;
  // The ticks alone say when: Locate takes no notice of its window.
  bool NeedsNoWindow() const;
  // Locate() of each gives these very ticks, and the only epoch. Only if NeedsNoWindow().
  bool AreTicksPlain(std::span<const uint64_t> raw_ticks) const;
  bool AreTicksPlain() const;  // of any
  // Locate() of each. Only if NeedsNoWindow(); fast where times are in order, about.
  void LocateAll(std::span<const uint64_t> raw_ticks, const TimeColumns& out) const;
  // So many elapsed ticks before a reading, on the same count: a time that the device
  // computed from it and did not read.
  DeviceTime Before(const DeviceTime& time, uint64_t ticks) const;
  // From one reading to another that the device made later (or as late), in ns. Bounds
  // allow for the rounding of both to whole ticks; within an epoch only the rate is
  // uncertain, else the bounds are those of the two times. Never below zero.
  Interval Duration(const DeviceTime& begin, const DeviceTime& end) const;
  // How long lo_ticks to hi_ticks elapsed ticks take that lie between the two times.
  // Rounding is for the caller: n readings' worth of it make lo and hi.
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
  // Drops every second sample but the last: bounds get wider, not wrong.
  void Thin();
  // In order of time. Of frequencies only the change is taken, give or take as much again.
  // Jumps are undone by their announced size, as if they had not been.
  void Add(const Change& change) { changes_.push_back(change); }
  void AddCut(uint64_t ticks, Cut cut, int64_t near_ns = Map::kNoHint, double hz = 0);
  void AddConstraints(std::span<const Constraint> constraints);
  // They are many: not there twice.
  void AddConstraints(Constraints&& constraints);
  // Before (after) a reading some of what the device reported was lost, and changes of its clock
  // may have been among it. Between samples these show what it was; before the first and after
  // the last nothing is known then but the order of events.
  // Where it was, as far as is known, an announced change of rate may not have been the only
  // one between two samples.
  void AddLoss(const Window& when) { losses_.push_back(when); }
  void AddLossBefore(uint64_t ticks, const Window& when) { lost_before_.push_back({ticks, when}); }
  void AddLossAfter(uint64_t ticks, const Window& when) { lost_after_.push_back({ticks, when}); }

  // Errors: no nominal frequency; fewer than two samples that agree. May be called
  // again after more was added.
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
  std::vector<Window> losses_;  // by time
};

}  // namespace acceltrace::clock

#endif  // LIBTRACE_CLOCK_ESTIMATOR_H_
