// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/system_names.h"

#include <string>

namespace acceltrace::daemon {
namespace {

constexpr struct {
  std::string_view name;
  uint32_t source;
} kNames[] = {
    {"sched", kSourceSched},   {"irq", kSourceIrq},   {"pressure", kSourcePressure},
    {"memory", kSourceMemory}, {"cpu", kSourceCpu},   {"block", kSourceBlock},
    {"net", kSourceNet},       {"pcie", kSourcePcie}, {"numa", kSourceNuma},
    {"cgroup", kSourceCgroup},
};

}  // namespace

Result<uint32_t> ParseSystemSources(std::string_view list) {
  if (list == "default") return kSourceSched | kSourceQuiet;
  uint32_t sources = 0;
  for (std::string_view rest = list;;) {
    const size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    uint32_t found = 0;
    std::string all;
    for (const auto& known : kNames) {
      if (name == known.name || name == "all") found |= known.source;
      all += std::string(known.name) + ", ";
    }
    if (found == 0) {
      return Status::Error("no source called '" + std::string(name) + "'; there are " + all +
                           "and all");
    }
    sources |= found;
    if (comma == std::string_view::npos) return sources;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace acceltrace::daemon
