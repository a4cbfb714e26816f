// SPDX-License-Identifier: Apache-2.0
//
// acceltrace export: a trace for other tools.
#include "libtrace/view/export.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>

#include "libtrace/analysis/report.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/view/csv.h"
#include "libtrace/view/tables.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file;
  std::string format = "perfetto";
  std::string output;
};

// What is wrong with the trace is wrong with what was made of it.
int Finish(const Options& options, const model::Model& model, uint64_t skipped) {
  const auto faults = analysis::FindFaults(model, analysis::ComputeLosses(model));
  std::string text;
  if (!faults.empty()) {
    text =
        fmt::format("{}: the export lacks what is missing: {}", options.file, FindingsText(faults));
  }
  if (skipped > 0) {
    text += fmt::format(
        "{}{} events could not be drawn: their times are impossible or too many "
        "overlap; see acceltrace verify",
        text.empty() ? "" : "; ", skipped);
  }
  return text.empty() ? kOk : Fail(kFailed, text);
}

int RunPerfetto(const Options& options) {
  if (options.output == "-" && isatty(STDOUT_FILENO) != 0) {
    return Fail(kMisuse,
                "the perfetto format is binary: write it to a file with -o FILE, or pipe it");
  }
  const auto model = LoadTrace(options.file);
  if (!model.ok()) return Fail(kFailed, model.message());
  auto output = OutputFile::Create(options.output);
  if (!output.ok()) return Fail(kFailed, output.message());
  const auto stats =
      view::ExportPerfetto(**model, [&](std::string_view bytes) { return output->Write(bytes); });
  if (!stats.ok()) return Fail(kFailed, stats.message());
  const Status finished = output->Finish();
  if (!finished.ok()) return Fail(kFailed, finished.message());
  return Finish(options, **model, stats->skipped);
}

int RunCsv(const Options& options) {
  if (options.output == "-") {
    return Fail(kMisuse,
                "csv is a folder with one file a table, which stdout cannot take: name a "
                "folder with -o FOLDER");
  }
  const auto model = LoadTrace(options.file);
  if (!model.ok()) return Fail(kFailed, model.message());
  // A folder: each table is a file of its own.
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error) {
    return Fail(kFailed, fmt::format("cannot create the folder {}: {}: CSV is one file a table",
                                     options.output, error.message()));
  }
  for (const view::PlainTable& table : view::PlainTables(**model)) {
    auto output = OutputFile::Create(options.output + "/" + table.name + ".csv");
    if (!output.ok()) return Fail(kFailed, output.message());
    Status status =
        view::WriteCsv(table, [&](std::string_view bytes) { return output->Write(bytes); });
    if (status.ok()) status = output->Finish();
    if (!status.ok()) return Fail(kFailed, status.message());
  }
  return Finish(options, **model, 0);
}

}  // namespace

void AddExport(CLI::App* app, Run* run) {
  CLI::App* verb = app->add_subcommand("export", "Write a trace for other tools");
  auto options = std::make_shared<Options>();
  verb->add_option("FILE", options->file, "a trace, - for stdin, or a daemon's live socket")
      ->type_name("")
      ->required();
  const std::map<std::string, int (*)(const Options&)> formats = {{"perfetto", RunPerfetto},
                                                                  {"csv", RunCsv}};
  verb->add_option("--format", options->format,
                   "perfetto: binary, for ui.perfetto.dev; csv: a folder, one file a table")
      ->required()
      ->type_name("NAME")
      ->check(CLI::IsMember(formats));
  verb->add_option("-o,--output", options->output, "file to write, - for stdout; csv: a folder")
      ->type_name("OUT")
      ->required();
  verb->callback([options, run, formats] {
    *run = [options, formats] { return formats.at(options->format)(*options); };
  });
}

}  // namespace acceltrace::cli
