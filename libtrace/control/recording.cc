// SPDX-License-Identifier: Apache-2.0
#include "libtrace/control/recording.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <set>
#include <utility>

#include "libtrace/base/part_name.h"
#include "libtrace/control/quantities.h"

namespace acceltrace::control {
namespace {

constexpr uint64_t kMinCounterPeriodNs = 10'000;
// The tables and clock samples at the start of a file should be a small part of it.
constexpr uint64_t kMinRotateBytes = 1 << 20;
constexpr uint64_t kMinRotateNs = 1'000'000'000;
constexpr uint32_t kRotatedFiles = 8;    // default of --keep
constexpr uint32_t kTriggeredFiles = 4;  // default of --keep
constexpr size_t kMaxItems = 1024;       // per list
constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kShownBytes = 64;

constexpr struct {
  std::string_view name;
  SystemSource source;
} kSources[] = {
    {"sched", kSourceSched},   {"irq", kSourceIrq},   {"pressure", kSourcePressure},
    {"memory", kSourceMemory}, {"cpu", kSourceCpu},   {"block", kSourceBlock},
    {"net", kSourceNet},       {"pcie", kSourcePcie}, {"numa", kSourceNuma},
    {"cgroup", kSourceCgroup},
};

constexpr struct {
  std::string_view name;
  bool ProbeSet::*wanted;
} kProbes[] = {
    {"api", &ProbeSet::api},       {"usdt", &ProbeSet::usdt},
    {"driver", &ProbeSet::driver}, {"tracepoints", &ProbeSet::tracepoints},
    {"device", &ProbeSet::device}, {"counters", &ProbeSet::counters},
    {"clock", &ProbeSet::clock},
};

std::string Shown(std::string_view text) { return std::string(text.substr(0, kShownBytes)); }

Status Bad(std::string_view option, std::string_view value, const std::string& wanted) {
  return Status::Error(std::string(option) + " " + Shown(value) + ": " + wanted);
}

bool ParseInt(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Calls use(name) for each part of a list until one returns false. Returns whether none did.
template <typename Use>
bool ForEachName(std::string_view list, const Use& use) {
  for (;;) {
    const size_t comma = list.find(',');
    if (!use(list.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

std::optional<Priority> ParsePriority(std::string_view text) {
  Priority priority;
  priority.required = text == "idle";
  if (priority.required || text == "auto") return priority;
  priority.idle = false;
  if (text == "normal") return priority;
  if (!ParseInt(text, &priority.nice) || priority.nice < -20 || priority.nice > 19) return {};
  return priority;
}

// Parses a list of processors in the kernel's format, such as 0,2-5. Returns an empty list if the
// text is not one.
std::vector<int> ParseCpus(std::string_view list) {
  std::set<int> cpus;
  const bool good = ForEachName(list, [&](std::string_view part) {
    const size_t dash = part.find('-');
    int first = -1, last = -1;
    if (!ParseInt(part.substr(0, dash), &first) || first < 0) return false;
    last = first;
    if (dash != std::string_view::npos && !ParseInt(part.substr(dash + 1), &last)) return false;
    if (last < first || last >= CPU_SETSIZE) return false;
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    return true;
  });
  if (!good) return {};
  return {cpus.begin(), cpus.end()};
}

Result<ProbeSet> ParseProbes(std::string_view list) {
  ProbeSet probes = {false, false, false, false, false, false, false};
  std::string_view unknown;
  const bool good = ForEachName(list, [&](std::string_view name) {
    const auto* found = std::find_if(std::begin(kProbes), std::end(kProbes),
                                     [&](const auto& probe) { return probe.name == name; });
    unknown = name;
    if (found == std::end(kProbes)) return false;
    probes.*found->wanted = true;
    return true;
  });
  if (good) return probes;
  return Status::Error("no probes called '" + Shown(unknown) +
                       "'; there are api, usdt, driver, tracepoints, device, counters and clock");
}

// "default" is sched, whose absence is only reported in the trace.
Result<uint32_t> ParseSources(std::string_view list) {
  if (list == "default") return kSourceSched | kSourceQuiet;
  uint32_t sources = 0;
  std::string_view unknown;
  const bool good = ForEachName(list, [&](std::string_view name) {
    uint32_t found = 0;
    for (const auto& known : kSources) {
      if (name == known.name || name == "all") found |= known.source;
    }
    sources |= found;
    unknown = name;
    return found != 0;
  });
  if (good) return sources;
  std::string all;
  for (const auto& known : kSources) all += std::string(known.name) + ", ";
  return Status::Error("no source called '" + Shown(unknown) + "'; there are " + all + "and all");
}

// Checks the lists of a request and their sizes.
Status CheckLists(const proto::RecordRequest& request, Recording* recording) {
  const std::pair<const char*, int> sizes[] = {{"--pid", request.pids_size()},
                                               {"--device", request.devices_size()},
                                               {"--libaxl", request.libraries_size()}};
  for (const auto& [option, size] : sizes) {
    if (static_cast<size_t>(size) <= kMaxItems) continue;
    return Status::Error(std::string(option) + ": more than " + std::to_string(kMaxItems));
  }
  for (const uint32_t pid : request.pids()) {
    if (pid == 0 || pid > INT_MAX) return Bad("--pid", std::to_string(pid), kNoPid);
  }
  recording->pids.assign(request.pids().begin(), request.pids().end());
  recording->devices.assign(request.devices().begin(), request.devices().end());
  recording->libraries.assign(request.libraries().begin(), request.libraries().end());
  recording->command.assign(request.command().begin(), request.command().end());
  return {};
}

Status CheckKinds(const proto::RecordRequest& request, Recording* recording) {
  if (!request.probes().empty()) {
    const auto probes = ParseProbes(request.probes());
    if (!probes.ok()) return probes.status();
    recording->probes = *probes;
  }
  if (!request.sources().empty()) {
    const auto sources = ParseSources(request.sources());
    if (!sources.ok()) return sources.status();
    recording->sources = *sources;
  }
  if (const std::string& text = request.overhead(); !text.empty()) {
    if (text != "full" && text != "low") return Bad("--overhead", text, "neither full nor low");
    recording->light = text == "low";
  }
  if (const std::string& text = request.priority(); !text.empty()) {
    const auto priority = ParsePriority(text);
    if (!priority) {
      return Bad("--priority", text, "not auto, idle, normal or a nice value from -20 to 19");
    }
    recording->priority = *priority;
  }
  if (const std::string& text = request.cpu(); !text.empty()) {
    recording->cpus = ParseCpus(text);
    if (recording->cpus.empty()) {
      return Bad("--cpu", text, "not a list of processors such as 0,2-5");
    }
  }
  return {};
}

Status CheckQuantities(const proto::RecordRequest& request, Recording* recording) {
  constexpr uint64_t kAny = UINT64_MAX;
  uint64_t period_ns = 0;
  const struct {
    const char* option;
    const std::string& text;
    std::optional<uint64_t> (*parse)(std::string_view);
    uint64_t min, max;
    uint64_t* value;
    const char* wanted;
  } quantities[] = {
      {"--counter-period", request.counter_period(), ParseDurationNs, kMinCounterPeriodNs, kAny,
       &period_ns, "not a duration of at least 10us (such as 500us, 1ms), or 0"},
      {"--ring", request.ring(), ParseBytes, kMinRingBytes, kMaxRingBytes, &recording->ring_bytes,
       "not a size from 64K to 64G"},
      {"--rotate-size", request.rotate_size(), ParseBytes, kMinRotateBytes, kAny,
       &recording->rotate_bytes, "not a size of at least 1M"},
      {"--rotate-time", request.rotate_time(), ParseDurationNs, kMinRotateNs, kAny,
       &recording->rotate_ns, "not a duration of at least 1s"},
  };
  for (const auto& each : quantities) {
    if (each.text.empty()) continue;
    const auto value = each.parse(each.text);
    const bool none = value == 0 && each.value == &period_ns;
    if (!value || (!none && (*value < each.min || *value > each.max))) {
      return Bad(each.option, each.text, each.wanted);
    }
    *each.value = *value;
  }
  if (!request.counter_period().empty()) recording->counter_period_ns = period_ns;
  return {};
}

Status CheckFiles(const proto::RecordRequest& request, Recording* recording) {
  for (const std::string& text : request.triggers()) {
    auto rule = ParseTrigger(text);
    if (!rule.ok()) return rule.status();
    if (recording->triggers.size() >= kMaxTriggers) {
      return Bad("--trigger", text, "more than " + std::to_string(kMaxTriggers) + " rules");
    }
    recording->triggers.push_back(std::move(rule).value());
  }
  recording->keep = request.keep();
  if (recording->keep > kMaxFiles) {
    return Bad("--keep", std::to_string(recording->keep), kNoFiles);
  }
  const bool rotates = recording->rotate_bytes != 0 || recording->rotate_ns != 0;
  if (rotates && recording->ring_bytes != 0) {
    return Status::Error(
        "a flight recorder (--ring) has one file: leave out --rotate-size and --rotate-time");
  }
  if (!recording->triggers.empty() && recording->ring_bytes == 0) {
    return Status::Error("--trigger saves a flight recorder: give --ring SIZE, too");
  }
  if (recording->keep != 0 && !rotates && recording->triggers.empty()) {
    return Status::Error("--keep is for --rotate-size, --rotate-time and --trigger");
  }
  if (recording->keep == 1 && rotates) {
    return Status::Error("--keep 1: a rotation needs two files at least");
  }
  return {};
}

}  // namespace

Result<TriggerRule> ParseTrigger(std::string_view text) {
  constexpr std::string_view kBegin = "begin:", kRange = "range:";
  const Status bad = Status::Error(
      "no rule '" + Shown(text) + "'; rules are job>10ms, begin:NAME, range:NAME, range:NAME>20ms");
  TriggerRule rule;
  rule.text = text;
  if (text.starts_with(kBegin)) {
    rule.kind = TriggerRule::Kind::kRangeBegin;
    rule.range = text.substr(kBegin.size());
    if (rule.range.empty() || rule.range.size() > kMaxNameBytes) return bad;
    return rule;
  }
  // The name of a range may contain a '>': the text after the last one is a time, or part of the
  // name.
  const size_t more = text.rfind('>');
  std::optional<uint64_t> least_ns;
  if (more != std::string_view::npos) least_ns = ParseDurationNs(text.substr(more + 1));
  if (text.starts_with(kRange)) {
    rule.kind = TriggerRule::Kind::kRangeEnd;
    text = text.substr(0, least_ns ? more : text.size());
    rule.range = text.substr(kRange.size());
    rule.min_ns = static_cast<int64_t>(least_ns.value_or(0));
    if (rule.range.empty() || rule.range.size() > kMaxNameBytes) return bad;
    return rule;
  }
  if (!least_ns || *least_ns == 0 || text.substr(0, more) != "job") return bad;
  rule.min_ns = static_cast<int64_t>(*least_ns);
  return rule;
}

Result<Recording> Check(const proto::RecordRequest& request) {
  Recording recording;
  recording.system_wide = request.system();
  recording.no_device = request.no_device();
  recording.stacks = request.stacks();
  for (const auto check : {CheckLists, CheckKinds, CheckQuantities, CheckFiles}) {
    if (const Status status = check(request, &recording); !status.ok()) return status;
  }
  return recording;
}

uint32_t MoreFiles(const Recording& recording) {
  if (!recording.triggers.empty()) return recording.keep != 0 ? recording.keep : kTriggeredFiles;
  if (recording.rotate_bytes == 0 && recording.rotate_ns == 0) return 0;
  return (recording.keep != 0 ? recording.keep : kRotatedFiles) - 1;
}

std::string MoreFileName(const Recording& recording, const std::string& output, uint32_t number) {
  if (!recording.triggers.empty()) {
    return PartName(output, "trigger-" + std::to_string(number + 1));
  }
  return PartName(output, std::to_string(number + 2));
}

uint64_t CounterPeriodNs(const Recording& recording) {
  constexpr uint64_t kPeriodNs = 1'000'000;
  return recording.counter_period_ns.value_or(recording.light ? 0 : kPeriodNs);
}

}  // namespace acceltrace::control
