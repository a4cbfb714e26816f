// SPDX-License-Identifier: Apache-2.0
//
// acceltrace html: shows a run as a page.
#include "libtrace/view/html/html.h"

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "libtrace/analysis/report/report.h"
#include "libtrace/cli/ceilings.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/compare.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/view/html/compare.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file, other;  // `other` is compared with it
  std::string output, ceilings;
  view::HtmlOptions html;
  Part selection;
};

int Write(OutputFile* output,
          const std::function<Result<view::HtmlStats>(const view::Sink&)>& export_to) {
  const auto stats = export_to([&](std::string_view bytes) { return output->Write(bytes); });
  if (!stats.ok()) return Fail(kFailed, stats.message());
  const Status finished = output->Finish();
  return finished.ok() ? kOk : Fail(kFailed, finished.message());
}

// Shows two traces above each other.
int RunBoth(const Options& options, OutputFile* output) {
  if (!options.ceilings.empty()) {
    return Fail(kMisuse, "--ceilings are of one trace: leave them out, or one of the traces");
  }
  int status = kFailed;
  const auto compared = Compare(options.file, options.other, options.selection,
                                analysis::Predictions::kNone, &status);
  if (!compared.ok()) return Fail(status, compared.message());
  const Compared& both = **compared;
  const int wrote = Write(output, [&](const view::Sink& sink) {
    return view::ExportComparison(both.diff, {both.name_a, &both.report_a},
                                  {both.name_b, &both.report_b}, sink, options.html);
  });
  return wrote == kOk ? ComparedStatus(both) : wrote;
}

int RunHtml(const Options& options) {
  auto output = OutputFile::Create(options.output, {options.file, options.other, options.ceilings});
  if (!output.ok()) return Fail(kFailed, output.message());
  if (output->is_stdout() && isatty(STDOUT_FILENO) != 0) {
    return Fail(kMisuse, "a page is for a browser: write it to a file with -o FILE, or pipe it");
  }
  if (!options.other.empty()) return RunBoth(options, &output.value());
  const auto ceilings = ReadCeilings(options.ceilings);
  if (!ceilings.ok()) return Fail(kMisuse, ceilings.message());
  int status = kFailed;
  const auto loaded = LoadSelected(options.file, options.selection, Laws::kIfWhole, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  analysis::Report report = loaded->Report(analysis::Predictions::kAll);
  if (!ceilings->empty()) analysis::UseCeilings(*ceilings, &report);
  const int wrote = Write(&output.value(), [&](const view::Sink& sink) {
    return view::ExportHtml(report, sink, options.html);
  });
  return wrote == kOk ? VerdictStatus(options.file, report.verdict) : wrote;
}

}  // namespace

void AddHtml(Verb* app, Run* run) {
  Verb* verb = app->AddVerb(
      "html", "Write a run as one page for a browser: answer, timeline, charts; no network");
  auto options = std::make_shared<Options>();
  AddTraceFile(verb, &options->file);
  verb->AddOption("B", &options->other, "another trace: both above each other, and what differs")
      .TypeName("");
  verb->AddOption("-o,--output", &options->output, "file to write, - for stdout")
      .TypeName("OUT.html")
      .Required();
  AddCeilings(verb, &options->ceilings);
  verb->AddOption("--max-size", &options->html.max_bytes,
                  "leave out single events until the page is no larger (default 15MB; at least "
                  "300kB); every loss stays")
      .TypeName("SIZE")
      .Size(true)
      .InRange(uint64_t{300'000}, uint64_t{1'000'000'000});
  AddFilters(verb, &options->selection);
  AddMemory(verb, &options->selection.memory_bytes);
  verb->Callback([options, run] { *run = [options] { return RunHtml(*options); }; });
}

}  // namespace acceltrace::cli
