// SPDX-License-Identifier: Apache-2.0
//
// acceltrace check: checks rules on a trace.
#include "libtrace/view/text/check.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "libtrace/check/evaluate.h"
#include "libtrace/check/rules.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file, baseline, junit;
  std::vector<std::string> rules;
  bool json = false, lenient = false;
  Part selection;
};

// Treats a word as the name of a file with rules if there is one, otherwise as a rule.
Result<std::string> RuleText(const std::string& word) {
  struct stat about {};
  if (stat(word.c_str(), &about) != 0 || S_ISDIR(about.st_mode)) return word;
  constexpr size_t kMaxBytes = 4 << 20;
  std::ifstream file(word, std::ios::binary);
  std::string text;
  char buffer[65536];
  while (file && text.size() <= kMaxBytes) {
    file.read(buffer, sizeof buffer);
    text.append(buffer, static_cast<size_t>(file.gcount()));
  }
  if (!file.eof() || text.size() > kMaxBytes) {
    return Status::Error(fmt::format("cannot read the rules in {}, or they are too many", word));
  }
  return text;
}

struct Rules {
  std::string name;
  std::vector<check::Rule> rules;
};

Result<Rules> ReadRules(const std::vector<std::string>& words) {
  Rules all;
  for (const std::string& word : words) {
    const Result<std::string> text = RuleText(word);
    if (!text.ok()) return text.status();
    const bool file = *text != word;
    Result<std::vector<check::Rule>> parsed = check::ParseRules(*text);
    if (!parsed.ok()) {
      return Status::Error(
          fmt::format("{}: {}", file ? word : "\"" + word + "\"", parsed.message()));
    }
    if (file && all.name.empty()) all.name = word;
    for (check::Rule& rule : *parsed) all.rules.push_back(std::move(rule));
  }
  if (all.rules.empty()) return Status::Error("no rules: write one as \"losses == 0\"");
  if (all.name.empty()) all.name = "rules";
  return all;
}

bool UsesBaseline(const std::vector<check::Rule>& rules) {
  for (const check::Rule& rule : rules) {
    if (rule.uses_baseline) return true;
  }
  return false;
}

// A trace with its report, as rules need it.
struct Side {
  Loaded loaded;
  analysis::Report report;
  std::unique_ptr<check::Trace> trace;
};

Result<std::unique_ptr<Side>> LoadSide(const std::string& file, const Part& selection,
                                       int* status) {
  auto side = std::make_unique<Side>();
  Result<Loaded> loaded = LoadSelected(file, selection, Laws::kAlways, status);
  if (!loaded.ok()) return loaded.status();
  side->loaded = std::move(loaded).value();
  side->report = side->loaded.Report(analysis::Predictions::kNone);
  side->trace = std::make_unique<check::Trace>(side->report);
  return side;
}

// Reports the failing rule and what is wrong with the trace in one line on stderr.
int Conclude(const Options& options, const std::vector<check::Outcome>& outcomes,
             const Side& side) {
  const check::Outcome* first = nullptr;
  size_t failed = 0;
  for (const check::Outcome& outcome : outcomes) {
    if (view::Passed(outcome, options.lenient)) continue;
    ++failed;
    if (first == nullptr) first = &outcome;
  }
  if (first == nullptr) return FaultStatus(options.file, *side.loaded.model, "the check");
  const char* what = first->state == check::Outcome::State::kFail ? "" : "cannot be decided: ";
  return Fail(kFailed,
              fmt::format("{}: {} of {} rules failed: line {}: {}{}", options.file, failed,
                          outcomes.size(), first->rule->line, what, view::OutcomeText(*first)));
}

int RunCheck(const Options& options) {
  const Result<Rules> rules = ReadRules(options.rules);
  if (!rules.ok()) return Fail(kMisuse, rules.message());
  if (UsesBaseline(rules->rules) && options.baseline.empty()) {
    return Fail(kMisuse, "a rule compares with a baseline: name a trace with --baseline FILE");
  }
  std::optional<OutputFile> junit;
  if (!options.junit.empty()) {
    std::vector<std::string> inputs = options.rules;
    inputs.insert(inputs.end(), {options.file, options.baseline});
    auto output = OutputFile::Create(options.junit, inputs);
    if (!output.ok()) return Fail(kFailed, output.message());
    junit = std::move(output).value();
  }
  int status = kFailed;
  const auto side = LoadSide(options.file, options.selection, &status);
  if (!side.ok()) return Fail(status, side.message());
  std::unique_ptr<Side> baseline;
  if (!options.baseline.empty()) {
    auto loaded = LoadSide(options.baseline, options.selection, &status);
    if (!loaded.ok()) return Fail(status, loaded.message());
    baseline = std::move(loaded).value();
  }
  const auto outcomes =
      check::CheckRules(rules->rules, *(*side)->trace, baseline ? baseline->trace.get() : nullptr);
  if (junit) {
    Status wrote =
        junit->Write(view::JunitCheck(outcomes, options.lenient, options.file, rules->name));
    if (wrote.ok()) wrote = junit->Finish();
    if (!wrote.ok()) return Fail(kFailed, wrote.message());
  }
  if (!junit || !junit->is_stdout()) {
    const Status wrote = options.json
                             ? PrintJson(view::JsonCheck(outcomes, options.lenient))
                             : PrintText(view::TextCheck(outcomes, options.lenient, StdoutStyle()));
    if (!wrote.ok()) return Fail(kFailed, wrote.message());
  }
  return Conclude(options, outcomes, **side);
}

}  // namespace

void AddCheck(Verb* app, Run* run) {
  Verb* verb = app->AddVerb("check", "Assert what a trace must be; see docs/check.md");
  auto options = std::make_shared<Options>();
  AddTraceFile(verb, &options->file);
  verb->AddOption("RULES", &options->rules,
                  "a file of rules, or rules as \"p99(job.latency) < 80us\"")
      .TypeName("")
      .Required();
  verb->AddOption("--baseline", &options->baseline,
                  "the trace that `baseline` in a rule stands for")
      .TypeName("FILE");
  verb->AddOption("--junit", &options->junit, "write the outcome as JUnit XML, - for stdout")
      .TypeName("OUT");
  verb->AddFlag("--lenient", &options->lenient,
                "what cannot be decided within the bounds passes if it is likely");
  verb->AddFlag("--json", &options->json, "machine-readable, see docs/json.md");
  AddFilters(verb, &options->selection);
  verb->Callback([options, run] { *run = [options] { return RunCheck(*options); }; });
}

}  // namespace acceltrace::cli
