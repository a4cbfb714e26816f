// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "libtrace/analysis/report/stretches.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/model/part/partial.h"
#include "libtrace/stream/file/index.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::cli {
namespace {

// Parses a time such as 1.5ms to ns. A number without a unit is ambiguous and thus an error.
std::string ParseTime(const std::string& text, int64_t* ns) {
  constexpr std::pair<const char*, double> kUnits[] = {{"ns", 1},   {"us", 1e3}, {"µs", 1e3},
                                                       {"ms", 1e6}, {"s", 1e9},  {"m", 60e9}};
  const char* begin = text.c_str();
  char* end = nullptr;
  const double number = std::strtod(begin, &end);
  for (const auto& [unit, factor] : kUnits) {
    if (end == begin || std::string(end) != unit) continue;
    const double value = number * factor;
    constexpr double kLongest = 9e17;  // 28 years
    if (!std::isfinite(value) || value < 0 || value > kLongest) break;
    *ns = static_cast<int64_t>(std::llround(value));
    return {};
  }
  return text + " is no time from the trace's begin on, which is 0: write 1.5ms, 20us, 3s";
}

constexpr char kGroup[] = "Part of the trace";

void AddTime(Verb* verb, const char* name, const char* text, std::optional<int64_t>* time) {
  const auto parse = [name, time](const std::string& word) {
    int64_t ns = 0;
    std::string wrong = ParseTime(word, &ns);
    if (wrong.empty()) *time = ns;
    return wrong.empty() ? wrong : name + (": " + wrong);
  };
  verb->AddParsed(name, parse, text).Once().TypeName("TIME").Group(kGroup);
}

template <typename Rows, typename Key>
void SortBy(const Key& key, Rows* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [&](const auto& a, const auto& b) { return key(a) > key(b); });
}

template <typename Rows, typename Time>
void SortRows(const std::string& by, const Time& time, Rows* rows) {
  const auto mean = [&](const auto& row) {
    const double count = Time::Count(row);
    return count > 0 ? time(row) / count : 0;
  };
  if (by == "time") SortBy(time, rows);
  if (by == "count") SortBy([](const auto& row) { return Time::Count(row); }, rows);
  if (by == "mean") SortBy(mean, rows);
  if (by == "bytes") SortBy([](const auto& row) { return row.bytes; }, rows);
  if (by == "name") {
    std::stable_sort(rows->begin(), rows->end(),
                     [](const auto& a, const auto& b) { return a.name < b.name; });
  }
}

struct OpTime {
  double operator()(const analysis::OpUse& op) const { return op.time.mid; }
  static double Count(const analysis::OpUse& op) { return static_cast<double>(op.count); }
};
struct CallTime {
  double operator()(const analysis::CallUse& call) const {
    return static_cast<double>(call.time.total.mid_ns);
  }
  static double Count(const analysis::CallUse& call) {
    return static_cast<double>(call.time.count + call.open);
  }
};

}  // namespace

void AddFilters(Verb* verb, model::Selection* selection) {
  verb->AddOption("--process", &selection->processes, "only this process: id, or name with * and ?")
      .TypeName("PROCESS")
      .OneWord()
      .Group(kGroup);
  verb->AddOption("--container", &selection->containers,
                  "only what ran in this container: 4 or more digits of its id, or its name")
      .TypeName("CONTAINER")
      .OneWord()
      .Group(kGroup);
  verb->AddOption("--device", &selection->devices,
                  "only this device: name with * and ?, or PCI address")
      .TypeName("DEVICE")
      .OneWord()
      .Group(kGroup);
  verb->AddOption("--stream", &selection->streams, "only what was submitted to this stream")
      .TypeName("N")
      .OneWord()
      .Group(kGroup);
  verb->AddOption("--range", &selection->ranges,
                  "only what was called inside ranges of this name, with * and ?")
      .TypeName("NAME")
      .OneWord()
      .Group(kGroup);
  AddTime(verb, "--from", "only what is still going on so long after the first event, as 1.5ms",
          &selection->from_ns);
  AddTime(verb, "--to", "only what began until then", &selection->to_ns);
}

void AddMemory(Verb* verb, uint64_t* memory_bytes) {
  verb->AddOption("--memory", memory_bytes,
                  "refuse to read more at once than is likely to fit into this")
      .TypeName("SIZE")
      .Size(false)
      .Group(kGroup);
}

