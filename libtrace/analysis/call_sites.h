// SPDX-License-Identifier: Apache-2.0
//
// Where in the program were the API calls made?
#ifndef LIBTRACE_ANALYSIS_CALL_SITES_H_
#define LIBTRACE_ANALYSIS_CALL_SITES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/model/model.h"
#include "libtrace/symbols/frame_names.h"

namespace acceltrace::analysis {

struct SiteUse {
  uint64_t calls = 0, failed = 0, bytes = 0, jobs = 0;
  int64_t time_ns = 0;   // of the calls that were seen to begin and end
  double device_ns = 0;  // starts to ends of their jobs' commands
};

// So many whole stacks, the ones with most time; the others are one row of kOtherNames.
inline constexpr size_t kMaxStackRows = 256;

// By the innermost frame outside the library whose call it was: the first one of another file than
// frame 0 is of. Where all are of one file, the caller of frame 0.
struct CallSite {
  std::string site, object;  // function; path of its file
  SiteUse use;
};

struct StackUse {
  std::vector<uint32_t> frames;  // in CallSites::names, innermost first, those of the library, too
  uint32_t site = 0;             // which of them made the calls
  SiteUse use;
};

struct CallSites {
  std::vector<CallSite> sites;   // by time, the longest first
  std::vector<StackUse> stacks;  // likewise
  std::vector<std::string> names;
  uint64_t without = 0;  // calls whose stack is not known
};

// Of each of Stacks::frames.
struct StackNames {
  std::vector<std::string> names;
  std::vector<uint32_t> of_frame;  // in names; the same name has the same number
  const std::string& Of(size_t frame) const { return names[of_frame[frame]]; }
};
// A trace may name any number of places: those of more than memory is taken for are kOtherNames.
StackNames NameStacks(const model::Model& model, symbols::FrameNames* names);
// The frame that made the calls of a stack.
size_t SiteOf(const model::Stacks& stacks, size_t stack);

// Nothing where the trace has no stacks. Reads the files that they are of.
CallSites ComputeCallSites(const model::Model& model, symbols::FrameNames* names);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CALL_SITES_H_
