// SPDX-License-Identifier: Apache-2.0
//
// What did each execution unit do over time?
//
// For a command that was at the head of its unit's queue from head to end, end - head = busy +
// stalls; the unit was idle when it held no command. The window of a device reaches from its first
// fetch to its last completion. All times are whole ticks of the device's clock: each edge of a
// command is off by up to one tick, each of its parts by as much as durations.h says, and their
// sums, shares and rates by the total of these.
//
// The device's counters give the same values if they were sampled: between the first and the last
// snapshot both sums must be exactly equal, if no command was under way at either snapshot.
#ifndef LIBTRACE_ANALYSIS_USAGE_UTILISATION_H_
#define LIBTRACE_ANALYSIS_USAGE_UTILISATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/command_pass.h"
#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/span.h"

namespace acceltrace::analysis {

// Compares a unit's counters between two snapshots with its commands in between.
struct CounterCheck {
  bool available = false;   // there are two snapshots, and the counters exist
  uint64_t straddling = 0;  // commands under way at a snapshot, which prevent equality
  uint64_t busy_ticks = 0, commands_busy_ticks = 0;
  std::vector<uint64_t> stall_ticks, commands_stall_ticks;
  uint64_t commands = 0, commands_seen = 0;
  // busy + stalls + idle - elapsed of the counters, which must be 0.
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
  std::vector<uint64_t> stall_ticks;  // as recorded, by the device's stall causes
  Amount busy, stalled, idle;
  std::vector<Amount> stalls;
  // Relative to the device's window.
  Ratio busy_share, stalled_share, idle_share;
  std::vector<Ratio> stall_shares;
  // While it was busy, without stalls and waits.
  Ratio work_per_s, peak_share;
  // Number of commands by what limited them, in the order of the device's limiters.
  std::vector<uint64_t> limiters;
  CounterCheck check;
};

struct DeviceUse {
  uint32_t device = 0;
  Amount window;
  std::vector<UnitUse> units;
  // Commands on one unit whose [start, end] overlap. An in-order unit cannot do that, so this
  // indicates damaged or foreign data. Their waits may overlap: a unit waits for one queue while it
  // runs another one's commands.
  uint64_t overlapping_commands = 0;
};

std::vector<DeviceUse> ComputeUtilisation(const model::Model& model);
// Computes the same in a shared pass.
class UtilisationSum : public CommandSum {
 public:
  virtual std::vector<DeviceUse> Finish() = 0;
};
std::unique_ptr<UtilisationSum> SumUtilisation(const CommandPass& pass);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_UTILISATION_H_
