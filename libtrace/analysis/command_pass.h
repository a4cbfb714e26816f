// SPDX-License-Identifier: Apache-2.0
//
// All commands once, for as many sums of them as are asked for: what they share, the columns and
// how long each took, is read and computed once. Internal.
#ifndef LIBTRACE_ANALYSIS_COMMAND_PASS_H_
#define LIBTRACE_ANALYSIS_COMMAND_PASS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "libtrace/analysis/durations.h"
#include "libtrace/model/model.h"

namespace acceltrace::analysis {

// One command, as sums take it.
struct PassedCommand {
  uint32_t row = 0, device = 0, unit = 0, queue = 0, op = 0, opcode = 0, status = 0, limiter = 0;
  uint64_t work = 0, bytes = 0, memory_bytes = 0;
  Mark head, start, end;
  // Its device's; of start to end, and of head to end.
  const Durations* time = nullptr;
  Rate ran_rate, held_rate;
  Amount ran;                         // start to end
  Amount ahead;                       // head to start, as they are
  Amount waited;                      // the same, as Waits has it
  std::vector<uint64_t> stall_ticks;  // by the device's causes
  std::optional<uint64_t> busy_ticks;
};

class CommandSum {
 public:
  virtual ~CommandSum() = default;
  // Unit by unit they come in order of their starts.
  virtual void Add(const PassedCommand& command) = 0;
};

class CommandPass {
 public:
  explicit CommandPass(const model::Model& model);
  CommandPass(const CommandPass&) = delete;
  CommandPass& operator=(const CommandPass&) = delete;

  const model::Model& model() const { return model_; }
  // Of each device. What is added up must not outlive the pass: it refers to them.
  const std::vector<Durations>& times() const { return times_; }
  // The commands' rows as they come.
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

#endif  // LIBTRACE_ANALYSIS_COMMAND_PASS_H_
