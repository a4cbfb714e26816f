// SPDX-License-Identifier: Apache-2.0
//
// Parses lines of the control socket, which are accepted or refused; answers remain one line. A
// request that is accepted is also accepted after it was converted to JSON and to options.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "daemon/service/control.h"
#include "libtrace/control/json.h"
#include "libtrace/control/options.h"

namespace {

using acceltrace::control::OptionKind;
using acceltrace::proto::RecordRequest;

bool SameAsOptions(const RecordRequest& request) {
  RecordRequest copy;
  const auto words = acceltrace::control::Words(request);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      copy.mutable_command()->Assign(words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end());
      break;
    }
    const std::string& option = words[i];
    const bool flag = acceltrace::control::KindOf(option) == OptionKind::kFlag;
    if (!acceltrace::control::SetOption(option, flag ? "" : words[++i], &copy).ok()) return false;
  }
  copy.set_cmd(request.cmd());
  copy.set_id(request.id());
  copy.set_output(request.output());
  copy.set_detach(request.detach());
  return copy.SerializeAsString() == request.SerializeAsString();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace acceltrace;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  uint64_t id = 0;
  const auto command = daemon::ParseCommand(line, &id);
  const std::string answer =
      command.ok() ? daemon::OkAnswer(command->id, "") : daemon::ErrorAnswer(id, command.message());
  if (answer.find('\n') != std::string::npos) abort();
  if (!command.ok()) return 0;
  if (command->id != id || command->record.ring_bytes > control::kMaxRingBytes) abort();
  if (command->verb != daemon::Command::Verb::kStart) return 0;
  RecordRequest request, copy;
  if (!control::FromJson(line, control::UnknownMembers::kRefused, &request).ok()) abort();
  const std::string json = control::ToJson(request);
  if (json.find('\n') != std::string::npos) abort();
  if (!control::FromJson(json, control::UnknownMembers::kRefused, &copy).ok()) abort();
  if (copy.SerializeAsString() != request.SerializeAsString() || !SameAsOptions(request)) abort();
  return 0;
}
