// SPDX-License-Identifier: Apache-2.0
//
// acceltrace html: a run as one page.
#include "libtrace/view/html.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "libtrace/analysis/report.h"
#include "libtrace/cli/ceilings.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file;
  std::string output, ceilings;
  view::HtmlOptions html;
  Part selection;
};

int RunHtml(const Options& options) {
  if (options.output == "-" && isatty(STDOUT_FILENO) != 0) {
    return Fail(kMisuse, "a page is for a browser: write it to a file with -o FILE, or pipe it");
  }
  const auto ceilings = ReadCeilings(options.ceilings);
  if (!ceilings.ok()) return Fail(kMisuse, ceilings.message());
  int status = kFailed;
  const auto loaded = LoadSelected(options.file, options.selection, Laws::kIfWhole, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  analysis::Report report = loaded->Report(analysis::Predictions::kAll);
  if (!ceilings->empty()) analysis::UseCeilings(*ceilings, &report);
  auto output = OutputFile::Create(options.output);
  if (!output.ok()) return Fail(kFailed, output.message());
  const auto stats = view::ExportHtml(
      report, [&](std::string_view bytes) { return output->Write(bytes); }, options.html);
  if (!stats.ok()) return Fail(kFailed, stats.message());
  const Status finished = output->Finish();
  if (!finished.ok()) return Fail(kFailed, finished.message());
  return VerdictStatus(options.file, report.verdict);
}

}  // namespace

void AddHtml(Verb* app, Run* run) {
  Verb* verb = app->AddVerb(
      "html", "Write a run as one page for a browser: answer, timeline, charts; no network");
  auto options = std::make_shared<Options>();
  AddTraceFile(verb, &options->file);
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
