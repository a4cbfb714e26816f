// SPDX-License-Identifier: Apache-2.0
//
// Lines of the control socket: parsed or refused, never more; answers stay one line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/service/control.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace acceltrace::daemon;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  uint64_t id = 0;
  const auto command = ParseCommand(line, &id);
  const std::string answer =
      command.ok() ? OkAnswer(command->id, "") : ErrorAnswer(id, command.message());
  if (answer.find('\n') != std::string::npos) abort();
  if (command.ok() && command->id != id) abort();
  return 0;
}
