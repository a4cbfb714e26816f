// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/thread_counts.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

namespace acceltrace::daemon {
namespace {

std::string ReadAll(const std::string& path) {
  std::string text;
  if (FILE* file = fopen(path.c_str(), "re")) {
    char buffer[4096];
    for (size_t bytes; (bytes = fread(buffer, 1, sizeof(buffer), file)) > 0;) {
      text.append(buffer, bytes);
    }
    fclose(file);
  }
  return text;
}

// Returns the number after "\nNAME:".
uint64_t Field(const std::string& text, const char* name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + strlen(name), nullptr, 10);
}

}  // namespace

std::optional<act_thread_counts> ReadThreadCounts(uint32_t pid, uint32_t tid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/";
  const std::string stat = ReadAll(folder + "stat"), status = ReadAll(folder + "status");
  act_thread_counts counts = {};
  // The name, in brackets, may have any character: fields are counted from the last bracket.
  const size_t name_end = stat.rfind(')');
  unsigned long minor = 0, major = 0;
  if (name_end == std::string::npos ||
      sscanf(stat.c_str() + name_end, ") %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu", &minor,
             &major) != 2) {
    return std::nullopt;
  }
  counts.minor_faults = minor;
  counts.major_faults = major;
  counts.charged_ns = strtoull(ReadAll(folder + "schedstat").c_str(), nullptr, 10);
  counts.voluntary = Field(status, "\nvoluntary_ctxt_switches:");
  counts.involuntary = Field(status, "\nnonvoluntary_ctxt_switches:");
  return counts;
}

}  // namespace acceltrace::daemon
