// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/control.h"

#include <climits>
#include <nlohmann/json.hpp>
#include <utility>

#include "libtrace/control/json.h"

namespace acceltrace::daemon {
namespace {

using control::UnknownMembers;
using nlohmann::json;

template <typename Request>
Result<Request> Parse(std::string_view line) {
  Request request;
  const Status status = control::FromJson(line, UnknownMembers::kRefused, &request);
  if (status.ok()) return request;
  return Status::Error("the command is wrong: " + status.message());
}

Status ReadStart(std::string_view line, Command* command) {
  const auto request = Parse<proto::RecordRequest>(line);
  if (!request.ok()) return request.status();
  auto recording = control::Check(*request);
  if (!recording.ok()) return recording.status();
  static_cast<control::Recording&>(command->record) = std::move(recording).value();
  command->detach = request->detach();
  command->output = request->output();
  return {};
}

// Reads all other requests, whose fields have the same names in a command.
template <typename Request>
Status Read(std::string_view line, Command* command) {
  const auto parsed = Parse<Request>(line);
  if (!parsed.ok()) return parsed.status();
  const Request& request = parsed.value();
  if constexpr (requires { request.session(); }) command->session = request.session();
  if constexpr (requires { request.output(); }) command->output = request.output();
  if constexpr (requires { request.has_status(); }) {
    if (request.has_status()) command->status = request.status();
  }
  if constexpr (requires { request.pid(); }) {
    command->pid = request.pid();
    if (command->pid == 0 || command->pid > INT_MAX)
      return Status::Error("'pid' is " + std::string(control::kNoPid));
  }
  return {};
}

constexpr struct {
  std::string_view name;
  Command::Verb verb;
  Status (*read)(std::string_view line, Command* command);
} kVerbs[] = {
    {"start", Command::Verb::kStart, ReadStart},
    {"pid", Command::Verb::kPid, Read<proto::PidRequest>},
    {"stop", Command::Verb::kStop, Read<proto::StopRequest>},
    {"status", Command::Verb::kStatus, Read<proto::StatusRequest>},
    {"snapshot", Command::Verb::kSnapshot, Read<proto::SnapshotRequest>},
    {"live", Command::Verb::kLive, Read<proto::LiveRequest>},
};

}  // namespace

Result<Command> ParseCommand(std::string_view line, uint64_t* id) {
  proto::Envelope envelope;
  Status status = control::FromJson(line, UnknownMembers::kIgnored, &envelope);
  if (!status.ok()) {
    return Status::Error("a command is one JSON object on a line: " + status.message());
  }
  Command command;
  command.id = *id = envelope.id();
  for (const auto& each : kVerbs) {
    if (each.name != envelope.cmd()) continue;
    command.verb = each.verb;
    status = each.read(line, &command);
    if (!status.ok()) return status;
    return command;
  }
  return Status::Error("no command '" + envelope.cmd().substr(0, 32) +
                       "'; there are start, pid, stop, status, snapshot and live");
}

std::string ErrorAnswer(uint64_t id, std::string_view error) {
  const json answer = {{"id", id}, {"ok", false}, {"error", error}};
  return answer.dump(-1, ' ', true, json::error_handler_t::replace);
}

std::string OkAnswer(uint64_t id, std::string_view members) {
  std::string answer = "{\"id\":" + std::to_string(id) + ",\"ok\":true";
  if (!members.empty()) {
    answer += ',';
    answer += members;
  }
  return answer + "}";
}

}  // namespace acceltrace::daemon
