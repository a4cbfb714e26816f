// SPDX-License-Identifier: Apache-2.0
//
// A list of commands with dependencies. The planner converts it to the descriptors of a job, in
// which dependencies are semaphore waits. Internal.
#ifndef LIBTRACE_RUNTIME_COMMANDS_H_
#define LIBTRACE_RUNTIME_COMMANDS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kmod/uapi/axl.h"
#include "libtrace/runtime/axl.h"

namespace acceltrace::runtime {

// The commands are in the order of their addition, which is topological: a command only depends on
// earlier ones.
class CommandList {
 public:
  static constexpr size_t kMaxCommands = 1u << 20;

  void Clear();
  size_t size() const { return commands_.size(); }
  const axl_desc& command(size_t i) const { return commands_[i]; }
  std::span<const uint32_t> deps(size_t i) const {
    const uint32_t begin = i ? dep_ends_[i - 1] : 0;
    return std::span(deps_).subspan(begin, dep_ends_[i] - begin);
  }
  // Each dependency must be the index of an earlier command.
  axlError_t Add(const axl_desc& command, std::span<const uint32_t> deps);

 private:
  std::vector<axl_desc> commands_;
  std::vector<uint32_t> deps_;
  std::vector<uint32_t> dep_ends_;
};

}  // namespace acceltrace::runtime

#endif  // LIBTRACE_RUNTIME_COMMANDS_H_
