// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/control.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/base/quantities.h"
#include "daemon/sources/system/system_names.h"

namespace acceltrace::daemon {
namespace {

using nlohmann::json;

constexpr size_t kMaxItems = 1024;  // of a list
constexpr uint64_t kMaxRingBytes = uint64_t{1} << 30;

// Which members each verb knows, besides cmd and id.
const std::map<std::string_view, std::pair<Command::Verb, std::set<std::string_view>>>& Verbs() {
  static const auto* verbs =
      new std::map<std::string_view, std::pair<Command::Verb, std::set<std::string_view>>>{
          {"start",
           {Command::Verb::kStart,
            {"pids",        "system",         "devices",  "no_device", "probes",
             "libraries",   "counter_period", "overhead", "sources",   "ring",
             "command",     "output",         "detach",   "priority",  "cpu",
             "rotate_size", "rotate_time",    "keep",     "triggers",  "stacks"}}},
          {"pid", {Command::Verb::kPid, {"session", "pid"}}},
          {"stop", {Command::Verb::kStop, {"session", "status"}}},
          {"status", {Command::Verb::kStatus, {}}},
          {"snapshot", {Command::Verb::kSnapshot, {"session", "output"}}},
          {"live", {Command::Verb::kLive, {"session"}}},
      };
  return *verbs;
}

// Reads members of one object; the first thing that is wrong stays.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}

  const Status& status() const { return status_; }

  template <typename T>
  void Number(const char* name, int64_t min, int64_t max, T* value) {
    const json* member = Find(name);
    if (member == nullptr) return;
    if (!member->is_number_integer() ||
        (member->is_number_unsigned() && member->get<uint64_t>() > static_cast<uint64_t>(max)) ||
        member->get<int64_t>() < min || member->get<int64_t>() > max) {
      return Fail(name,
                  "is not a number from " + std::to_string(min) + " to " + std::to_string(max));
    }
    *value = member->get<T>();
  }

  void Flag(const char* name, bool* value) {
    const json* member = Find(name);
    if (member == nullptr) return;
    if (!member->is_boolean()) return Fail(name, "is not true or false");
    *value = member->get<bool>();
  }

  void Text(const char* name, std::string* value) {
    const json* member = Find(name);
    if (member == nullptr) return;
    if (!IsText(*member)) return Fail(name, "is not a string");
    *value = member->get<std::string>();
  }

  void Texts(const char* name, std::vector<std::string>* values) {
    const json* member = List(name);
    if (member == nullptr) return;
    for (const json& item : *member) {
      if (!IsText(item)) return Fail(name, "has an item that is not a string");
      values->push_back(item.get<std::string>());
    }
  }

  void Pids(const char* name, std::vector<uint32_t>* values) {
    const json* member = List(name);
    if (member == nullptr) return;
    for (const json& item : *member) {
      if (!item.is_number_unsigned() || item.get<uint64_t>() == 0 ||
          item.get<uint64_t>() > INT32_MAX) {
        return Fail(name, "has an item that is not a process id");
      }
      values->push_back(item.get<uint32_t>());
    }
  }

  void Fail(const char* name, const std::string& what) {
    if (status_.ok()) status_ = Status::Error("'" + std::string(name) + "' " + what);
  }

 private:
  // A NUL inside would end a path early.
  static bool IsText(const json& value) {
    return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
  }
  const json* Find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  const json* List(const char* name) {
    const json* member = Find(name);
    if (member == nullptr) return nullptr;
    if (!member->is_array() || member->size() > kMaxItems) {
      Fail(name, "is not a list of at most " + std::to_string(kMaxItems) + " items");
      return nullptr;
    }
    return member;
  }

