// SPDX-License-Identifier: Apache-2.0
//
// Sections and lines of a provider file. The first mistake ends it.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "libtrace/provider/provider.h"
#include "libtrace/provider/words.h"

namespace acceltrace::provider {
namespace {

enum class Section {
  kNone,
  kProvider,
  kMatch,
  kTracepoint,
  kApi,
  kCounter,
  kValue,
  kOpcodes,
  kClock
};

class Parser {
 public:
  explicit Parser(const std::string& file) { provider_.file = file; }

  Result<Provider> Run(std::string_view text) {
    if (text.size() > kMaxFileBytes) {
      return Status::Error(provider_.file + ":1: larger than 64 KiB: make two providers of it");
    }
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      if (Status status = Line(text.substr(0, end)); !status.ok()) return At(line_, status);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (Status status = EndSection(); !status.ok()) return At(section_line_, status);
    if (Status status = EndFile(); !status.ok()) return status;
    return std::move(provider_);
  }

 private:
  using Setter = Status (Parser::*)(std::string_view value);
  struct Key {
    Section section;
    const char* name;
    Setter set;
    bool needed = false, repeatable = false;
  };
  static const Key kKeys[];

  Status At(size_t line, const Status& status) const {
    return Status::Error(provider_.file + ":" + std::to_string(line) + ": " + status.message());
  }

  Status Line(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.size() > kMaxLineBytes) return Status::Error("longer than 512 bytes: make it shorter");
    for (const char c : line) {
      if ((c < ' ' && c != '\t') || c == 0x7f) {
        return Status::Error("has a control character: save the file as plain text");
      }
    }
    line = Trim(line);
    if (line.empty() || line[0] == '#') return {};
    if (line[0] == '[') return BeginSection(line);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return Status::Error(Quoted(line) +
                           " is neither [SECTION] nor KEY = VALUE: write one of them");
    }
    return Assign(Trim(line.substr(0, equals)), Trim(line.substr(equals + 1)));
  }

  Status Assign(std::string_view key, std::string_view value) {
    // A comment begins at a # after a blank.
    for (size_t at = value.find('#'); at != std::string_view::npos; at = value.find('#', at + 1)) {
      if (at > 0 && value[at - 1] != ' ' && value[at - 1] != '\t') continue;
      value = Trim(value.substr(0, at));
      break;
    }
    if (section_ == Section::kNone) {
      return Status::Error("stands before the first section: begin with [provider]");
    }
    if (value.empty()) {
      return Status::Error(std::string(key) + " has no value: write one or leave the line out");
    }
    if (section_ == Section::kOpcodes) return AddOpcode(key, value);
    std::string known;
    for (const Key& candidate : KeysOf(section_)) {
      if (candidate.name != key) {
        known += (known.empty() ? "" : ", ") + std::string(candidate.name);
        continue;
      }
      if (!seen_.insert(candidate.name).second && !candidate.repeatable) {
        return Status::Error(std::string(key) + " was already set in this section: leave one out");
      }
      return (this->*candidate.set)(value);
    }
    return Status::Error("no key " + Quoted(key) + " in [" + title_ + "]: one of " + known);
  }

  static std::vector<Key> KeysOf(Section section);

  Status BeginSection(std::string_view line);
  Status OpenSection(std::string_view kind, std::string_view name);
  Status OpenTracepoint(std::string_view name);
  Status OpenApi(std::string_view name);
  Status EndSection();
  Status EndTracepoint();
  Status EndFile();
  Status CheckValueName(const std::string& name, size_t line, bool text_too) const;
  Status AddOpcode(std::string_view key, std::string_view value);

