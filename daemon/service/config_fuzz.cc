// SPDX-License-Identifier: Apache-2.0
//
// Parses configuration files, which are accepted or refused with one line for each mistake.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/service/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace acceltrace::daemon;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Half of the names exist, independently of this machine.
  const Names names = {[](const std::string& name) -> std::optional<uid_t> {
                         if (name.size() % 2 == 0) return std::nullopt;
                         return static_cast<uid_t>(1000 + name.size());
                       },
                       [](const std::string& name) { return name.size() % 2 != 0; }};
  std::vector<std::string> mistakes;
  const ServiceConfig config = ParseConfig(text, "conf", names, &mistakes);
  for (const std::string& mistake : mistakes) {
    if (mistake.rfind("conf:", 0) != 0 || mistake.find('\n') != std::string::npos) abort();
  }
  // A configuration without mistakes must be usable.
  if (mistakes.empty() && !config.metrics.empty() && config.metrics != "off" &&
      config.metrics[0] != '/' && !ParseLoopback(config.metrics).ok()) {
    abort();
  }
  (void)ParseLoopback(std::string(text));
  return 0;
}
