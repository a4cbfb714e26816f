// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/record_options.h"

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "libtrace/base/utf8.h"
#include "libtrace/cli/service_client.h"
#include "libtrace/cli/trace_files.h"
#include "libtrace/control/json.h"
#include "libtrace/control/options.h"

namespace acceltrace::cli {
namespace {

// Limits the command's part of a line to the service, so that the whole line stays within its
// limit.
constexpr size_t kCommandBytes = 40 << 10;

size_t EscapedBytes(const std::vector<std::string>& words) {
  if (words.empty()) return 0;
  constexpr std::string_view kAround = R"({"command":[]})";
  proto::RecordRequest request;
  request.mutable_command()->Assign(words.begin(), words.end());
  return control::ToJson(request).size() - kAround.size();
}

// Returns the command for the trace. A very long command runs as it is, but only its beginning is
// stored.
std::vector<std::string> Told(const std::vector<std::string>& command) {
  if (EscapedBytes(command) <= kCommandBytes) return command;
  std::vector<std::string> words;
  size_t bytes = 0;
  for (const std::string& word : command) {
    std::string told = word.substr(0, kCommandBytes);
    while (!told.empty() && bytes + EscapedBytes({told}) > kCommandBytes) {
      told.resize(told.size() / 2);
    }
    bytes += EscapedBytes({told}) + 1;
    if (told.size() < word.size() || bytes > kCommandBytes) {
      words.push_back(ToUtf8(told) + "…");
      break;
    }
    words.push_back(word);
  }
  return words;
}

// By default, records when threads slept, since otherwise waiting would be mistaken for work. For
// all threads of a machine this would be too much, and it is not a low overhead.
void ChooseSources(proto::RecordRequest* request) {
  if (request->sources() == "none") {
    request->clear_sources();
  } else if (request->sources().empty() && !request->system() && request->overhead() != "low") {
    request->set_sources("default");
  }
}

constexpr struct {
  const char* option;
  const char* type;
  const char* text;
} kOptions[] = {
    {"--pid", "PID", "record this process and what it forks; repeatable"},
    {"--system", "", "record every process"},
    {"--device", "NAME", "only this accelerator, or device of a provider: name or PCI address"},
    {"--no-device", "", "host events only"},
    {"--probes", "LIST",
     "of api,usdt,driver,tracepoints,device,counters,clock; default all but usdt and tracepoints"},
    {"--sources", "LIST",
     "of the host besides: of sched,irq,pressure,memory,cpu,block,net,pcie,numa,cgroup, or all, "
     "or none; default sched, with --system or --overhead low none"},
    {"--stacks", "",
     "user stacks of API calls, by frame pointers; the calls then come by probes, which cost more"},
    {"--counter-period", "TIME",
     "device-side counter samples: 500us, 1ms; 0 = only at start and end"},
    {"--overhead", "full|low",
     "full (default), or low: less detail of the driver, no counter samples, see acceltraced(8)"},
    {"--ring", "SIZE", "flight recorder: keep the last SIZE (64M) in memory"},
    {"--trigger", "RULE",
     "with --ring: save it when job>10ms, begin:NAME, range:NAME or range:NAME>20ms; repeatable"},
    {"--rotate-size", "SIZE", "go on in the next file at this size"},
    {"--rotate-time", "TIME", "... and after this time"},
    {"--keep", "N",
     "files (1 to 16) of a rotation, then the oldest is overwritten (8); of triggers (4)"},
    {"--libaxl", "FILE", "runtime library whose probes are attached"},
};

}  // namespace

void AddRequestOption(Verb* verb, const std::string& option, const std::string& type,
                      const std::string& text, proto::RecordRequest* request) {
  const auto set = [option, request](const std::string& word) {
    return control::SetOption(option, word, request).message();
  };
  const control::OptionKind kind = control::KindOf(option);
  if (kind == control::OptionKind::kFlag) {
    verb->AddFlag(
        option, [set] { set(""); }, text);
    return;
  }
  Option added = verb->AddParsed(option, set, text).TypeName(type);
  if (kind == control::OptionKind::kValue) added.Once();
}

void AddRecordOptions(Verb* verb, RecordOptions* options) {
  options->output = DefaultTraceName("acceltrace");
  verb->AddOption("-o,--output", &options->output,
                  "file to write, - for stdout [acceltrace-TIME-PID.atrace]")
      .TypeName("FILE");
  for (const auto& each : kOptions) {
    AddRequestOption(verb, each.option, each.type, each.text, &options->request);
  }
}

void AddSocketOption(Verb* verb, std::string* socket) {
  *socket = kServiceSocket;
  verb->AddOption("--socket", socket, "of the capture service").TypeName("PATH").ShowDefault();
}

Status Complete(RecordOptions* options) {
  proto::RecordRequest& request = options->request;
  ChooseSources(&request);
  request.clear_command();
  for (std::string& word : Told(options->command)) request.add_command(std::move(word));
  auto recording = control::Check(request);
  if (!recording.ok()) return recording.status();
  options->recording = std::move(recording).value();
  if (control::MoreFiles(options->recording) != 0 && options->output == "-") {
    return Status::Error("several files need a name: give one with -o");
  }
  return {};
}

std::vector<std::string> DaemonArguments(const RecordOptions& options) {
  std::vector<std::string> words = {"--output-name",
                                    options.output == "-" ? "stdout" : options.output};
  if (!options.share.empty()) words.insert(words.end(), {"--share", options.share});
  const std::vector<std::string> asked = control::Words(options.request);
  words.insert(words.end(), asked.begin(), asked.end());
  return words;
}

proto::RecordRequest StartRequest(const RecordOptions& options) {
  proto::RecordRequest start = options.request;
  // Paths are made absolute, since relative ones would be other files for the daemon. The service
  // accepts none from an ordinary user, and does not need them: it sees what a command has mapped.
  for (std::string& library : *start.mutable_libraries()) {
    library = std::filesystem::absolute(library).string();
  }
  if (!options.command.empty() && geteuid() != 0) start.clear_libraries();
  return start;
}

}  // namespace acceltrace::cli
