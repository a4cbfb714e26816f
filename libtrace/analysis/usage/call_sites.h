// SPDX-License-Identifier: Apache-2.0
//
// From where in the program were the API calls made?
#ifndef LIBTRACE_ANALYSIS_USAGE_CALL_SITES_H_
#define LIBTRACE_ANALYSIS_USAGE_CALL_SITES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/model/tables/model.h"
#include "libtrace/symbols/frame_names.h"

namespace acceltrace::analysis {

struct SiteUse {
  uint64_t calls = 0, failed = 0, bytes = 0, jobs = 0;
  int64_t time_ns = 0;   // sum over calls whose begin and end were recorded
  double device_ns = 0;  // sum of start to end of their jobs' commands
};

// The number of whole stacks that are listed, those with the most time; the others share a row
// named kOtherNames.
inline constexpr size_t kMaxStackRows = 256;

// Call sites are identified by the innermost frame outside of the library: the first one in another
// file than frame 0, or the caller of frame 0 if all frames are in the same file.
struct CallSite {
  std::string site, object;  // the function, and the path of its file
  SiteUse use;
};

struct StackUse {
  std::vector<uint32_t> frames;  // indexes in CallSites::names, innermost first
  uint32_t site = 0;             // index of the frame that made the calls
  SiteUse use;
};

struct CallSites {
  std::vector<CallSite> sites;   // sorted by time, the longest first
  std::vector<StackUse> stacks;  // sorted likewise
  std::vector<std::string> names;
  uint64_t without = 0;  // number of calls whose stack is not known
};

// The name of each frame in Stacks::frames.
struct StackNames {
  std::vector<std::string> names;
  std::vector<uint32_t> of_frame;  // index in names; equal names have equal indexes
  const std::string& Of(size_t frame) const { return names[of_frame[frame]]; }
};
// A trace may have any number of places, so memory is limited: those beyond the limit are named
// kOtherNames.
StackNames NameStacks(const model::Model& model, symbols::FrameNames* names);
// Returns the frame from which the calls of a stack were made.
size_t SiteOf(const model::Stacks& stacks, size_t stack);

// Empty if the trace has no stacks. Reads the files that the stacks refer to.
CallSites ComputeCallSites(const model::Model& model, symbols::FrameNames* names);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_CALL_SITES_H_