void AddArrangement(Verb* verb, Arrangement* arrangement) {
  verb->AddOption("--top", &arrangement->top, "so many rows of each table")
      .TypeName("N")
      .Positive();
  verb->AddOption("--sort", &arrangement->sort,
                  "API calls and ops by time, count, mean, bytes, name")
      .TypeName("KEY")
      .OneOf({"time", "count", "mean", "bytes", "name"});
}

namespace {

// The memory for a loaded event and for its report, slightly above the measured values
// (docs/benchmarks-scale.md).
constexpr uint64_t kLoadBytes = 130, kReportBytes = 450, kFreeBytes = uint64_t{32} << 20;

uint64_t MostEvents(uint64_t memory_bytes, bool with_report) {
  const uint64_t each = with_report ? kReportBytes : kLoadBytes;
  return memory_bytes > kFreeBytes ? (memory_bytes - kFreeBytes) / each : 0;
}

// memory_bytes 0 = no limit.
Status CheckMemory(const std::string& file, uint64_t events, uint64_t memory_bytes,
                   bool with_report) {
  if (memory_bytes == 0 || events <= MostEvents(memory_bytes, with_report)) return {};
  return Status::Error(fmt::format(
      "{} holds {} events there, which take about {} to read: more than --memory allows; choose a "
      "shorter part of it by --from and --to, or let report read stretches of it",
      file, view::FormatCount(events),
      view::FormatBytes(events * (with_report ? kReportBytes : kLoadBytes) + kFreeBytes)));
}

// Returns true if all jobs are complete from submission to end. Jobs that are longer than the
// margins read around a part may be incomplete.
bool HasWholeJobs(const model::Model& model) {
  const model::Jobs& jobs = model.jobs;
  for (size_t j = 0; j < jobs.size(); ++j) {
    if (!jobs.on_device[j] || jobs.submit_ns[j] == model::kNoTime ||
        jobs.complete_ns[j] == model::kNoTime) {
      return false;
    }
  }
  return true;
}

// A window in which the trace has no time at all is a mistake, and any answer would be meaningless.
Status CheckWindow(const std::string& file, const Part& selection, int64_t begin_ns,
                   int64_t end_ns) {
  const int64_t length_ns = end_ns - begin_ns;
  if (!selection.from_ns || *selection.from_ns <= length_ns) return {};
  return Status::Error(
      fmt::format("--from {} lies beyond the end of {}: it holds the time from 0 "
                  "to {}, counted from its first event",
                  view::FormatNs(*selection.from_ns), file, view::FormatNs(length_ns)));
}

// Reads only a part of a long trace. Returns nullopt if it has to be read as a whole.
std::optional<Result<Loaded>> LoadPart(const std::string& file, const Part& selection,
                                       bool with_report, int* status) {
  using model::PartialTrace;
  ExpectFile(file);
  const auto trace = PartialTrace::Open(
      file, analysis::Stretches::kLongTrace,
      selection.check_all ? PartialTrace::Checked::kAll : PartialTrace::Checked::kWhatIsRead);
  if (trace == nullptr) return std::nullopt;
  const Status window = CheckWindow(file, selection, trace->begin_ns(), trace->end_ns());
  if (!window.ok()) {
    *status = kMisuse;
    return Result<Loaded>(window);
  }
  const int64_t end_ns = trace->end_ns() - trace->begin_ns();
  int64_t from_ns = selection.from_ns.value_or(0);
  int64_t to_ns = std::min(selection.to_ns.value_or(end_ns), end_ns);
  if (selection.needed) {
    const auto within = [&](int64_t ns) {
      return std::clamp(ns, trace->begin_ns(), trace->end_ns()) - trace->begin_ns();
    };
    from_ns = within(selection.needed->from_ns), to_ns = within(selection.needed->to_ns);
  }
  const model::Stretch stretch{trace->begin_ns() + from_ns, trace->begin_ns() + to_ns};
  if (from_ns >= to_ns ||
      trace->EventsWithin(stretch.from_ns, stretch.to_ns) > trace->events() / 2) {
    return std::nullopt;
  }
  const Status fits = CheckMemory(file, trace->EventsWithin(stretch.from_ns, stretch.to_ns),
                                  selection.memory_bytes, with_report);
  if (!fits.ok()) return Result<Loaded>(fits);
  Loaded loaded;
  loaded.laws.emplace();  // laws apply to the whole trace
  const bool by_time = !selection.by_process() && selection.devices.empty() &&
                       selection.streams.empty() && selection.ranges.empty();
  if (selection.command_fields && by_time) {
    loaded.model = trace->LoadCommands(stretch, *selection.command_fields);
  } else if (selection.calls_only && by_time) {
    loaded.model = trace->LoadCalls(stretch);
  }
  loaded.narrow = loaded.model != nullptr;
  if (loaded.narrow) return Result<Loaded>(std::move(loaded));
  const bool wanted = selection.wanted && by_time;
  auto model = trace->Load(stretch, selection, wanted ? &*selection.wanted : nullptr);
  if (!model.ok()) return std::nullopt;
  loaded.narrow = wanted;
  if (selection.needed && !HasWholeJobs(**model)) return std::nullopt;
  loaded.model = std::move(model).value();
  return Result<Loaded>(std::move(loaded));
}

}  // namespace

