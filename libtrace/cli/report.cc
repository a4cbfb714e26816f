// SPDX-License-Identifier: Apache-2.0
//
// acceltrace report and acceltrace verify.
#include "libtrace/analysis/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "libtrace/analysis/report/stretches.h"
#include "libtrace/analysis/report/summary.h"
#include "libtrace/cli/ceilings.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/stream/file/index.h"
#include "libtrace/view/json/json.h"
#include "libtrace/view/text/stretches.h"
#include "libtrace/view/text/summary.h"
#include "libtrace/view/text/text.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file, ceilings;
  std::vector<std::string> sections;
  bool json = false, summary = false, full = false, all = false;
  uint64_t stretches = 0;  // 0 = not requested
  Part selection;
  Arrangement arrangement;
};

int Print(const Status& wrote, int status) {
  return wrote.ok() ? status : Fail(kFailed, wrote.message());
}

std::string ReportText(const Options& options, const analysis::Report& report) {
  view::Style style = StdoutStyle();
  style.rows = options.arrangement.top;
  if (!options.sections.empty()) return view::TextSections(report, options.sections, style);
  return options.full ? view::TextReport(report, style) : view::TextAnswer(report, style);
}

int PrintSummary(const Options& options, const analysis::Summary& summary) {
  const int wrote = Print(options.json ? PrintJson(view::JsonSummary(summary))
                                       : PrintText(view::TextSummary(summary, StdoutStyle())),
                          kOk);
  if (wrote != kOk || summary.lost + summary.bad == 0) return wrote;
  return Fail(kFailed, fmt::format("{}: {} events lost, {} refused; see acceltrace verify",
                                   options.file, summary.lost, summary.bad));
}

// Returns true if the report should use stretches: if requested, or if the whole would take long
// and is not requested.
bool WantsStretches(const Options& options) {
  if (options.selection.any() || options.summary) return false;
  if (options.stretches > 0) return true;
  return !options.all && !options.json && !options.full && options.sections.empty() &&
         options.ceilings.empty();
}

// Returns nullopt if the trace has to be read as a whole.
std::optional<int> RunStretches(const Options& options) {
  const bool asked = options.stretches > 0;
  ExpectFile(options.file);
  const auto trace =
      model::PartialTrace::Open(options.file, asked ? 0 : analysis::Stretches::kLongTrace);
  if (trace == nullptr) return std::nullopt;
  const auto summary = analysis::SummariseFile(options.file);
  if (!summary) return std::nullopt;
  Progress progress("Reading stretches", 100);
  const auto stretches = analysis::ComputeStretches(
      *trace, asked ? options.stretches : analysis::Stretches::kCount, analysis::Stretches::kEvents,
      [&progress](size_t done, size_t all) { progress.Update(100 * done / all); });
  if (!stretches.ok()) return std::nullopt;
  const Status wrote = options.json
                           ? PrintJson(view::JsonStretches(*stretches, *summary))
                           : PrintText(view::TextStretches(*stretches, *summary, StdoutStyle()));
  if (const int printed = Print(wrote, kOk); printed != kOk) return printed;
  const bool fault = std::any_of(stretches->caveats.begin(), stretches->caveats.end(),
                                 [](const analysis::Caveat& caveat) { return caveat.fault; });
  if (!fault && !stretches->withheld) return kOk;
  return Fail(kFailed,
              fmt::format("{}: {}; see acceltrace verify", options.file,
                          fault ? analysis::CaveatsText(stretches->caveats) : stretches->text));
}

// Returns true if the short answer has everything that is requested.
bool AnswerDoes(const Options& options) {
  if (options.json || options.full) return false;
  for (const view::Section& section : view::Sections()) {
    const bool asked = std::find(options.sections.begin(), options.sections.end(), section.name) !=
                       options.sections.end();
    if (asked && !section.of_answer) return false;
  }
  return true;
}

analysis::Report ReportFor(const Options& options, const Loaded& loaded) {
  using analysis::Predictions;
  if (options.summary) return loaded.Report(Predictions::kNone);
  return AnswerDoes(options) ? loaded.Answer() : loaded.Report(Predictions::kAll);
}

