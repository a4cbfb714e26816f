// SPDX-License-Identifier: Apache-2.0
//
// Reads the columns of commands that most analyses need, for rows that are roughly in order.
// Internal.
#ifndef LIBTRACE_ANALYSIS_ROWS_COMMAND_CURSOR_H_
#define LIBTRACE_ANALYSIS_ROWS_COMMAND_CURSOR_H_

#include <cstdint>
#include <optional>
#include <span>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/durations.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

// Takes some hundred KB, so it must not be on the stack.
class CommandCursor {
 public:
  explicit CommandCursor(const model::Model& model)
      : device(model.commands.device),
        head(model.commands.head),
        start(model.commands.start),
        end(model.commands.end),
        model_(model),
        first_stall_(model.commands.first_stall),
        stall_ticks_(model.stall_ticks) {}

  // Does the same as Model::Stalls(), for as many causes as `ticks` has elements.
  void Stalls(size_t row, std::span<uint64_t> ticks) {
    const uint32_t first = first_stall_[row];
    for (size_t s = 0; s < ticks.size(); ++s) {
      ticks[s] = first == model::kNoRow ? 0 : stall_ticks_[first + s];
    }
  }
  uint64_t StallTicks(size_t row, size_t cause) {
    const uint32_t first = first_stall_[row];
    return first == model::kNoRow ? 0 : stall_ticks_[first + cause];
  }
  // Does the same as Model::BusyTicks().
  std::optional<uint64_t> BusyTicks(size_t row) {
    Mark from, to;
    from.ticks = head.ticks[row], from.epoch = head.epoch[row];
    to.ticks = end.ticks[row], to.epoch = end.epoch[row];
    return BusyTicks(row, from, to);
  }
  // `from` and `to` must be the head and the end of that row.
  std::optional<uint64_t> BusyTicks(size_t row, const Mark& from, const Mark& to) {
    const model::Device& of = model_.devices[device[row]];
    const auto causes = static_cast<size_t>(of.about.stalls_size());
    const uint32_t first = first_stall_[row];
    uint64_t stalled = 0;
    for (size_t s = 0; s < causes && first != model::kNoRow; ++s)
      stalled += stall_ticks_[first + s];
    return BusyTicks(of, from, to, stalled);
  }
  // `stalled` is the sum of all causes.
  static std::optional<uint64_t> BusyTicks(const model::Device& of, const Mark& from,
                                           const Mark& to, uint64_t stalled) {
    if (!from.SameEpoch(to) && of.clock.valid()) return std::nullopt;
    const uint64_t held = to.ticks - from.ticks;
    return held > stalled ? held - stalled : 0;
  }

  Cursor<uint32_t> device;
  MarkCursor head, start, end;

 private:
  const model::Model& model_;
  Cursor<uint32_t> first_stall_;
  Cursor<uint64_t> stall_ticks_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_COMMAND_CURSOR_H_