Result<std::unique_ptr<model::Model>> LoadWithin(const std::string& file, uint64_t memory_bytes,
                                                 Need need, const model::Wanted* wanted) {
  const bool checks_only = need == Need::kChecks;
  if (memory_bytes == 0) return LoadTrace(file, model::LoadOptions().max_rows, checks_only, wanted);
  const bool with_report = need != Need::kModel;
  const auto index = stream::FileIndex::Open(file);
  if (index != nullptr) {
    const Status fits = CheckMemory(file, index->events(), memory_bytes, with_report);
    if (!fits.ok()) return fits;
  }
  return LoadTrace(file, MostEvents(memory_bytes, with_report), checks_only, wanted);
}

Result<Loaded> LoadSelected(const std::string& file, const Part& selection, Laws laws,
                            int* status) {
  *status = kMisuse;
  if (selection.from_ns && selection.to_ns && *selection.from_ns > *selection.to_ns) {
    return Status::Error(fmt::format("--from {} lies after --to {}",
                                     view::FormatNs(*selection.from_ns),
                                     view::FormatNs(*selection.to_ns)));
  }
  *status = kFailed;
  if ((selection.from_ns || selection.to_ns || selection.needed) && laws != Laws::kAlways) {
    auto part = LoadPart(file, selection, laws != Laws::kNone, status);
    // If the index has no times, the file has to be read to find them, so it is checked as well.
    if (!part && !selection.check_all) {
      Part checked = selection;
      checked.check_all = true;
      part = LoadPart(file, checked, laws != Laws::kNone, status);
    }
    if (part) return *std::move(part);
  }
  if (selection.command_fields && !selection.any()) {
    Loaded loaded;
    const auto trace = model::PartialTrace::Open(file, analysis::Stretches::kLongTrace);
    if (trace != nullptr) loaded.model = trace->LoadCommands(*selection.command_fields);
    loaded.narrow = loaded.model != nullptr;
    if (loaded.narrow) return loaded;
  }
  Loaded loaded;
  // All of the file is checked, even if only parts are loaded.
  std::optional<model::Wanted> wanted;
  loaded.narrow = selection.wanted && !selection.any() && laws == Laws::kNone;
  if (loaded.narrow) {
    wanted = selection.wanted;
    wanted->AddDeviceTimes();
    if (wanted->commands) {
      wanted->commands->push_back(proto::CommandBatch::kStallTicksFieldNumber);
    }
  }
  auto model =
      LoadWithin(file, selection.memory_bytes, laws != Laws::kNone ? Need::kReport : Need::kModel,
                 wanted ? &*wanted : nullptr);
  if (!model.ok()) return model.status();
  loaded.model = std::move(model).value();
  if (!selection.any()) return loaded;
  if (laws != Laws::kNone) {
    loaded.laws =
        analysis::ComputeConservation(*loaded.model, analysis::ComputeLosses(*loaded.model));
  }
  Status selected = CheckWindow(file, selection, loaded.model->begin_ns, loaded.model->end_ns);
  if (selected.ok()) selected = model::Select(selection, loaded.model.get());
  if (!selected.ok()) {
    *status = kMisuse;
    return selected;
  }
  return loaded;
}

void Arrange(const Arrangement& arrangement, analysis::Report* report) {
  if (arrangement.sort.empty()) return;
  SortRows(arrangement.sort, OpTime(), &report->ops);
  SortRows(arrangement.sort, OpTime(), &report->op_groups);
  SortRows(arrangement.sort, CallTime(), &report->calls);
}

}  // namespace acceltrace::cli