  // What two sections of a kind must not both be called.
  template <typename T>
  Status Unique(const std::vector<T>& all, std::string_view name) const {
    const bool found =
        std::any_of(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
    if (!found) return {};
    return Status::Error(Quoted(name) + " is there twice: give the second one another name");
  }

  template <typename T, typename R>
  static Status Store(T* to, R result) {
    if (!result.ok()) return result.status();
    *to = std::move(result).value();
    return {};
  }

  Status SetFormat(std::string_view value) {
    if (value == "1") return {};
    return Status::Error("format " + Quoted(value) + " is not known here: this version reads 1");
  }
  Status SetName(std::string_view value) {
    if (!IsProviderName(value)) {
      return Status::Error(Quoted(value) + " is no name: lower-case letters, digits and - only");
    }
    provider_.name = value;
    return {};
  }
  Status SetAbout(std::string_view value) {
    provider_.about = value;
    return {};
  }
  Status SetReader(std::string_view value) {
    provider_.built_in = value == "built-in";
    if (provider_.built_in || value == "this-file") return {};
    return Status::Error("no reader " + Quoted(value) + ": one of this-file, built-in");
  }
  Status SetDrivers(std::string_view value) {
    for (const std::string_view word : Words(value)) {
      if (!IsName(word, "-.")) return Status::Error(Quoted(word) + " is no driver's name");
      provider_.match.drivers.emplace_back(word);
    }
    return {};
  }
  Status SetClasses(std::string_view value) {
    for (const std::string_view word : Words(value)) {
      ClassMatch match;
      if (Status status = Store(&match, ParseClass(word)); !status.ok()) return status;
      provider_.match.classes.push_back(match);
    }
    return {};
  }
  Status SetDevices(std::string_view value) {
    for (const std::string_view word : Words(value)) {
      PciMatch match;
      if (Status status = Store(&match, ParsePciDevice(word)); !status.ok()) return status;
      provider_.match.devices.push_back(match);
    }
    return {};
  }
  Status SetRole(std::string_view value) {
    for (const Role role : {Role::kSubmit, Role::kStart, Role::kComplete, Role::kDependency}) {
      if (value != RoleName(role)) continue;
      tracepoint().role = role;
      return {};
    }
    return Status::Error("no role " + Quoted(value) +
                         ": one of submit, start, complete, dependency");
  }
  Status SetKernel(std::string_view value) {
    return Store(&tracepoint().kernel, ParseKernels(value));
  }
  Status AddWhere(std::string_view value) {
    if (tracepoint().where.size() >= kMaxConditions) {
      return Status::Error("more than 4 conditions: leave some out");
    }
    auto condition = ParseCondition(value);
    if (!condition.ok()) return condition.status();
    tracepoint().where.push_back(std::move(condition).value());
    return {};
  }
  Status SetQueue(std::string_view value) { return Store(&tracepoint().queue, ParseField(value)); }
  Status SetJob(std::string_view value) { return Store(&tracepoint().job, ParseField(value)); }
  Status SetOpcode(std::string_view value) {
    return Store(&tracepoint().opcode, ParseField(value));
  }
  Status SetStatus(std::string_view value) {
    return Store(&tracepoint().status, ParseField(value));
  }
  Status SetWaitsFor(std::string_view value) {
    return Store(&tracepoint().waits_for, ParseField(value));
  }
  Status SetWaitsForQueue(std::string_view value) {
    return Store(&tracepoint().waits_for_queue, ParseField(value));
  }
  Status SetBytes(std::string_view value) { return Store(&tracepoint().bytes, ParseBytes(value)); }
  Status SetBytesOpcodes(std::string_view value) {
    for (const std::string_view word : Words(value)) {
      const auto number = ParseNumber(word);
      if (!number.ok()) return number.status();
      if (*number >= kMaxOpcodes) {
        return Status::Error(Quoted(word) + " is no opcode: they go from 0 to 255");
      }
      tracepoint().bytes_opcodes.push_back(static_cast<uint32_t>(*number));
    }
    return {};
  }
  Status SetKind(std::string_view value);
  Status SetStream(std::string_view value) {
    return Store(&provider_.functions.back().stream, ParseArgument(value));
  }
  Status SetApiBytes(std::string_view value) {
    return Store(&provider_.functions.back().bytes, ParseArgument(value));
  }
  Status SetDirection(std::string_view value) {
    if (value != "to-device" && value != "from-device" && value != "within" &&
        !ParseArgument(value).ok()) {
      return Status::Error("no direction " + Quoted(value) +
                           ": one of to-device, from-device, within, argN");
    }
    provider_.functions.back().direction = value;
    return {};
  }
  Status SetWaits(std::string_view value) {
    if (value != "yes" && value != "no") {
      return Status::Error(Quoted(value) + " is neither yes nor no: write one of them");
    }
    provider_.functions.back().waits = value == "yes";
    return {};
  }
  Status SetCounterFile(std::string_view value) {
    provider_.counters.back().file = value;
    return CheckPath(value);
  }
  Status SetPmu(std::string_view value) {
    provider_.counters.back().pmu = value;
    const auto parts = Words(value, "/");
    if (parts.size() == 2 && IsName(parts[0], "-") && value.back() == '/') return {};
    return Status::Error(Quoted(value) + " is no perf event: write PMU/EVENT/");
  }
  Status SetUnit(std::string_view value) {
    provider_.counters.back().unit = value;
    if (IsName(value, "/%")) return {};
    return Status::Error(Quoted(value) + " is no unit: write one word, as in bytes");
  }
  Status SetCounts(std::string_view value) {
    provider_.counters.back().gauge = value == "gauge";
    if (value == "gauge" || value == "count") return {};
    return Status::Error("no kind " + Quoted(value) + ": one of count, gauge");
  }
  Status SetValueFile(std::string_view value) {
    provider_.values.back().file = value;
    return CheckPath(value);
  }
  Status SetValueEntry(std::string_view value) {
    provider_.values.back().entry = value;
    if (std::count(value.begin(), value.end(), '#') != 1) {
      return Status::Error(Quoted(value) + " needs one # where the number stands, as in nvme#");
    }
    return CheckPath(value);
  }
  Status SetSource(std::string_view value) {
    using Source = Clock::Source;
    for (const auto& [name, source] :
         {std::pair{"host", Source::kHost}, {"ptp", Source::kPtp}, {"driver", Source::kDriver}}) {
      if (value != name) continue;
      provider_.clock.source = source;
      return {};
    }
    return Status::Error("no clock source " + Quoted(value) + ": one of host, ptp, driver");
  }
  Status SetClockDevice(std::string_view value) {
    provider_.clock.device = value;
    return CheckPath(value);
  }

  Tracepoint& tracepoint() { return provider_.tracepoints.back(); }

  Provider provider_;
  Section section_ = Section::kNone;
  std::string title_;
  size_t line_ = 0, section_line_ = 0, sections_ = 0;
  std::set<std::string_view> seen_;  // keys of this section
  std::set<std::string> singles_;    // sections that may be there once
};

const Parser::Key Parser::kKeys[] = {
    {Section::kProvider, "format", &Parser::SetFormat, true},
    {Section::kProvider, "name", &Parser::SetName, true},
    {Section::kProvider, "about", &Parser::SetAbout, true},
    {Section::kProvider, "reader", &Parser::SetReader},
    {Section::kMatch, "driver", &Parser::SetDrivers},
    {Section::kMatch, "class", &Parser::SetClasses},
    {Section::kMatch, "device", &Parser::SetDevices},
    {Section::kTracepoint, "role", &Parser::SetRole, true},
    {Section::kTracepoint, "kernel", &Parser::SetKernel},
    {Section::kTracepoint, "where", &Parser::AddWhere, false, true},
    {Section::kTracepoint, "queue", &Parser::SetQueue},
    {Section::kTracepoint, "job", &Parser::SetJob, true},
    {Section::kTracepoint, "opcode", &Parser::SetOpcode},
    {Section::kTracepoint, "status", &Parser::SetStatus},
    {Section::kTracepoint, "waits-for", &Parser::SetWaitsFor},
    {Section::kTracepoint, "waits-for-queue", &Parser::SetWaitsForQueue},
    {Section::kTracepoint, "bytes", &Parser::SetBytes},
    {Section::kTracepoint, "bytes-opcodes", &Parser::SetBytesOpcodes},
    {Section::kApi, "kind", &Parser::SetKind, true},
    {Section::kApi, "stream", &Parser::SetStream},
    {Section::kApi, "bytes", &Parser::SetApiBytes},
    {Section::kApi, "direction", &Parser::SetDirection},
    {Section::kApi, "waits", &Parser::SetWaits},
    {Section::kCounter, "file", &Parser::SetCounterFile},
    {Section::kCounter, "pmu", &Parser::SetPmu},
    {Section::kCounter, "unit", &Parser::SetUnit, true},
    {Section::kCounter, "kind", &Parser::SetCounts},
    {Section::kValue, "file", &Parser::SetValueFile},
    {Section::kValue, "entry", &Parser::SetValueEntry},
    {Section::kClock, "source", &Parser::SetSource, true},
    {Section::kClock, "device", &Parser::SetClockDevice},
};

std::vector<Parser::Key> Parser::KeysOf(Section section) {
  std::vector<Key> keys;
  for (const Key& key : kKeys) {
    if (key.section == section) keys.push_back(key);
  }
  return keys;
}

Status Parser::BeginSection(std::string_view line) {
  if (Status status = EndSection(); !status.ok()) {
    // Told of the section that it is about.
    line_ = section_line_;
    return status;
  }
  if (line.back() != ']') {
    return Status::Error(Quoted(line) + " has no ] at its end: close the section's name");
  }
  if (++sections_ > kMaxSections) {
    return Status::Error("more than 512 sections: make two providers of it");
  }
  seen_.clear();
  section_line_ = line_;
  title_ = Trim(line.substr(1, line.size() - 2));
  const auto words = Words(title_, " \t");
  if (words.empty()) return Status::Error("a section without a name: write [provider]");
  if (words.size() > 2) {
    return Status::Error(Quoted(title_) + " has too many words: write [KIND NAME]");
  }
  if (sections_ == 1 && words[0] != "provider") {
    return Status::Error("[" + title_ + "] stands first: begin with [provider]");
  }
  return OpenSection(words[0], words.size() == 2 ? words[1] : std::string_view());
}

Status Parser::OpenSection(std::string_view kind, std::string_view name) {
  struct Single {
    const char* name;
    Section section;
  };
  for (const Single& single : {Single{"provider", Section::kProvider},
                               {"match", Section::kMatch},
                               {"opcodes", Section::kOpcodes},
                               {"clock", Section::kClock}}) {
    if (kind != single.name) continue;
    if (!name.empty()) {
      return Status::Error("[" + std::string(kind) + "] takes no name: leave " + Quoted(name) +
                           " out");
    }
    if (!singles_.insert(single.name).second) {
      return Status::Error("[" + title_ + "] is there twice: put all into the first one");
    }
    section_ = single.section;
    if (section_ == Section::kMatch) provider_.match.line = line_;
    return {};
  }
  const bool named = kind == "tracepoint" || kind == "api" || kind == "counter" || kind == "value";
  if (!named) {
    return Status::Error("no section " + Quoted(kind) +
                         ": one of provider, match, tracepoint, api, counter, value, opcodes, "
                         "clock");
  }
  if (name.empty()) {
    return Status::Error("[" + std::string(kind) + "] needs a name: write [" + std::string(kind) +
                         " NAME]");
  }
  if (kind == "tracepoint") return OpenTracepoint(name);
  if (kind == "api") return OpenApi(name);
  if (!IsName(name, "-")) {
    return Status::Error(Quoted(name) + " is no name: letters, digits, _ and - only");
  }
  if (kind == "counter") {
    section_ = Section::kCounter;
    if (Status status = Unique(provider_.counters, name); !status.ok()) return status;
    Counter counter;
    counter.name = name, counter.line = line_;
    provider_.counters.push_back(std::move(counter));
    return {};
  }
  section_ = Section::kValue;
  if (name == "address" || name == "driver") {
    return Status::Error(Quoted(name) + " is known of each device: choose another name");
  }
  if (Status status = Unique(provider_.values, name); !status.ok()) return status;
  Value value;
  value.name = name, value.line = line_;
  provider_.values.push_back(std::move(value));
  return {};
}

Status Parser::OpenTracepoint(std::string_view name) {
  section_ = Section::kTracepoint;
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos || !IsName(name.substr(0, colon), "-") ||
      !IsName(name.substr(colon + 1), "-")) {
    return Status::Error(Quoted(name) +
                         " is no tracepoint: write SYSTEM:NAME as in "
                         "/sys/kernel/tracing/available_events");
  }
  Tracepoint point;
  point.system = name.substr(0, colon), point.name = name.substr(colon + 1);
  point.line = line_;
  provider_.tracepoints.push_back(std::move(point));
  return {};
}

