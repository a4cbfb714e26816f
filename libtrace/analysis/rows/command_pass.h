// SPDX-License-Identifier: Apache-2.0
//
// Visits all commands once for any number of sums: the columns and durations that they share are
// read and computed only once. Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_COMMAND_PASS_H_
#define LIBTRACE_ANALYSIS_ROWS_COMMAND_PASS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libtrace/analysis/rows/durations.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// A command, as sums receive it.
struct PassedCommand {
  uint32_t row = 0, device = 0, unit = 0, queue = 0, op = 0, opcode = 0, status = 0, limiter = 0;
  uint64_t work = 0, bytes = 0, memory_bytes = 0;
  Mark head, start, end;
  // The durations of its device, and the rates from start to end and from head to end.
  const Durations* time = nullptr;
  Rate ran_rate, held_rate;
  Amount ran;                         // start to end
  Amount ahead;                       // head to start, by the recorded times
  Amount waited;                      // the same as computed by Waits
  std::vector<uint64_t> stall_ticks;  // by the device's stall causes
  std::optional<uint64_t> busy_ticks;
};

class CommandSum {
 public:
  virtual ~CommandSum() = default;
  // The commands of each unit come in order of their starts.
  virtual void Add(const PassedCommand& command) = 0;
};

class CommandPass {
 public:
  explicit CommandPass(const model::Model& model);
  CommandPass(const CommandPass&) = delete;
  CommandPass& operator=(const CommandPass&) = delete;

  const model::Model& model() const { return model_; }
  // One for each device. Sums refer to these, so they must not outlive the pass.
  const std::vector<Durations>& times() const { return times_; }
  // The rows of the commands, in the order of the pass.
  size_t size() const { return rows_.size(); }
  uint32_t RowAt(size_t i) const { return rise_ ? static_cast<uint32_t>(i) : rows_[i]; }
  void Run(std::span<CommandSum* const> sums) const;

 private:
  const model::Model& model_;
  const std::vector<Durations> times_;
  const std::vector<uint32_t> rows_;  // RowsByStart()
  const bool rise_;                   // RowsRise()
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_COMMAND_PASS_H_
