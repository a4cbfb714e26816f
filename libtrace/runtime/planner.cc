// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/planner.h"

#include <algorithm>

#include "libtrace/runtime/names.h"

namespace acceltrace::runtime {
namespace {

uint32_t JoinTag() {
  static const uint32_t tag = OpNames().Intern("join");
  return tag;
}

}  // namespace

void Planner::Append(const CommandList& list, size_t i, std::vector<axl_desc>* job) {
  axl_desc command = list.command(i);
  const uint32_t engine = command.engine;
  Timeline need = {};
  bool pending = false;
  if (list.deps(i).empty()) {
    need = entry_;
    pending = true;
  }
  for (const uint32_t dep : list.deps(i)) {
    const uint32_t on = list.command(dep).engine;
    need[on] = std::max(need[on], values_[dep]);
    if (on != engine && values_[dep] == timeline_[on]) consumed_[on] = true;
  }
  Wait(need, pending, engine, &command, job);
  command.signal_sem = static_cast<uint16_t>(first_sem_ + engine);
  command.signal_value = ++timeline_[engine];
  values_.push_back(command.signal_value);
  used_[engine] = true;
  consumed_[engine] = false;
  job->push_back(command);
}

void Planner::Wait(const Timeline& need, bool pending, uint32_t engine, axl_desc* command,
                   std::vector<axl_desc>* job) {
  int filled = 0;
  command->wait_sem[0] = command->wait_sem[1] = AXL_SEM_NONE;
  const auto add = [&](uint32_t sem, uint64_t value) {
    if (filled == 2) {
      // The two waits so far move to a NOP before the command.
      axl_desc join = {};
      join.opcode = AXL_OP_NOP;
      join.engine = static_cast<uint8_t>(engine);
      join.tag = JoinTag();
      join.signal_sem = AXL_SEM_NONE;
      for (int w = 0; w < 2; ++w) {
        join.wait_sem[w] = command->wait_sem[w];
        join.wait_value[w] = command->wait_value[w];
        command->wait_sem[w] = AXL_SEM_NONE;
        command->wait_value[w] = 0;
      }
      job->push_back(join);
      filled = 0;
    }
    command->wait_sem[filled] = static_cast<uint16_t>(sem);
    command->wait_value[filled] = value;
    ++filled;
  };
  for (uint32_t on = 0; on < AXL_NUM_ENGINES; ++on) {
    if (on == engine || need[on] <= waited_[engine][on]) continue;
    add(first_sem_ + on, need[on]);
    waited_[engine][on] = need[on];
  }
  if (!pending || waited_pending_[engine]) return;
  for (const Point& point : pending_) add(point.sem, point.value);
  waited_pending_[engine] = true;
}

Timeline Planner::Tail() const {
  Timeline tail = {};
  bool any = false;
  for (uint32_t engine = 0; engine < AXL_NUM_ENGINES; ++engine) {
    any = any || used_[engine];
    if (used_[engine] && !consumed_[engine]) tail[engine] = timeline_[engine];
  }
  return any ? tail : entry_;
}

}  // namespace acceltrace::runtime
