// SPDX-License-Identifier: Apache-2.0
//
// Names that differ in a running number are one thing seen many times: "layer0",
// "layer1", "layer2" become "layer[0-2]".
//
// Runs of digits are folded only if the numbers at that place, over all names of
// one pattern, are consecutive: "fp16" and "fp32" stay apart.
#ifndef LIBTRACE_ANALYSIS_NAMES_H_
#define LIBTRACE_ANALYSIS_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace acceltrace::analysis {

// A table by name has at most so many rows; what comes later is one of kOtherNames.
inline constexpr size_t kMaxNamedRows = 4096;
inline constexpr char kOtherNames[] = "(others)";

// Names to the names of their groups: themselves when nothing is folded. What it holds is a few
// numbers for each pattern, whatever the number of names.
class NameGroups {
 public:
  // names: all of them, in any order; not looked at when fold is not set.
  NameGroups(bool fold, const std::vector<std::string_view>& names);

  // name: one of them.
  std::string Of(const std::string& name) const;

 private:
  // The numbers that were seen at a place of a pattern.
  struct Place {
    uint64_t least = 0, most = 0;
    bool consecutive = false;
  };

  std::map<std::string, std::vector<Place>, std::less<>> places_;  // by pattern
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_NAMES_H_
