// SPDX-License-Identifier: Apache-2.0
//
// acceltrace export: converts a trace for other tools.
#include "libtrace/view/common/export.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>

#include "libtrace/analysis/report/report.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/spill.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/query/sqlite_file.h"
#include "libtrace/query/tables.h"
#include "libtrace/stream/file/index.h"
#include "libtrace/view/common/csv.h"
#include "libtrace/view/timeline/chrome.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file;
  std::string format = "perfetto";
  std::string output;
  Part selection;
};

// Faults of the trace are faults of the export as well.
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

// Limits the memory of an export, whatever the length of the trace; the rest is on the disk.
void BoundMemory(const Options& options) {
  constexpr uint64_t kMostBytes = uint64_t{512} << 20;
  // The memory for an event in the model, for what is drawn of it, and for what is needed while
  // reading; and the size of a packed event in a file.
  constexpr uint64_t kEventBytes = 200, kPackedBytes = 3;
  const auto index = stream::FileIndex::Open(options.file);
  const uint64_t events =
      index != nullptr ? index->events() : ExpectFile(options.file) / kPackedBytes;
  if (events < kMostBytes / kEventBytes) return;
  // The limit on addresses is more than any trace needs.
  const Status bounded = SpillBeyond(kMostBytes, uint64_t{1} << 40);
  if (!bounded.ok()) {
    Fail(kOk, fmt::format("{} is kept in memory, all of it: {}", options.file, bounded.message()));
  }
}

using Export = Result<view::ExportStats> (*)(const model::Model& model, const view::Sink& sink);

int RunTimeline(const Options& options, Export write) {
  auto output = OutputFile::Create(options.output, {options.file});
  if (!output.ok()) return Fail(kFailed, output.message());
  if (write == view::ExportPerfetto && output->is_stdout() && isatty(STDOUT_FILENO) != 0) {
    return Fail(kMisuse,
                "the perfetto format is binary: write it to a file with -o FILE, or pipe it");
  }
  int status = kFailed;
  const auto loaded = LoadSelected(options.file, options.selection, Laws::kNone, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  const model::Model& model = *loaded->model;
  const auto stats = write(model, [&](std::string_view bytes) { return output->Write(bytes); });
  if (!stats.ok()) return Fail(kFailed, stats.message());
  const Status finished = output->Finish();
  if (!finished.ok()) return Fail(kFailed, finished.message());
  return Finish(options, model, stats->skipped);
}

int RunPerfetto(const Options& options) { return RunTimeline(options, view::ExportPerfetto); }

int RunChrome(const Options& options) { return RunTimeline(options, view::ExportChrome); }

// Creates a folder for an export and removes it if it is empty at the end.
class NewFolder {
 public:
  explicit NewFolder(std::string path) : path_(std::move(path)) {
    std::error_code error;
    made_ = std::filesystem::create_directories(path_, error);
    if (!error) return;
    status_ = Status::Error(fmt::format("cannot create the folder {}: {}: CSV is one file a table",
                                        path_, error.message()));
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    if (made_) rmdir(path_.c_str());
  }
  const Status& status() const { return status_; }

 private:
  std::string path_;
  bool made_ = false;
  Status status_;
};

int RunCsv(const Options& options) {
  if (options.output == "-") {
    return Fail(kMisuse,
                "csv is a folder with one file a table, which stdout cannot take: name a "
                "folder with -o FOLDER");
  }
  int status = kFailed;
  const auto loaded = LoadSelected(options.file, options.selection, Laws::kNone, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  const model::Model& model = *loaded->model;
  // In a folder, each table has its own file. No file is replaced before all are written.
  NewFolder folder(options.output);
  if (!folder.status().ok()) return Fail(kFailed, folder.status().message());
  std::vector<OutputFile> files;
  for (const query::PlainTable& table : query::PlainTables(model)) {
    auto output = OutputFile::Create(options.output + "/" + table.name + ".csv", {options.file});
    if (!output.ok()) return Fail(kFailed, output.message());
    files.push_back(std::move(output).value());
    const Status wrote =
        view::WriteCsv(table, [&](std::string_view bytes) { return files.back().Write(bytes); });
    if (!wrote.ok()) return Fail(kFailed, wrote.message());
  }
  for (OutputFile& file : files) {
    const Status finished = file.Finish();
    if (!finished.ok()) return Fail(kFailed, finished.message());
  }
  return Finish(options, model, 0);
}

int RunSqlite(const Options& options) {
  if (options.output == "-") {
    return Fail(kMisuse, "an SQLite file is not written in order: name a file with -o FILE");
  }
  auto output = Output::Create(options.output, {.inputs = {options.file}});
  if (!output.ok()) return Fail(kFailed, output.message());
  int status = kFailed;
  const auto loaded = LoadSelected(options.file, options.selection, Laws::kNone, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  const Status wrote = query::WriteSqliteFile(*loaded->model, &*output);
  if (!wrote.ok()) return Fail(kFailed, wrote.message());
  return Finish(options, *loaded->model, 0);
}

}  // namespace

void AddExport(Verb* app, Run* run) {
  Verb* verb = app->AddVerb("export", "Write a trace for other tools");
  auto options = std::make_shared<Options>();
  AddTraceFile(verb, &options->file);
  const std::map<std::string, int (*)(const Options&)> formats = {
      {"perfetto", RunPerfetto}, {"chrome", RunChrome}, {"csv", RunCsv}, {"sqlite", RunSqlite}};
  std::vector<std::string> names;
  for (const auto& format : formats) names.push_back(format.first);
  verb->AddOption("--format", &options->format,
                  "perfetto: binary, for ui.perfetto.dev; chrome: trace events in JSON; csv: a "
                  "folder, one file a table; sqlite: the tables of acceltrace query")
      .Required()
      .TypeName("NAME")
      .OneOf(names);
  verb->AddOption("-o,--output", &options->output, "file to write, - for stdout; csv: a folder")
      .TypeName("OUT")
      .Required();
  AddFilters(verb, &options->selection);
  AddMemory(verb, &options->selection.memory_bytes);
  verb->Callback([options, run, formats] {
    *run = [options, formats] {
      BoundMemory(*options);
      return formats.at(options->format)(*options);
    };
  });
}

}  // namespace acceltrace::cli
