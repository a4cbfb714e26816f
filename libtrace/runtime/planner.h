// SPDX-License-Identifier: Apache-2.0
//
// Turns dependencies into semaphore waits. Internal.
//
// Within one queue an engine runs its commands in order, so that a dependency on
// an earlier command of the same engine needs no wait, and waiting for an
// engine's value means that all its earlier commands are done too. What is left is
// at most one value for each other engine. A descriptor holds two waits; the third
// one goes into a NOP before it on the same engine.
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

// A semaphore of a context reaching a value, and the job that makes it do so.
struct Point {
  uint16_t sem = AXL_SEM_NONE;
  uint64_t value = 0;
  uint32_t queue = 0;
  uint64_t sequence = 0;
};

class Planner {
 public:
  // timeline: the last value given out for each engine; tail: per engine what the
  // first commands have to wait for (0 = nothing); pending: the same of others.
  // values: working memory, kept by the caller so that it is allocated once.
  Planner(uint32_t first_sem, const Timeline& timeline, const Timeline& tail,
          std::span<const Point> pending, std::vector<uint64_t>* values)
      : first_sem_(first_sem),
        timeline_(timeline),
        entry_(tail),
        pending_(pending),
        values_(*values) {
    values_.clear();
  }

  // Descriptors that one Append may add, the command itself included.
  size_t MaxDescriptors() const { return 2 + pending_.size() / 2 + 1; }

  // Appends command i of the list to the job. Call in order, from 0.
  void Append(const CommandList& list, size_t i, std::vector<axl_desc>* job);

  const Timeline& timeline() const { return timeline_; }
  // What whoever comes after the appended commands has to wait for.
  Timeline Tail() const;

 private:
  void Wait(const Timeline& need, bool pending, uint32_t engine, axl_desc* command,
            std::vector<axl_desc>* job);

  const uint32_t first_sem_;
  Timeline timeline_;
  const Timeline entry_;
  const std::span<const Point> pending_;
  std::vector<uint64_t>& values_;  // by command, on its engine's semaphore
  // What an engine has waited for so far, so that it does not do so twice.
  std::array<Timeline, AXL_NUM_ENGINES> waited_ = {};
  std::array<bool, AXL_NUM_ENGINES> waited_pending_ = {};
  std::array<bool, AXL_NUM_ENGINES> used_ = {};
  std::array<bool, AXL_NUM_ENGINES> consumed_ = {};  // another engine waits for its last command
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_PLANNER_H_
