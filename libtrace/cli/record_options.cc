// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/record_options.h"

#include <unistd.h>

#include <filesystem>

#include "libtrace/cli/service_client.h"
#include "libtrace/cli/trace_files.h"
#include "libtrace/stream/part_name.h"
#include "libtrace/stream/utf8.h"

namespace acceltrace::cli {
namespace {

// The same as in the service (docs/daemon.md).
constexpr uint32_t kMaxFiles = 16;
constexpr uint32_t kRotatedFiles = 8;
constexpr uint32_t kTriggeredFiles = 4;
// Limits the command's part of a line to the service, so that the whole line stays within its
// limit.
constexpr size_t kCommandBytes = 40 << 10;

size_t EscapedBytes(const std::string& text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace).size();
}

// Returns the command for the trace. A very long command runs as it is, but only its beginning is
// stored.
std::vector<std::string> Told(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  size_t bytes = 0;
  for (const std::string& word : command) {
    std::string told = word.substr(0, kCommandBytes);
    while (!told.empty() && bytes + EscapedBytes(told) > kCommandBytes) {
      told.resize(told.size() / 2);
    }
    bytes += EscapedBytes(told) + 1;
    if (told.size() < word.size() || bytes > kCommandBytes) {
      words.push_back(stream::ToUtf8(told) + "…");
      break;
    }
    words.push_back(word);
  }
  return words;
}

// By default, records when threads slept, since otherwise waiting would be mistaken for work. For
// all threads of a machine this would be too much, and it is not a low overhead.
std::string Sources(const RecordOptions& options) {
  if (options.sources == "none") return "";
  if (!options.sources.empty()) return options.sources;
  return options.system || options.overhead == "low" ? "" : "default";
}

}  // namespace

std::vector<std::string> MoreFiles(const RecordOptions& options) {
  std::vector<std::string> names;
  if (!options.triggers.empty()) {
    const uint32_t files = options.keep != 0 ? options.keep : kTriggeredFiles;
    for (uint32_t i = 1; i <= files; ++i) {
      names.push_back(stream::PartName(options.output, "trigger-" + std::to_string(i)));
    }
  } else if (!options.rotate_size.empty() || !options.rotate_time.empty()) {
    const uint32_t files = options.keep != 0 ? options.keep : kRotatedFiles;
    for (uint32_t i = 2; i <= files; ++i) {
      names.push_back(stream::PartName(options.output, std::to_string(i)));
    }
  }
  return names;
}

std::string FilesMisuse(const RecordOptions& options) {
  const bool rotates = !options.rotate_size.empty() || !options.rotate_time.empty();
  if (rotates && !options.ring.empty()) {
    return "a flight recorder (--ring) has one file: leave out --rotate-size and --rotate-time";
  }
  if (!options.triggers.empty() && options.ring.empty()) {
    return "--trigger saves a flight recorder: give --ring SIZE, too";
  }
  if (options.keep != 0 && !rotates && options.triggers.empty()) {
    return "--keep is for --rotate-size, --rotate-time and --trigger";
  }
  if (options.keep == 1 && rotates) return "--keep 1: a rotation needs two files at least";
  if ((rotates || !options.triggers.empty()) && options.output == "-") {
    return "several files need a name: give one with -o";
  }
  return "";
}

void AddRecordOptions(Verb* verb, RecordOptions* options) {
  options->output = DefaultTraceName("acceltrace");
  verb->AddOption("-o,--output", &options->output,
                  "file to write, - for stdout [acceltrace-TIME-PID.atrace]")
      .TypeName("FILE");
  verb->AddOption("--pid", &options->pids, "record this process and what it forks; repeatable")
      .TypeName("PID");
  verb->AddFlag("--system", &options->system, "record every process");
  verb->AddOption("--device", &options->devices,
                  "only this accelerator, or device of a provider: name or PCI address")
      .TypeName("NAME");
  verb->AddFlag("--no-device", &options->no_device, "host events only");
  verb->AddOption("--probes", &options->probes,
                  "of api,usdt,driver,tracepoints,device,counters,clock; default all but usdt and "
                  "tracepoints")
      .TypeName("LIST");
  verb->AddOption("--sources", &options->sources,
                  "of the host besides: of sched,irq,pressure,memory,cpu,block,net,pcie,numa,"
                  "cgroup, or all, or none; default sched, with --system or --overhead low none")
      .TypeName("LIST");
  verb->AddFlag("--stacks", &options->stacks,
                "user stacks of API calls, by frame pointers; the calls then come by probes, which "
                "cost more");
  verb->AddOption("--counter-period", &options->counter_period,
                  "device-side counter samples: 500us, 1ms; 0 = only at start and end")
      .TypeName("TIME");
  verb->AddOption("--overhead", &options->overhead,
                  "full (default), or low: less detail of the driver, no counter samples, "
                  "see acceltraced(8)")
      .OneOf({"full", "low"})
      .TypeName("full|low");
  verb->AddOption("--ring", &options->ring, "flight recorder: keep the last SIZE (64M) in memory")
      .TypeName("SIZE");
  verb->AddOption("--trigger", &options->triggers,
                  "with --ring: save it when job>10ms, begin:NAME, range:NAME or range:NAME>20ms; "
                  "repeatable")
      .TypeName("RULE");
  verb->AddOption("--rotate-size", &options->rotate_size, "go on in the next file at this size")
      .TypeName("SIZE");
  verb->AddOption("--rotate-time", &options->rotate_time, "... and after this time")
      .TypeName("TIME");
  verb->AddOption("--keep", &options->keep,
                  "files of a rotation, then the oldest is overwritten (8); of triggers (4)")
      .InRange(uint64_t{1}, kMaxFiles)
      .TypeName("N");
  verb->AddOption("--libaxl", &options->libraries, "runtime library whose probes are attached")
      .TypeName("FILE");
}

