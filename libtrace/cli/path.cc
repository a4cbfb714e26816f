// SPDX-License-Identifier: Apache-2.0
//
// acceltrace critical-path and acceltrace whatif.
#include "libtrace/view/text/path.h"

#include <fmt/format.h>

#include <memory>

#include "libtrace/analysis/report/advice.h"
#include "libtrace/analysis/report/limiter.h"
#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/whatif/edit.h"
#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/analysis/whatif/replays.h"
#include "libtrace/analysis/whatif/whatif.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file;
  bool json = false, without_tracer = false;
  std::vector<std::string> sets, fused;
  std::vector<bool> edits = std::vector<bool>(analysis::EditOptions().size());
  Part selection;
};

// What both verbs need of a trace.
struct LoadedGraph {
  std::unique_ptr<model::Model> model;
  analysis::Report report;
  analysis::Graph graph;
};

Result<LoadedGraph> LoadGraph(const Options& options, int* status) {
  auto selected = LoadSelected(options.file, options.selection, Laws::kIfWhole, status);
  if (!selected.ok()) return selected.status();
  LoadedGraph loaded;
  loaded.report = selected->Judgement();
  loaded.model = std::move(selected->model);
  loaded.graph =
      analysis::BuildGraph(*loaded.model, analysis::TracerWork(*loaded.model),
                           loaded.report.breakdown.begin_ns, loaded.report.breakdown.end_ns);
  return loaded;
}

int Print(const Options& options, const std::string& text, const LoadedGraph& loaded,
          const std::string& refused) {
  const analysis::Verdict& verdict = loaded.report.verdict;
  const Status wrote = options.json ? PrintJson(text) : PrintText(text);
  if (!wrote.ok()) return Fail(kFailed, wrote.message());
  if (verdict.fails()) return VerdictStatus(options.file, verdict);
  // If the recording cannot show it, or no device was used, this is reported, but is no fault.
  if (!verdict.predicts() || loaded.graph.size() == 0) return kOk;
  return refused.empty() ? kOk : Fail(kFailed, options.file + ": " + refused);
}

int RunCriticalPath(const Options& options) {
  int status = kFailed;
  const auto loaded = LoadGraph(options, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  const analysis::Verdict& verdict = loaded->report.verdict;
  analysis::CriticalPath path = ComputeCriticalPath(*loaded->model, loaded->graph);
  if (!verdict.predicts()) {
    path = {};
    path.error = analysis::CaveatsText(verdict.caveats);
  }
  return Print(
      options,
      options.json ? view::JsonCriticalPath(path) : view::TextCriticalPath(path, StdoutStyle()),
      *loaded, path.error);
}

void AddChange(const std::string& change, std::string* all) {
  *all += (all->empty() ? "" : ", ") + change;
}

int RunWhatIf(const Options& options) {
  analysis::Scales scales;
  scales.without_tracer = options.without_tracer;
  view::WhatIf whatif;
  if (options.without_tracer) whatif.change = "without the tracer";
  for (const std::string& set : options.sets) {
    const std::string wrong = analysis::ParseScale(set, &scales);
    if (!wrong.empty()) return Fail(kMisuse, wrong + "; see acceltrace whatif --help");
    AddChange(set, &whatif.change);
  }
  for (size_t i = 0; i < options.edits.size(); ++i) {
    if (options.edits[i]) AddChange(analysis::EditOptions()[i].option, &whatif.change);
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& pair : options.fused) {
    const size_t comma = pair.find(',');
    if (comma == std::string::npos || comma == 0 || comma + 1 == pair.size()) {
      return Fail(kMisuse, "--fuse " + pair + ": want OP,OP; see acceltrace whatif --help");
    }
    pairs.emplace_back(pair.substr(0, comma), pair.substr(comma + 1));
    AddChange("--fuse " + pair, &whatif.change);
  }
  int status = kFailed;
  auto loaded = LoadGraph(options, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  const analysis::Verdict& verdict = loaded->report.verdict;
  analysis::Graph& graph = loaded->graph;
  if (!verdict.predicts()) {
    whatif.refused = analysis::CaveatsText(verdict.caveats);
  } else {
    analysis::Replays replays(graph);
    const std::vector<double> as_it_was = replays.RunAll({});
    analysis::Editor editor(*loaded->model, &graph);
    for (size_t i = 0; i < options.edits.size(); ++i) {
      if (options.edits[i]) (editor.*analysis::EditOptions()[i].edit)();
    }
    if (!pairs.empty() && editor.FuseOps(pairs).count == 0) {
      return Fail(kFailed,
                  options.file + ": no op follows the other; see acceltrace critical-path");
    }
    whatif.prediction = analysis::Predict(&replays, scales, as_it_was);
    if (!whatif.prediction.valid) whatif.refused = whatif.prediction.error;
    // Without a change, the limiter of the run is shown.
    if (whatif.change.empty()) {
      whatif.limiter = ComputeLimiter(&replays, loaded->report.breakdown, verdict);
    }
  }
  return Print(options,
               options.json ? view::JsonWhatIf(whatif) : view::TextWhatIf(whatif, StdoutStyle()),
               *loaded, whatif.refused);
}

Verb* AddVerb(Verb* app, Run* run, const char* name, const char* text,
              int (*function)(const Options&), const std::shared_ptr<Options>& options) {
  Verb* verb = app->AddVerb(name, text);
  AddTraceFile(verb, &options->file);
  verb->AddFlag("--json", &options->json, "machine-readable, see docs/json.md");
  AddFilters(verb, &options->selection);
  AddMemory(verb, &options->selection.memory_bytes);
  verb->Callback(
      [options, run, function] { *run = [options, function] { return function(*options); }; });
  return verb;
}

}  // namespace

void AddCriticalPath(Verb* app, Run* run) {
  AddVerb(app, run, "critical-path", "The chain of events that set the run's time", RunCriticalPath,
          std::make_shared<Options>());
}

void AddWhatIf(Verb* app, Run* run) {
  auto options = std::make_shared<Options>();
  Verb* verb = AddVerb(app, run, "whatif", "How long the run would take with faster resources",
                       RunWhatIf, options);
  std::string keys;
  for (int r = 0; r < analysis::kNumResources; ++r) {
    keys += (r == 0 ? "" : ", ") +
            std::string(analysis::ResourceKey(static_cast<analysis::Resource>(r)));
  }
  verb->AddOption("--set", &options->sets,
                  "KEY=xF: F times as fast (half as long for F = 2), repeatable; none: each by "
                  "itself; KEY: " +
                      keys)
      .TypeName("KEY=xF")
      .TakeAll();
  verb->AddFlag("--without-tracer", &options->without_tracer, "... and if nobody had recorded it");
  // The most that a change of the program could gain.
  for (size_t i = 0; i < options->edits.size(); ++i) {
    const analysis::EditOption& edit = analysis::EditOptions()[i];
    verb->AddFlag(
        edit.option, [options, i] { options->edits[i] = true; }, edit.text);
  }
  verb->AddOption("--fuse", &options->fused, "the second op follows the first without the memory")
      .TypeName("OP,OP")
      .TakeAll();
}

}  // namespace acceltrace::cli
