// SPDX-License-Identifier: Apache-2.0
//
// acceltrace diff: shows what changed from one trace to another.
#include "libtrace/analysis/report/diff.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "libtrace/cli/command.h"
#include "libtrace/cli/compare.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/view/json/diff.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string a, b;
  bool json = false;
  Part selection;
  Arrangement arrangement;
};

void SortChanges(const std::string& by, std::vector<analysis::Change>* changes) {
  using analysis::Change;
  const auto key = [&](const Change& change) {
    const auto count = static_cast<double>(change.count_a + change.count_b);
    if (by == "count") return count;
    if (by == "bytes") return static_cast<double>(change.bytes_a + change.bytes_b);
    const double time = change.a.mid + change.b.mid;
    return by == "mean" ? (count > 0 ? time / count : 0) : time;
  };
  if (by.empty()) return;
  std::stable_sort(changes->begin(), changes->end(), [&](const Change& x, const Change& y) {
    return by == "name" ? x.name < y.name : key(x) > key(y);
  });
}

int RunDiff(const Options& options) {
  int status = kFailed;
  const auto compared =
      Compare(options.a, options.b, options.selection, analysis::Predictions::kNone, &status);
  if (!compared.ok()) return Fail(status, compared.message());
  analysis::Diff& diff = (*compared)->diff;
  for (auto* changes :
       {&diff.classes, &diff.ops, &diff.stages, &diff.units, &diff.calls, &diff.transfers}) {
    SortChanges(options.arrangement.sort, changes);
  }
  view::Style style = StdoutStyle();
  style.rows = options.arrangement.top;
  const Status wrote =
      options.json ? PrintJson(view::JsonDiff(diff)) : PrintText(view::TextDiff(diff, style));
  return wrote.ok() ? ComparedStatus(**compared) : Fail(kFailed, wrote.message());
}

}  // namespace

void AddDiff(Verb* app, Run* run) {
  Verb* verb =
      app->AddVerb("diff", "What changed from one trace to another, how sure that is, and why");
  auto options = std::make_shared<Options>();
  verb->AddOption("A", &options->a, "a trace, - for stdin").TypeName("").Required();
  verb->AddOption("B", &options->b, "another one").TypeName("").Required();
  verb->AddFlag("--json", &options->json, "machine-readable, see docs/json.md");
  AddArrangement(verb, &options->arrangement);
  AddFilters(verb, &options->selection);
  AddMemory(verb, &options->selection.memory_bytes);
  verb->Callback([options, run] { *run = [options] { return RunDiff(*options); }; });
}

}  // namespace acceltrace::cli
