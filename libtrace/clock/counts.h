// SPDX-License-Identifier: Apache-2.0
//
// Raw ticks to a straight time line: wraps, jumps, resets. Internal.
//
// A count is a stretch in which the counter runs on, but for jumps that the device announced:
// these are undone, since the device says by how much. Positions within a count are
// nominal nanoseconds since its first sample, as doubles: a day is 8.64e13 ns, where a
// double still resolves 0.02 ns.
#ifndef LIBTRACE_CLOCK_COUNTS_H_
#define LIBTRACE_CLOCK_COUNTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "libtrace/clock/region.h"

namespace acceltrace::clock::internal {

// A sample on its count's time line.
struct Reading {
  double position_ns = 0;
  Sample sample;
  uint32_t era = 0;
  // How often the clock wrapped since the one before is known from the rate before it alone.
  bool wraps_guessed = false;
  // What a tick may have lasted here, at most.
  double tick_ns = 0;
};

// Between two announced jumps the raw ticks are those of the count plus `shift`.
struct Era {
  uint32_t jumps = 0;  // announced so far
  uint64_t shift = 0;  // modulo the clock's width
  // Positions, in ticks, at which the clock showed them.
  int64_t from = std::numeric_limits<int64_t>::min() / 4;
  int64_t to = std::numeric_limits<int64_t>::max() / 4;
};

struct Count {
  uint64_t base_ticks = 0;        // raw, at position 0
  int64_t base_host_ns = 0;       // of the first sample, the reference of offsets
  std::vector<Reading> readings;  // by position, at least one
  std::vector<Era> eras;          // by position, at least one
};

// A jump as the device announced it: at one instant it showed `before`, then `after`.
struct Jump {
  uint64_t before = 0, after = 0;
  Window when;
};

class TickLine {
 public:
  TickLine() = default;
  explicit TickLine(const ClockInfo& info);

  uint64_t Mask(uint64_t ticks) const { return ticks & mask_; }
  bool wraps() const { return bits_ < 64; }
  double ns_per_tick() const { return ns_per_tick_; }
  // Length of a wrap in nominal ns.
  double wrap_ns() const { return wrap_ns_; }
  // Ticks from `base` to `ticks`, the shortest way round.
  int64_t SignedTicks(uint64_t base, uint64_t ticks) const;
  // The same as nominal ns.
  double Distance(uint64_t base, uint64_t ticks) const {
    return static_cast<double>(SignedTicks(base, ticks)) * ns_per_tick_;
  }
  // The position of `ticks` that is nearest to `near_ns` on the same line.
  double Position(uint64_t base, uint64_t ticks, double near_ns) const;
  // `distance` and whole wraps, as near to `near` as can be (all in ticks).
  int64_t Nearest(int64_t distance, double near) const;
  // `distance` and whole wraps, the least that is not below `least`.
  int64_t AtLeast(int64_t distance, double least) const;

 private:
  uint64_t mask_ = ~uint64_t{0};
  uint32_t bits_ = 64;
  double ns_per_tick_ = 1;
  double wrap_ns_ = 0;
};

// A rate that the device announces is that of its own reference, which is off by less than this.
inline constexpr double kAnnouncedRate = 1e-3;

// Device time per host time as a multiple of nominal, whatever happens.
struct Rates {
  // Accelerators scale their clocks by up to four either way; a device that announces more
  // is believed.
  double lo = 0.25, hi = 4;
  // In order; ratio 0: the device did not say how much.
  struct Announced {
    double ratio = 0;
    Window when;
  };
  std::vector<Announced> announced;
};

// Whether a clock may wrap while something may have happened, as far as is known.
bool WrapsOpen(const TickLine& line, const Window& when);

// A host time that is likely for it; Window::kMin: none.
int64_t Guess(const Window& when);

// Where a count was at a host time, by its readings to either side, in nominal ns.
double PositionAt(const Count& count, int64_t host_ns);
// Whether it may have been at a position then, by the readings on either side of that.
bool MayBe(const Count& count, double position_ns, const Window& when);

// Samples that are on no count.
struct LeftOut {
  uint64_t unplaced = 0;  // may lie on either side of a jump
  uint64_t wrong = 0;     // malformed, or those around them go on as if they were not there
};

// Sorts samples by host time, drops those that are left out, undoes the jumps that were announced,
// and splits where the counter was set anew: it went back, or nowhere near as far as the host's
// clock did.
std::vector<Count> LineUp(const TickLine& line, std::vector<Sample> samples,
                          std::span<const Jump> jumps, const Rates& rates, LeftOut* left_out);

// How long a tick lasted at each reading, by those around it.
void MeasureTicks(const TickLine& line, const Rates& rates, Count* count);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_COUNTS_H_