  const json& object_;
  Status status_;
};

// As the options of the same names.
void ReadFiles(Members* members, RecordOptions* record) {
  std::string size, time;
  std::vector<std::string> triggers;
  members->Text("rotate_size", &size);
  members->Text("rotate_time", &time);
  members->Texts("triggers", &triggers);
  members->Number("keep", 1, kMaxFiles, &record->keep);
  const auto read = [&](const char* member, std::string_view option, const std::string& value) {
    bool known = false;
    const Status status = ParseFileOption(option, value, record, &known);
    if (!status.ok()) members->Fail(member, "is wrong: " + status.message());
  };
  if (!size.empty()) read("rotate_size", "--rotate-size", size);
  if (!time.empty()) read("rotate_time", "--rotate-time", time);
  for (const std::string& rule : triggers) read("triggers", "--trigger", rule);
}

void ReadStart(Members* members, Command* command) {
  RecordOptions& record = command->record;
  members->Pids("pids", &record.pids);
  members->Flag("system", &record.system_wide);
  members->Texts("devices", &record.devices);
  members->Flag("no_device", &record.no_device);
  members->Flag("stacks", &record.stacks);
  members->Texts("libraries", &record.libraries);
  members->Texts("command", &record.command);
  members->Flag("detach", &command->detach);
  members->Text("output", &command->output);
  std::string probes, period, ring, overhead, priority, cpu, sources;
  members->Text("sources", &sources);
  if (!sources.empty()) {
    auto parsed = ParseSystemSources(sources);
    if (parsed.ok()) {
      record.sources = *parsed;
    } else {
      members->Fail("sources", "is wrong: " + parsed.message());
    }
  }
  members->Text("probes", &probes);
  members->Text("counter_period", &period);
  members->Text("ring", &ring);
  members->Text("overhead", &overhead);
  if (!overhead.empty() && !ParseOverhead(overhead, &record).ok()) {
    members->Fail("overhead", "is neither full nor low");
  }
  members->Text("priority", &priority);
  members->Text("cpu", &cpu);
  if (!priority.empty()) {
    auto parsed = ParsePriority(priority);
    if (parsed.ok()) {
      record.priority = *parsed;
    } else {
      members->Fail("priority", "is " + parsed.message());
    }
  }
  if (!cpu.empty()) {
    auto parsed = ParseCpus(cpu);
    if (parsed.ok()) {
      record.cpus = std::move(parsed).value();
    } else {
      members->Fail("cpu", "is " + parsed.message());
    }
  }
  if (!probes.empty()) {
    auto parsed = ParseProbes(probes);
    if (parsed.ok()) {
      record.probes = *parsed;
    } else {
      members->Fail("probes", "is wrong: " + parsed.message());
    }
  }
  if (!period.empty()) {
    const auto parsed = ParseDurationNs(period);
    if (!parsed || (*parsed != 0 && *parsed < kMinCounterPeriodNs)) {
      members->Fail("counter_period", "is not 0 or a duration of at least 10us");
    } else {
      record.counter_period_ns = *parsed;
    }
  }
  if (!ring.empty()) {
    const auto parsed = ParseBytes(ring);
    if (!parsed || *parsed < kMinRingBytes || *parsed > kMaxRingBytes) {
      members->Fail("ring", "is not a size from 64K to 1G");
    } else {
      record.ring_bytes = *parsed;
    }
  }
  ReadFiles(members, &record);
}

}  // namespace

Result<Command> ParseCommand(std::string_view line, uint64_t* id) {
  const json object = json::parse(line, nullptr, false);
  if (object.is_discarded() || !object.is_object()) {
    return Status::Error("a command is one JSON object on a line");
  }
  Command command;
  Members members(object);
  members.Number("id", 0, INT64_MAX, &command.id);
  if (!members.status().ok()) return members.status();
  *id = command.id;
  std::string name;
  members.Text("cmd", &name);
  const auto verb = Verbs().find(name);
  if (verb == Verbs().end()) {
    return Status::Error("no command '" + name.substr(0, 32) +
                         "'; there are start, pid, stop, status, snapshot and live");
  }
  command.verb = verb->second.first;
  const auto& known = verb->second.second;
  for (const auto& [member, value] : object.items()) {
    if (member != "cmd" && member != "id" && known.count(member) == 0) {
      return Status::Error("'" + name + "' has no member '" + member.substr(0, 32) + "'");
    }
  }
  if (known.count("session") != 0) {
    // 0, or none: the newest one that the client may see.
    members.Number("session", 0, UINT32_MAX, &command.session);
  }
  if (command.verb == Command::Verb::kStart) {
    ReadStart(&members, &command);
    const Status files = CheckFileOptions(command.record);
    if (members.status().ok() && !files.ok()) return files;
  }
  if (command.verb == Command::Verb::kPid) {
    members.Number("pid", 1, INT32_MAX, &command.pid);
    if (command.pid == 0) members.Fail("pid", "is missing");
  }
  if (command.verb == Command::Verb::kStop) {
    members.Number("status", INT32_MIN, INT32_MAX, &command.status);
  }
  if (command.verb == Command::Verb::kSnapshot) members.Text("output", &command.output);
  if (!members.status().ok()) return members.status();
  return command;
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
