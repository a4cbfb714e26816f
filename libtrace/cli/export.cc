// SPDX-License-Identifier: Apache-2.0
//
// acceltrace export: a trace for other tools.
#include "libtrace/view/export.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>

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

int RunPerfetto(const Options& options) {
  const auto model = LoadTrace(options.file);
  if (!model.ok()) return Fail(kFailed, model.message());
  auto output = OutputFile::Create(options.output);
  if (!output.ok()) return Fail(kFailed, output.message());
  const auto stats =
      view::ExportPerfetto(**model, [&](std::string_view bytes) { return output->Write(bytes); });
  if (!stats.ok()) return Fail(kFailed, stats.message());
  const Status finished = output->Finish();
  if (!finished.ok()) return Fail(kFailed, finished.message());
  if (stats->skipped > 0) {
    Fail(kOk, fmt::format("{} events could not be drawn: their times are impossible or too many "
                          "overlap; see acceltrace verify",
                          stats->skipped));
  }
  return kOk;
}

int RunCsv(const Options& options) {
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
  return kOk;
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
  verb->add_option("-o,--output", options->output, "file (csv: folder) to write, - for stdout")
      ->type_name("OUT")
      ->required();
  verb->callback([options, run, formats] {
    *run = [options, formats] { return formats.at(options->format)(*options); };
  });
}

}  // namespace acceltrace::cli