int RunReport(const Options& options) {
  if (options.summary && !options.selection.any()) {
    if (const auto summary = analysis::SummariseFile(options.file)) {
      return PrintSummary(options, *summary);
    }
  }
  if (WantsStretches(options)) {
    if (const auto status = RunStretches(options)) return *status;
    if (options.stretches > 0) {
      return Fail(kFailed,
                  options.file +
                      " has no index that fits, is damaged, or a clock of it jumps: it can "
                      "only be read as a whole, without --stretches");
    }
  }
  const auto ceilings = ReadCeilings(options.ceilings);
  if (!ceilings.ok()) return Fail(kMisuse, ceilings.message());
  int status = kFailed;
  const auto loaded = LoadSelected(options.file, options.selection, Laws::kIfWhole, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  analysis::Report report = ReportFor(options, *loaded);
  if (options.summary) {
    const int printed = PrintSummary(options, analysis::SummariseReport(report));
    return printed != kOk ? printed : FaultStatus(options.file, *loaded->model, "the summary");
  }
  if (!ceilings->empty() && !AnswerDoes(options)) analysis::UseCeilings(*ceilings, &report);
  Arrange(options.arrangement, &report);
  const int wrote = Print(
      options.json ? PrintJson(view::JsonReport(report)) : WriteStdout(ReportText(options, report)),
      kOk);
  return wrote != kOk ? wrote : VerdictStatus(options.file, report.verdict);
}

// If a part of a trace is requested, packets are missing that the index places elsewhere.
void CheckIndex(const std::string& file, const stream::ReadStats& read,
                std::vector<analysis::Finding>* findings) {
  const auto index = stream::FileIndex::Open(file);
  const size_t wrong = index == nullptr ? 0 : index->CountWrongTimes(read.times);
  if (wrong == 0) return;
  findings->insert(findings->begin(),
                   {"damage", fmt::format("the index says of {} packets that they are of other "
                                          "times than they are: what reads a part of the time "
                                          "(--from, --to, long traces) misses them",
                                          wrong)});
}

int RunVerify(const Options& options) {
  const auto model = LoadWithin(options.file, options.selection.memory_bytes, Need::kChecks);
  if (!model.ok()) return Fail(kFailed, model.message());
  const analysis::Report report = analysis::ComputeVerification(**model);
  auto findings = analysis::FindProblems(report);
  CheckIndex(options.file, (*model)->read, &findings);
  const int wrote =
      Print(options.json ? PrintJson(view::JsonVerify(report, findings))
                         : PrintText(view::TextVerify(report, findings, StdoutStyle())),
            kOk);
  if (wrote != kOk || findings.empty()) return wrote;
  return Fail(kFailed, fmt::format("{}: {}", options.file, FindingsText(findings)));
}

template <typename Function>
std::pair<Verb*, Options*> AddReader(Verb* app, Run* run, const char* name, const char* text,
                                     Function function) {
  Verb* verb = app->AddVerb(name, text);
  auto options = std::make_shared<Options>();
  AddTraceFile(verb, &options->file);
  verb->AddFlag("--json", &options->json, "machine-readable, see docs/json.md");
  verb->Callback(
      [options, run, function] { *run = [options, function] { return function(*options); }; });
  return {verb, options.get()};
}

}  // namespace

int VerdictStatus(const std::string& file, const analysis::Verdict& verdict) {
  if (!verdict.fails()) return kOk;
  return Fail(
      kFailed,
      fmt::format("{}: {}: {}; see acceltrace verify", file, analysis::CaveatsText(verdict.caveats),
                  verdict.withheld() ? "the verdict is withheld"
                                     : "the verdict holds without what is missing"));
}

int FaultStatus(const std::string& file, const model::Model& model, const std::string& lacks) {
  const auto faults = analysis::FindFaults(model, analysis::ComputeLosses(model));
  if (faults.empty()) return kOk;
  return Fail(kFailed,
              fmt::format("{}: {} lacks what is missing: {}", file, lacks, FindingsText(faults)));
}

void AddReport(Verb* app, Run* run) {
  const auto [verb, options] =
      AddReader(app, run, "report", "Where the time went, and how sure that is", RunReport);
  verb->AddFlag("--summary", &options->summary,
                "length, counts, busiest units, losses: at once, by the file's index");
  std::vector<std::string> names;
  for (const view::Section& section : view::Sections()) names.push_back(section.name);
  Option sections = verb->AddOption(
      "--section", &options->sections,
      fmt::format("only these parts of it, in their order: {}", fmt::join(names, ", ")));
  sections.TypeName("NAME,...").Delimiter(',').OneWord().OneOf(names);
  verb->AddFlag("--full", &options->full, "all parts; without it what fits on a terminal")
      .Excludes(sections);
  verb->AddFlag("--all", &options->all,
                "read all of a long trace, whose answer is of some stretches of it otherwise");
  verb->AddOption("--stretches", &options->stretches,
                  "read so many stretches of the trace, however long it is")
      .TypeName("N")
      .Positive();
  AddCeilings(verb, &options->ceilings);
  AddArrangement(verb, &options->arrangement);
  AddFilters(verb, &options->selection);
  AddMemory(verb, &options->selection.memory_bytes);
}

void AddVerify(Verb* app, Run* run) {
  const auto [verb, options] = AddReader(
      app, run, "verify",
      "Check a trace: checksums, sequence, conservation laws, causality, losses", RunVerify);
  AddMemory(verb, &options->selection.memory_bytes);
}

}  // namespace acceltrace::cli
