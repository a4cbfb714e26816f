// SPDX-License-Identifier: Apache-2.0
#include "libtrace/runtime/commands.h"

#include "libtrace/runtime/errors.h"

namespace acceltrace::runtime {

void CommandList::Clear() {
  commands_.clear();
  deps_.clear();
  dep_ends_.clear();
}

axlError_t CommandList::Add(const axl_desc& command, std::span<const uint32_t> deps) {
  if (commands_.size() >= kMaxCommands || deps.size() > kMaxCommands ||
      deps_.size() + deps.size() > UINT32_MAX)
    return Fail(axlErrorLimit, "a graph takes at most %zu commands", kMaxCommands);
  for (const uint32_t dep : deps) {
    if (dep >= commands_.size())
      return Fail(axlErrorInvalidValue, "dependency %u is not an earlier node of this graph", dep);
  }
  deps_.insert(deps_.end(), deps.begin(), deps.end());
  commands_.push_back(command);
  dep_ends_.push_back(static_cast<uint32_t>(deps_.size()));
  return axlSuccess;
}

}  // namespace acceltrace::runtime
