// SPDX-License-Identifier: Apache-2.0
//
// Names that differ in a running number are one thing seen many times: "layer0",
// "layer1", "layer2" become "layer[0-2]".
//
// Runs of digits are folded only if the numbers at that place, over all names of
// one pattern, are consecutive: "fp16" and "fp32" stay apart.
#ifndef LIBTRACE_ANALYSIS_NAMES_H_
#define LIBTRACE_ANALYSIS_NAMES_H_

#include <map>
#include <string>
#include <vector>

namespace acceltrace::analysis {

// A table by name has at most so many rows; what comes later is one of kOtherNames.
inline constexpr size_t kMaxNamedRows = 4096;
inline constexpr char kOtherNames[] = "(others)";

// For each of the names, the name of its group (itself when it is alone).
std::map<std::string, std::string> FoldNames(const std::vector<std::string>& names);

// Names to the names of their groups: themselves when nothing is folded.
class NameGroups {
 public:
  NameGroups(bool fold, const std::vector<std::string>& names) {
    if (fold) groups_ = FoldNames(names);
  }
  const std::string& Of(const std::string& name) const {
    const auto found = groups_.find(name);
    return found == groups_.end() ? name : found->second;
  }

 private:
  std::map<std::string, std::string> groups_;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_NAMES_H_