void AddSocketOption(Verb* verb, std::string* socket) {
  *socket = kServiceSocket;
  verb->AddOption("--socket", socket, "of the capture service").TypeName("PATH").ShowDefault();
}

std::vector<std::string> DaemonArguments(const RecordOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  add("--output-name", options.output == "-" ? "stdout" : options.output);
  for (uint32_t pid : options.pids) add("--pid", std::to_string(pid));
  if (options.system) words.push_back("--system");
  for (const std::string& device : options.devices) add("--device", device);
  if (options.no_device) words.push_back("--no-device");
  if (!options.probes.empty()) add("--probes", options.probes);
  if (const std::string sources = Sources(options); !sources.empty()) add("--sources", sources);
  if (options.stacks) words.push_back("--stacks");
  for (const std::string& library : options.libraries) add("--libaxl", library);
  if (!options.counter_period.empty()) add("--counter-period", options.counter_period);
  if (!options.overhead.empty()) add("--overhead", options.overhead);
  if (!options.priority.empty()) add("--priority", options.priority);
  if (!options.cpu.empty()) add("--cpu", options.cpu);
  if (!options.share.empty()) add("--share", options.share);
  if (!options.ring.empty()) add("--ring", options.ring);
  for (const std::string& rule : options.triggers) add("--trigger", rule);
  if (!options.rotate_size.empty()) add("--rotate-size", options.rotate_size);
  if (!options.rotate_time.empty()) add("--rotate-time", options.rotate_time);
  if (options.keep != 0) add("--keep", std::to_string(options.keep));
  if (!options.command.empty()) {
    words.push_back("--");
    const std::vector<std::string> told = Told(options.command);
    words.insert(words.end(), told.begin(), told.end());
  }
  return words;
}

nlohmann::json StartCommand(const RecordOptions& options) {
  nlohmann::json start = {{"cmd", "start"}};
  if (!options.pids.empty()) start["pids"] = options.pids;
  if (options.system) start["system"] = true;
  if (!options.devices.empty()) start["devices"] = options.devices;
  if (options.no_device) start["no_device"] = true;
  if (!options.probes.empty()) start["probes"] = options.probes;
  if (const std::string sources = Sources(options); !sources.empty()) start["sources"] = sources;
  if (options.stacks) start["stacks"] = true;
  // Paths are made absolute, since relative ones would be other files for the daemon. The service
  // accepts none from an ordinary user, and does not need them: it sees what a command has mapped.
  const bool mapped = !options.command.empty() && geteuid() != 0;
  for (const std::string& library : options.libraries) {
    if (mapped) break;
    start["libraries"].push_back(std::filesystem::absolute(library).string());
  }
  if (!options.priority.empty()) start["priority"] = options.priority;
  if (!options.cpu.empty()) start["cpu"] = options.cpu;
  if (!options.counter_period.empty()) start["counter_period"] = options.counter_period;
  if (!options.overhead.empty()) start["overhead"] = options.overhead;
  if (!options.ring.empty()) start["ring"] = options.ring;
  if (!options.triggers.empty()) start["triggers"] = options.triggers;
  if (!options.rotate_size.empty()) start["rotate_size"] = options.rotate_size;
  if (!options.rotate_time.empty()) start["rotate_time"] = options.rotate_time;
  if (options.keep != 0) start["keep"] = options.keep;
  if (!options.command.empty()) start["command"] = Told(options.command);
  return start;
}

}  // namespace acceltrace::cli
