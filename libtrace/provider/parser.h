// SPDX-License-Identifier: Apache-2.0
//
// The state while a provider file is parsed, with a function for each key. Internal: parse.cc has
// the sections and the table of keys.
#ifndef LIBTRACE_PROVIDER_PARSER_H_
#define LIBTRACE_PROVIDER_PARSER_H_

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libtrace/provider/provider.h"
#include "libtrace/provider/words.h"

namespace acceltrace::provider {

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
    if (line[0] == '[') {
      const size_t end = line.find(']');  // only a comment may follow
      const bool comment = end != std::string_view::npos &&
                           line.find_first_not_of(" \t", end + 1) == line.find('#', end + 1);
      return BeginSection(comment ? line.substr(0, end + 1) : line);
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return Status::Error(Quoted(line) +
                           " is neither [SECTION] nor KEY = VALUE: write one of them");
    }
    return Assign(Trim(line.substr(0, equals)), Trim(line.substr(equals + 1)));
  }

  Status Assign(std::string_view key, std::string_view value) {
    // A comment begins with a # that follows a blank.
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

  // Fails if two sections of a kind have the same name.
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
  Status SetApiArgument(std::optional<Argument>* to, std::string_view value);
  Status SetStream(std::string_view value) {
    return SetApiArgument(&provider_.functions.back().stream, value);
  }
  Status SetApiBytes(std::string_view value) {
    return SetApiArgument(&provider_.functions.back().bytes, value);
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
  Status SetDebugfs(std::string_view value) {
    provider_.counters.back().debugfs = value;
    return CheckPath(value);
  }
  Status SetScale(std::string_view value) {
    double& scale = provider_.counters.back().scale;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), scale);
    if (error == std::errc() && end == value.data() + value.size() && scale > 0 && scale <= 1e18) {
      return {};
    }
    return Status::Error(Quoted(value) + " is no scale: write a number above 0, as in 1000");
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
  std::set<std::string> singles_;    // sections that may occur only once
};

}  // namespace acceltrace::provider

#endif  // LIBTRACE_PROVIDER_PARSER_H_
