// SPDX-License-Identifier: Apache-2.0
//
// acceltrace start, stop, snapshot and status: recordings of the running service.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "libtrace/base/utf8.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/record_options.h"
#include "libtrace/cli/service_client.h"
#include "libtrace/cli/trace_files.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::cli {
namespace {

using nlohmann::json;

struct Options {
  RecordOptions record;
  std::string socket, output;
  uint32_t session = 0;  // 0 = the only one
  bool json = false;
  bool named = false;  // the output was given by -o
};

Result<std::unique_ptr<ServiceClient>> Connect(const std::string& socket) {
  auto client = ServiceClient::Connect(socket);
  if (client.ok() && client.value() == nullptr) {
    return Status::Error("no capture service at " + socket +
                         ": systemctl start acceltraced, or use acceltrace record");
  }
  return client;
}

uint64_t Number(const json& object, const char* name) {
  const json value = object.value(name, json());
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

std::string Text(const json& object, const char* name) {
  const json value = object.value(name, json());
  return value.is_string() ? Printable(value.get<std::string>()) : "?";
}

Result<json> Sessions(ServiceClient* client) {
  const auto answer = client->Ask("status", proto::StatusRequest());
  if (!answer.ok()) return answer.status();
  json sessions = answer.value().value("sessions", json());
  if (!sessions.is_array()) return Status::Error("the capture service speaks another protocol");
  std::erase_if(sessions.get_ref<json::array_t&>(),
                [](const json& session) { return !session.is_object(); });
  return sessions;
}

// Returns the given session, or the only one.
Result<uint32_t> Choose(ServiceClient* client, const Options& options) {
  if (options.session != 0) return options.session;
  const auto sessions = Sessions(client);
  if (!sessions.ok()) return sessions.status();
  std::string numbers;
  uint32_t session = 0;
  for (const json& each : sessions.value()) {
    session = static_cast<uint32_t>(Number(each, "session"));
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(session);
  }
  if (sessions.value().empty()) return Status::Error("no recording of yours is running");
  if (sessions.value().size() > 1) return Status::Error("name one of the recordings " + numbers);
  return session;
}

int RunStart(const Options& options) {
  RecordOptions record = options.record;
  if (record.request.pids().empty() && !record.request.system()) {
    return Fail(kMisuse, "nothing to record: give --pid or --system; a command: acceltrace record");
  }
  if (Status status = Complete(&record); !status.ok()) return Fail(kMisuse, status.message());
  auto client = Connect(options.socket);
  if (!client.ok()) return Fail(kFailed, client.message());
  auto files = TraceFiles::Open(record);
  if (!files.ok()) return Fail(kFailed, files.message());
  if (!files->is_file()) return Fail(kMisuse, "the service writes files: name one with -o");
  proto::RecordRequest start = StartRequest(record);
  start.set_detach(true);
  Status begun = client.value()->Begin(std::move(start), files->fds());
  if (begun.ok()) begun = client.value()->WaitUntilReady(-1, nullptr);
  if (!begun.ok()) return Fail(kFailed, begun.message());
  const Status placed = files->Place();
  files->Leave();
  std::printf("%llu\n", static_cast<unsigned long long>(client.value()->session()));
  if (!placed.ok()) return Fail(kFailed, placed.message());
  if (!options.named) {
    std::fprintf(stderr, "acceltrace: it is written to %s\n", record.output.c_str());
  }
  return kOk;
}

int RunStop(const Options& options) {
  auto client = Connect(options.socket);
  if (!client.ok()) return Fail(kFailed, client.message());
  const auto session = Choose(client.value().get(), options);
  if (!session.ok()) return Fail(kFailed, session.message());
  client.value()->Use(session.value());
  const auto text = client.value()->Stop(-1);
  if (!text.ok()) return Fail(kFailed, text.message());
  const json summary = json::parse(text.value(), nullptr, false);
  if (!summary.is_object()) return Fail(kFailed, "the capture service speaks another protocol");
  if (options.json) {
    std::printf("%s\n", summary.dump(-1, ' ', true, json::error_handler_t::replace).c_str());
  } else {
    std::printf("recording %llu: %s events in %s, %s lost, %s recorded\n",
                static_cast<unsigned long long>(session.value()),
                view::FormatCount(Number(summary, "events")).c_str(),
                view::FormatBytes(Number(summary, "bytes")).c_str(),
                view::FormatCount(Number(summary, "lost")).c_str(),
                view::FormatNs(static_cast<int64_t>(Number(summary, "duration_ns"))).c_str());
  }
  const json error = summary.value("error", json());
  if (!error.is_string() || error.get_ref<const std::string&>().empty()) return kOk;
  return Fail(kFailed, error.get<std::string>());
}

int RunSnapshot(const Options& options) {
  auto client = Connect(options.socket);
  if (!client.ok()) return Fail(kFailed, client.message());
  const auto session = Choose(client.value().get(), options);
  if (!session.ok()) return Fail(kFailed, session.message());
  client.value()->Use(session.value());
  const Status taken = client.value()->Snapshot(options.output);
  if (!taken.ok()) return Fail(kFailed, taken.message());
  if (!options.named) {
    std::fprintf(stderr, "acceltrace: %s: snapshot\n", options.output.c_str());
  }
  return kOk;
}

int RunStatus(const Options& options) {
  auto client = Connect(options.socket);
  if (!client.ok()) return Fail(kFailed, client.message());
  const auto sessions = Sessions(client.value().get());
  if (!sessions.ok()) return Fail(kFailed, sessions.message());
  if (options.json) {
    std::printf("%s\n",
                sessions.value().dump(-1, ' ', true, json::error_handler_t::replace).c_str());
    return kOk;
  }
  if (sessions.value().empty()) std::puts("no recording is running");
  for (const json& session : sessions.value()) {
    std::printf("%-4llu %-8s user %-6llu %10s  %s\n",
                static_cast<unsigned long long>(Number(session, "session")),
                Text(session, "state").c_str(),
                static_cast<unsigned long long>(Number(session, "user")),
                view::FormatNs(static_cast<int64_t>(Number(session, "duration_ns"))).c_str(),
                Text(session, "output").c_str());
  }
  return kOk;
}

void AddSession(Verb* verb, Options* options) {
  verb->AddOption("SESSION", &options->session,
                  "its number, as start printed it; default: the only one")
      .TypeName("");
}

}  // namespace

void AddService(Verb* app, Run* run) {
  const auto add = [&](const char* name, const char* what, int (*run_verb)(const Options&),
                       bool has_output) {
    Verb* verb = app->AddVerb(name, what);
    auto options = std::make_shared<Options>();
    AddSocketOption(verb, &options->socket);
    verb->Callback([verb, options, run, run_verb, has_output] {
      options->named = has_output && verb->given("--output");
      *run = [=] { return run_verb(*options); };
    });
    return std::pair(verb, options);
  };
  const auto [start, start_options] =
      add("start", "Begin a recording by the service; prints its number", RunStart, true);
  AddRecordOptions(start, &start_options->record);
  const auto [stop, stop_options] = add("stop", "End a recording of the service", RunStop, false);
  AddSession(stop, stop_options.get());
  stop->AddFlag("--json", &stop_options->json, "its summary as JSON");
  const auto [snapshot, snapshot_options] =
      add("snapshot", "Save what a flight recorder of the service holds", RunSnapshot, true);
  AddSession(snapshot, snapshot_options.get());
  snapshot_options->output = DefaultTraceName("snapshot");
  snapshot
      ->AddOption("-o,--output", &snapshot_options->output,
                  "file to write [snapshot-TIME-PID.atrace]")
      .TypeName("FILE");
  const auto [status, status_options] =
      add("status", "Recordings of the service that are yours to use", RunStatus, false);
  status->AddFlag("--json", &status_options->json, "as JSON");
}

}  // namespace acceltrace::cli
