// SPDX-License-Identifier: Apache-2.0
//
// Names of the files that belong to one trace: its parts and its snapshots.
#ifndef LIBTRACE_BASE_PART_NAME_H_
#define LIBTRACE_BASE_PART_NAME_H_

#include <string>
#include <string_view>

namespace acceltrace {

// Turns run.atrace and "2" into run.2.atrace. If the name has no extension, the part is appended.
inline std::string PartName(const std::string& path, std::string_view part) {
  const size_t slash = path.rfind('/');
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const size_t dot = path.rfind('.');
  const size_t at = dot != std::string::npos && dot > begin ? dot : path.size();
  return path.substr(0, at) + "." + std::string(part) + path.substr(at);
}

}  // namespace acceltrace

#endif  // LIBTRACE_BASE_PART_NAME_H_
