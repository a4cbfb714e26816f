// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/command_pass.h"

#include <memory>
#include <numeric>

#include "libtrace/analysis/rows/command_cursor.h"

namespace acceltrace::analysis {
namespace {

// The columns of commands, read in order.
struct Columns : CommandCursor {
  explicit Columns(const model::Model& model)
      : CommandCursor(model),
        unit(model.commands.unit),
        queue(model.commands.queue),
        op(model.commands.op),
        opcode(model.commands.opcode),
        status(model.commands.status),
        limiter(model.commands.limiter),
        work(model.commands.work),
        bytes(model.commands.bytes),
        memory_bytes(model.commands.memory_bytes) {}

  void Read(uint32_t row, const model::Model& model, PassedCommand* command) {
    PassedCommand& c = *command;
    c.row = row, c.device = device[row], c.unit = unit[row], c.queue = queue[row];
    c.op = op[row], c.opcode = opcode[row], c.status = status[row], c.limiter = limiter[row];
    c.work = work[row], c.bytes = bytes[row], c.memory_bytes = memory_bytes[row];
    c.head = head[row], c.start = start[row], c.end = end[row];
    const model::Device& of = model.devices[c.device];
    c.stall_ticks.resize(static_cast<size_t>(of.about.stalls_size()));
    Stalls(row, c.stall_ticks);
    c.busy_ticks =
        BusyTicks(of, c.head, c.end,
                  std::accumulate(c.stall_ticks.begin(), c.stall_ticks.end(), uint64_t{0}));
  }

  Cursor<uint32_t> unit, queue, op, opcode, status, limiter;
  Cursor<uint64_t> work, bytes, memory_bytes;
};

}  // namespace

CommandPass::CommandPass(const model::Model& model)
    : model_(model),
      times_(model.devices.begin(), model.devices.end()),
      rows_(RowsByStart(model)),
      rise_(RowsRise(model.commands, rows_)) {}

void CommandPass::Run(std::span<CommandSum* const> sums) const {
  const Waits waits(model_, rows_, times_);
  const auto columns = std::make_unique<Columns>(model_);
  PassedCommand command;
  for (size_t i = 0; i < rows_.size(); ++i) {
    columns->Read(RowAt(i), model_, &command);
    const Durations& time = times_[command.device];
    const Mark &head = command.head, &start = command.start, &end = command.end;
    command.time = &time;
    command.ran_rate = time.RateBetween(start, end);
    command.held_rate = head.Same(start) ? command.ran_rate : time.RateBetween(head, end);
    command.ran = time.Elapsed(start, end, command.ran_rate);
    command.ahead = time.Elapsed(head, start);
    command.waited = waits.Of(command.row, head, start, command.ahead);
    for (CommandSum* sum : sums) sum->Add(command);
  }
}

}  // namespace acceltrace::analysis