Status Parser::OpenApi(std::string_view name) {
  section_ = Section::kApi;
  const size_t colon = name.rfind(':');
  if (colon == std::string_view::npos || !IsName(name.substr(0, colon), "-.+") ||
      !IsName(name.substr(colon + 1))) {
    return Status::Error(Quoted(name) +
                         " is no function: write LIBRARY:FUNCTION, as in "
                         "libm.so.6:cos");
  }
  ApiFunction function;
  function.library = name.substr(0, colon), function.name = name.substr(colon + 1);
  function.line = line_;
  for (const ApiFunction& other : provider_.functions) {
    if (other.name != function.name || other.library != function.library) continue;
    return Status::Error(Quoted(name) + " is there twice: leave one out");
  }
  provider_.functions.push_back(std::move(function));
  return {};
}

Status Parser::SetKind(std::string_view value) {
  using Kind = ApiFunction::Kind;
  constexpr std::pair<const char*, Kind> kKinds[] = {
      {"launch", Kind::kLaunch},     {"copy", Kind::kCopy}, {"wait", Kind::kWait},
      {"allocate", Kind::kAllocate}, {"free", Kind::kFree}, {"other", Kind::kOther}};
  for (const auto& [name, kind] : kKinds) {
    if (value != name) continue;
    provider_.functions.back().kind = kind;
    if (kind == Kind::kWait) provider_.functions.back().waits = true;
    return {};
  }
  return Status::Error("no kind " + Quoted(value) +
                       ": one of launch, copy, wait, allocate, free, other");
}

