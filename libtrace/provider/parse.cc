// SPDX-License-Identifier: Apache-2.0
//
// Parses the sections and lines of a provider file. Parsing ends at the first error.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "libtrace/base/byte_order_mark.h"
#include "libtrace/provider/parser.h"

namespace acceltrace::provider {

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
    {Section::kCounter, "debugfs", &Parser::SetDebugfs},
    {Section::kCounter, "pmu", &Parser::SetPmu},
    {Section::kCounter, "scale", &Parser::SetScale},
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
    // The error is reported at the section that it is about.
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
                         "libm.so.6:cos, or kernel:CALL, as in kernel:pread64");
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

Status Parser::SetApiArgument(std::optional<Argument>* to, std::string_view value) {
  if (Status status = Store(to, ParseArgument(value)); !status.ok()) return status;
  if (provider_.functions.back().library != kKernel ||
      std::max((*to)->place, (*to)->times_place) <= kMaxSystemArguments) {
    return {};
  }
  return Status::Error(Quoted(value) + " of a system call: it has arg1 to arg" +
                       std::to_string(kMaxSystemArguments));
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
    case Section::kCounter: {
      const Counter& counter = provider_.counters.back();
      if (!counter.file.empty() + !counter.debugfs.empty() + !counter.pmu.empty() == 1) return {};
      return Status::Error("[" + title_ + "] needs a file, a debugfs or a pmu: write one of them");
    }
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

const char* RoleName(Role role) {
  constexpr const char* kNames[kNumRoles] = {"submit", "start", "complete", "dependency"};
  return kNames[static_cast<size_t>(role)];
}

Result<Provider> Parse(std::string_view text, const std::string& file) {
  return Parser(file).Run(WithoutMark(text));
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
