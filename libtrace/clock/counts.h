// SPDX-License-Identifier: Apache-2.0
//
// Converts raw ticks to a continuous time line, across wraps, jumps and resets. Internal.
//
// Within a count the counter runs without interruption, except for jumps that the device announced
// with their size, which are undone. Positions within a count are nominal nanoseconds since its
// first sample, as doubles: a day is 8.64e13 ns, where a double still resolves 0.02 ns.
#ifndef LIBTRACE_CLOCK_COUNTS_H_
#define LIBTRACE_CLOCK_COUNTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "libtrace/clock/estimator.h"
#include "libtrace/clock/region.h"

namespace acceltrace::clock::internal {

// A sample on the time line of its count.
struct Reading {
  double position_ns = 0;
  Sample sample;
  uint32_t era = 0;
  // How often the clock wrapped since the previous reading is only known from the rate before.
  bool wraps_guessed = false;
  // The longest that a tick may have lasted at this reading.
  double tick_ns = 0;
};

// An interval between two announced jumps, in which the raw ticks are those of the count plus
// `shift`.
struct Era {
  uint32_t jumps = 0;  // announced so far
  uint64_t shift = 0;  // modulo the clock's width
  // The range of positions, in ticks, that the clock showed in this era.
  int64_t from = std::numeric_limits<int64_t>::min() / 4;
  int64_t to = std::numeric_limits<int64_t>::max() / 4;
};

struct Count {
  uint64_t base_ticks = 0;        // raw ticks at position 0
  int64_t base_host_ns = 0;       // host time of the first sample; offsets are relative to it
  std::vector<Reading> readings;  // sorted by position, never empty
  std::vector<Era> eras;          // sorted by position, never empty
};

// A jump that the device announced: at one instant the clock showed `before`, then `after`.
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
  // The wrap period in nominal ns.
  double wrap_ns() const { return wrap_ns_; }
  // Returns the signed distance from `base` to `ticks`, modulo a wrap.
  int64_t SignedTicks(uint64_t base, uint64_t ticks) const;
  // Returns the same distance in nominal ns.
  double Distance(uint64_t base, uint64_t ticks) const {
    return static_cast<double>(SignedTicks(base, ticks)) * ns_per_tick_;
  }
  // Returns the position of `ticks` that is nearest to `near_ns` on the same line.
  double Position(uint64_t base, uint64_t ticks, double near_ns) const;
  // Returns `distance` plus the number of whole wraps that brings it closest to `near`. All are in
  // ticks.
  int64_t Nearest(int64_t distance, double near) const;
  // Returns the smallest sum of `distance` and whole wraps that is at least `least`.
  int64_t AtLeast(int64_t distance, double least) const;

 private:
  uint64_t mask_ = ~uint64_t{0};
  uint32_t bits_ = 64;
  double ns_per_tick_ = 1;
  double wrap_ns_ = 0;
};

// The error of the device's own reference, by which it announces rates, is less than this.
inline constexpr double kAnnouncedRate = 1e-3;

// Bounds of device time per host time, as a multiple of the nominal rate.
struct Rates {
  // Accelerators scale their clocks by up to four in either direction. A device that announces more
  // is believed.
  double lo = 0.25, hi = 4;
  // In order; ratio is 0 if the device did not announce the new rate.
  struct Announced {
    double ratio = 0;
    Window when;
  };
  std::vector<Announced> announced;
};

// Returns true if a clock may wrap within the window.
bool WrapsOpen(const TickLine& line, const Window& when);

// Returns a likely host time within the window, or Window::kMin if there is none.
int64_t Guess(const Window& when);

// Returns the position of a count at a host time in nominal ns, interpolated between the readings
// around it.
double PositionAt(const Count& count, int64_t host_ns);
// Returns true if the readings around a position allow it to have been reached within the window.
bool MayBe(const Count& count, double position_ns, const Window& when);

// Samples that belong to no count.
struct LeftOut {
  uint64_t unplaced = 0;  // may be on either side of a jump
  uint64_t wrong = 0;     // malformed, or their neighbours contradict them
};

// Sorts the samples by host time, leaves some of them out, undoes announced jumps, and begins a new
// count where the counter was set anew: where it went back, or advanced far less than the host's
// clock.
std::vector<Count> LineUp(const TickLine& line, std::vector<Sample> samples,
                          std::span<const Jump> jumps, const Rates& rates, LeftOut* left_out);

// Determines how long a tick lasted at each reading, from the readings around it.
void MeasureTicks(const TickLine& line, const Rates& rates, Count* count);

}  // namespace acceltrace::clock::internal

#endif  // LIBTRACE_CLOCK_COUNTS_H_