Status Parser::AddOpcode(std::string_view key, std::string_view value) {
  const auto number = ParseNumber(key);
  if (!number.ok()) return number.status();
  if (*number >= kMaxOpcodes) {
    return Status::Error(Quoted(key) + " is no opcode: they go from 0 to 255");
  }
  if (!IsName(value, "-")) {
    return Status::Error(Quoted(value) + " is no name: letters, digits, _ and - only");
  }
  if (!provider_.opcodes.emplace(static_cast<uint32_t>(*number), value).second) {
    return Status::Error("opcode " + std::string(key) + " was already named: leave one out");
  }
  return {};
}

Status Parser::EndSection() {
  for (const Key& key : KeysOf(section_)) {
    if (key.needed && seen_.count(key.name) == 0) {
      return Status::Error("[" + title_ + "] lacks " + key.name + ": add a line " + key.name +
                           " = ...");
    }
  }
  switch (section_) {
    case Section::kMatch:
      if (seen_.empty()) {
        return Status::Error("[match] is empty: add driver, class or device");
      }
      return {};
    case Section::kTracepoint:
      return EndTracepoint();
    case Section::kCounter:
      if (provider_.counters.back().file.empty() != provider_.counters.back().pmu.empty()) {
        return {};
      }
      return Status::Error("[" + title_ + "] needs a file or a pmu: write one of the two");
    case Section::kValue:
      if (provider_.values.back().file.empty() != provider_.values.back().entry.empty()) return {};
      return Status::Error("[" + title_ + "] needs a file or an entry: write one of the two");
    case Section::kClock:
      if ((provider_.clock.source == Clock::Source::kPtp) != provider_.clock.device.empty()) {
        return {};
      }
      return Status::Error("a clock of source ptp, and no other, has a device: write device = ptp");
    default:
      return {};
  }
}

