// SPDX-License-Identifier: Apache-2.0
//
// axl-patterns: see patterns.h. Exits 0 when all numbers are right, 1 otherwise, 2 on misuse.
#include <vector>

#include "tests/workloads/common/axl_cc.h"
#include "tests/workloads/common/program.h"
#include "tests/workloads/patterns/patterns.h"

using namespace acceltrace;             // NOLINT: a program
using namespace acceltrace::workloads;  // NOLINT

namespace {

void List() {
  for (const auto patterns : {DevicePatterns(), HostPatterns()}) {
    for (const Pattern& pattern : patterns)
      std::printf("%-14s %-12s %s\n", pattern.name, pattern.limiter, pattern.text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs workloads whose limiter is known.");
  std::vector<std::string> names;
  uint32_t scale = 1;
  int device = 0;
  bool list = false;
  app.add_option("NAME", names, "which; all by default");
  app.add_option("--scale", scale, "this many times as long")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app.add_option("--device", device, "number of the accelerator")->capture_default_str();
  app.add_flag("--list", list, "names, limiters, descriptions");
  if (const auto status = ParseArguments(app, argc, argv)) return *status;
  if (list) {
    List();
    return 0;
  }
  std::vector<const Pattern*> chosen;
  for (const std::string& name : names) {
    chosen.push_back(FindPattern(name));
    if (!chosen.back())
      return Fail("axl-patterns", Status::Error("no pattern '" + name + "': see --list"), 2);
  }
  if (names.empty()) {
    for (const auto patterns : {DevicePatterns(), HostPatterns()}) {
      for (const Pattern& pattern : patterns) chosen.push_back(&pattern);
    }
  }
  if (const Status status = ToStatus(axlSetDevice(device), "axlSetDevice"); !status.ok())
    return Fail("axl-patterns", status);
  uint64_t wrong = 0;
  for (const Pattern* pattern : chosen) {
    PatternStats stats;
    if (const Status status = pattern->run(scale, &stats); !status.ok())
      return Fail("axl-patterns", status);
    std::printf("%-14s %-12s %6llu commands %10.3f ms %llu wrong\n", pattern->name,
                pattern->limiter, static_cast<unsigned long long>(stats.commands), stats.host_ms,
                static_cast<unsigned long long>(stats.wrong));
    wrong += stats.wrong;
  }
  return wrong == 0 ? 0 : 1;
}
