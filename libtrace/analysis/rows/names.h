// SPDX-License-Identifier: Apache-2.0
//
// Groups names that only differ in a running number: "layer0", "layer1" and "layer2" become
// "layer[0-2]".
//
// Digits are only folded if the numbers in that place are consecutive over all names of the same
// pattern: "fp16" and "fp32" stay separate.
#ifndef LIBTRACE_ANALYSIS_ROWS_NAMES_H_
#define LIBTRACE_ANALYSIS_ROWS_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace acceltrace::analysis {

// The limit of rows in a table by name; further names share the row kOtherNames.
inline constexpr size_t kMaxNamedRows = 4096;
inline constexpr char kOtherNames[] = "(others)";

// Maps names to the names of their groups, which are the names themselves if nothing is folded.
// Takes memory for each pattern only, whatever the number of names.
class NameGroups {
 public:
  // `names` has all names in any order. It is not used unless `fold` is set.
  NameGroups(bool fold, const std::vector<std::string_view>& names);

  // `name` must be one of the names.
  std::string Of(const std::string& name) const;

 private:
  // The numbers that occur in one place of a pattern.
  struct Place {
    uint64_t least = 0, most = 0;
    bool consecutive = false;
  };

  std::map<std::string, std::vector<Place>, std::less<>> places_;  // by pattern
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ROWS_NAMES_H_