Status Parser::EndTracepoint() {
  const Tracepoint& point = tracepoint();
  const bool submits = point.role == Role::kSubmit;
  if ((point.bytes || point.opcode) && !submits) {
    return Status::Error(
        "bytes and opcode are of a submission: move them to the tracepoint of "
        "role submit");
  }
  if (!point.bytes_opcodes.empty() && !(point.bytes && point.opcode)) {
    return Status::Error("bytes-opcodes needs bytes and opcode: add them, or leave it out");
  }
  if (point.status && point.role != Role::kComplete) {
    return Status::Error("status is of a completion: move it to the tracepoint of role complete");
  }
  if (point.waits_for.has_value() != (point.role == Role::kDependency)) {
    return Status::Error(
        "waits-for belongs to role dependency, and to no other: say what the job "
        "waits for");
  }
  if (point.waits_for_queue && !point.waits_for) {
    return Status::Error("waits-for-queue without waits-for: add it");
  }
  return {};
}

Status Parser::CheckValueName(const std::string& name, size_t line, bool text_too) const {
  if (name.empty() || (text_too && (name == "address" || name == "driver"))) return {};
  for (const Value& value : provider_.values) {
    if (value.name == name) return {};
  }
  return At(line, Status::Error("no [value " + name + "] in this file: add the section"));
}

