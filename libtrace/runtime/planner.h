// SPDX-License-Identifier: Apache-2.0
//
// Converts dependencies to semaphore waits. Internal.
//
// Within one queue an engine runs its commands in order. A dependency on an earlier command of the
// same engine therefore needs no wait, and waiting for an engine's value means that all of its
// earlier commands are done, too. What remains is at most one value for each other engine. A
// descriptor has two waits; a third one goes into a NOP before it on the same engine.
#ifndef LIBTRACE_RUNTIME_PLANNER_H_
#define LIBTRACE_RUNTIME_PLANNER_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kmod/uapi/axl.h"
#include "libtrace/runtime/commands.h"
#include "libtrace/runtime/context.h"

namespace acceltrace::runtime {

// A value that a context's semaphore must reach, and the job that lets it do so.
struct Point {
  uint16_t sem = AXL_SEM_NONE;
  uint64_t value = 0;
  uint32_t queue = 0;
  uint64_t sequence = 0;
};

class Planner {
 public:
  // timeline has the last assigned value for each engine. tail has for each engine the value for
  // which the first commands must wait (0 = none), and pending has values of other streams.
  // `values` is working memory that the caller keeps, so that it is allocated only once.
  Planner(uint32_t first_sem, const Timeline& timeline, const Timeline& tail,
          std::span<const Point> pending, std::vector<uint64_t>* values)
      : first_sem_(first_sem),
        timeline_(timeline),
        entry_(tail),
        pending_(pending),
        values_(*values) {
    values_.clear();
  }

  // The number of descriptors that one Append may add, including the command itself.
  size_t MaxDescriptors() const { return 2 + pending_.size() / 2 + 1; }

  // Appends command i of the list to the job. Must be called in order, from 0.
  void Append(const CommandList& list, size_t i, std::vector<axl_desc>* job);

  const Timeline& timeline() const { return timeline_; }
  // Returns what later commands must wait for.
  Timeline Tail() const;

 private:
  void Wait(const Timeline& need, bool pending, uint32_t engine, axl_desc* command,
            std::vector<axl_desc>* job);

  const uint32_t first_sem_;
  Timeline timeline_;
  const Timeline entry_;
  const std::span<const Point> pending_;
  std::vector<uint64_t>& values_;  // of each command, on its engine's semaphore
  // The values for which an engine has waited so far, to avoid waiting twice.
  std::array<Timeline, AXL_NUM_ENGINES> waited_ = {};
  std::array<bool, AXL_NUM_ENGINES> waited_pending_ = {};
  std::array<bool, AXL_NUM_ENGINES> used_ = {};
  std::array<bool, AXL_NUM_ENGINES> consumed_ = {};  // another engine waits for its last command
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_PLANNER_H_
