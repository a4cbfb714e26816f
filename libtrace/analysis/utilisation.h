// SPDX-License-Identifier: Apache-2.0
//
// What did each execution unit do all the time?
//
// Of a command that was at the head of its unit's queue from head to end,
// end - head = busy + stalls; the unit was idle when it held none. The window
// of a device runs from its first fetch to its last completion. All of it is
// whole ticks of the device's clock: each edge of a command is off by up to one,
// each of its parts by what durations.h says, and their sums, shares and rates
// by all of these.
//
// The same is known from the device's counters, where they were sampled: between
// the first and the last snapshot both sums must be equal to the tick, if no
// command lies across either snapshot.
#ifndef LIBTRACE_ANALYSIS_UTILISATION_H_
#define LIBTRACE_ANALYSIS_UTILISATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/command_pass.h"
#include "libtrace/analysis/durations.h"
#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

class LawPass;

// Counters of a unit between two snapshots against its commands in between.
struct CounterCheck {
  bool available = false;   // two snapshots, and the counters exist
  uint64_t straddling = 0;  // commands across a snapshot: then equality is not asked for
  uint64_t busy_ticks = 0, commands_busy_ticks = 0;
  std::vector<uint64_t> stall_ticks, commands_stall_ticks;
  uint64_t commands = 0, commands_seen = 0;
  // busy + stalls + idle - elapsed, of the counters alone; 0 by their law.
  int64_t law_error_ticks = 0;
  bool has_law = false;
  bool Agrees() const {
    return busy_ticks == commands_busy_ticks && stall_ticks == commands_stall_ticks &&
           commands == commands_seen;
  }
};

struct UnitUse {
  uint32_t device = 0, unit = 0;
  std::string name;
  uint64_t commands = 0, failed = 0;
  uint64_t work = 0;
  double peak_work_per_s = 0;
  std::string work_unit;
  uint64_t busy_ticks = 0;            // as recorded
  std::vector<uint64_t> stall_ticks;  // likewise, by the device's causes
  Amount busy, stalled, idle;
  std::vector<Amount> stalls;
  // Of the device's window.
  Ratio busy_share, stalled_share, idle_share;
  std::vector<Ratio> stall_shares;
  // While it was busy: stalls and waits are not in it.
  Ratio work_per_s, peak_share;
  // Commands whose time was set by what, by the device's limiters.
  std::vector<uint64_t> limiters;
  CounterCheck check;
};

struct DeviceUse {
  uint32_t device = 0;
  Amount window;
  std::vector<UnitUse> units;
  // Commands on one unit whose [start, end] overlap: impossible for an in-order
  // unit, so a sign of damaged or foreign data. What they waited for before may
  // overlap: a unit waits for one queue while it runs another one's commands.
  uint64_t overlapping_commands = 0;
};

std::vector<DeviceUse> ComputeUtilisation(const model::Model& model);
// The same in a pass that others share.
class UtilisationSum : public CommandSum {
 public:
  virtual std::vector<DeviceUse> Finish() = 0;
};
std::unique_ptr<UtilisationSum> SumUtilisation(const CommandPass& pass);
// Of each device: DeviceUse::overlapping_commands alone.
class OverlapSum {
 public:
  virtual ~OverlapSum() = default;
  // Once the pass is over.
  virtual std::vector<uint64_t> Finish() = 0;
};
std::unique_ptr<OverlapSum> SumOverlaps(LawPass* pass);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_UTILISATION_H_