Status Parser::EndFile() {
  if (sections_ == 0) {
    return At(1, Status::Error("is empty: begin with [provider], see docs/providers.md"));
  }
  const auto has = [&](Role role) {
    return std::any_of(provider_.tracepoints.begin(), provider_.tracepoints.end(),
                       [&](const Tracepoint& point) { return point.role == role; });
  };
  for (const Tracepoint& point : provider_.tracepoints) {
    for (const Condition& condition : point.where) {
      if (Status s = CheckValueName(condition.name, point.line, true); !s.ok()) return s;
    }
    if (!point.bytes) continue;
    if (Status s = CheckValueName(point.bytes->times_name, point.line, false); !s.ok()) return s;
  }
  if (!provider_.tracepoints.empty()) {
    for (const Role role : {Role::kSubmit, Role::kComplete}) {
      if (has(role)) continue;
      return At(provider_.tracepoints.front().line,
                Status::Error(std::string("no tracepoint of role ") + RoleName(role) +
                              ": jobs are pairs of submit and complete, add one"));
    }
  }
  if (provider_.match.line == 0 && provider_.functions.empty()) {
    return At(1, Status::Error("neither [match] nor [api]: say which devices this is about"));
  }
  if (provider_.match.line == 0 && !provider_.tracepoints.empty()) {
    return At(provider_.tracepoints.front().line,
              Status::Error("tracepoints of no device: add a section [match]"));
  }
  return {};
}

}  // namespace

const char* RoleName(Role role) {
  constexpr const char* kNames[kNumRoles] = {"submit", "start", "complete", "dependency"};
  return kNames[static_cast<size_t>(role)];
}

Result<Provider> Parse(std::string_view text, const std::string& file) {
  return Parser(file).Run(text);
}

Result<Provider> ReadProvider(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) {
    return Status::Error(file + ": cannot be read: check its path and permissions");
  }
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.empty() && !stream.eof()) {
    return Status::Error(file + ": is no file that can be read: name a file");
  }
  return Parse(text, file);
}

}  // namespace acceltrace::provider
