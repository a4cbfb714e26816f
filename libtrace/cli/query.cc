// SPDX-License-Identifier: Apache-2.0
//
// acceltrace query: SQL over a trace.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "libtrace/analysis/stretches.h"
#include "libtrace/cli/command.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/model/partial.h"
#include "libtrace/query/command_stream.h"
#include "libtrace/query/needs.h"
#include "libtrace/query/sql.h"
#include "libtrace/view/rows.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file, sql;
  bool csv = false, json = false, tables = false;
  query::Limits limits;
  Part selection;
};

// Names of tables and columns, one column a row.
Status WriteTables(const query::Database& database, view::RowWriter* writer) {
  Status status = writer->Begin({"table", "column", "type"});
  for (const query::PlainTable* table : database.Tables()) {
    for (const query::PlainTable::Column& column : table->columns) {
      constexpr const char* kTypes[] = {"integer", "real", "text"};
      if (!status.ok()) return status;
      status = writer->Row({std::string_view(table->name), std::string_view(column.name),
                            std::string_view(kTypes[static_cast<int>(column.type)])});
    }
  }
  return status.ok() ? writer->End() : status;
}

std::unique_ptr<view::RowWriter> MakeWriter(const Options& options) {
  const view::Sink sink = WriteStdout;
  if (options.json) return view::JsonRows(sink);
  if (options.csv) return view::CsvRows(isatty(STDOUT_FILENO) != 0, sink);
  return view::TableRows(StdoutStyle(), sink);
}

// The exit status: what is said of the answer, and of the trace.
int Finish(const Options& options, const query::Answer& answer, const model::Model& model,
           view::RowWriter* writer) {
  switch (answer.state) {
    case query::Answer::State::kBadQuery:
      return Fail(kMisuse, answer.message);
    case query::Answer::State::kLimit:
    case query::Answer::State::kOutput:
      return Fail(kFailed, answer.message);
    case query::Answer::State::kDone:
      break;
  }
  const Status ended = writer->End();
  if (!ended.ok()) return Fail(kFailed, ended.message());
  return FaultStatus(options.file, model, "the answer");
}

// Sums over all commands of a long trace, which need not be loaded for it. Nothing: they do, and
// nothing was written yet.
std::optional<int> SumCommands(const Options& options, const query::Needs& needs) {
  if (!needs.sums || !needs.command_fields || options.selection.any()) return std::nullopt;
  using model::PartialTrace;
  ExpectFile(options.file);
  const auto trace = PartialTrace::Open(options.file, analysis::Stretches::kLongTrace,
                                        PartialTrace::Checked::kLater);
  if (trace == nullptr) return std::nullopt;
  model::Model model;
  query::CommandStream commands(trace.get(), *needs.command_fields, &model);
  const auto database = query::Database::Open(model, options.limits);
  if (!database.ok()) return std::nullopt;
  const std::unique_ptr<view::RowWriter> writer = MakeWriter(options);
  const auto answer = (*database)->RunOver(&commands, options.sql, writer.get());
  if (!answer) return std::nullopt;
  return Finish(options, *answer, model, writer.get());
}

int RunQuery(const Options& options) {
  if (options.tables != options.sql.empty()) {
    return Fail(kMisuse, options.tables ? "either --tables or a query, not both"
                                        : "no query: write one in SQL, or see --tables");
  }
  int status = kFailed;
  Part selection = options.selection;
  const query::Needs needs = query::NeedsOf(options.sql);
  if (selection.from_ns || selection.to_ns) selection.check_all = !needs.events;
  if (!needs.times) {
    if (const auto summed = SumCommands(options, needs)) return *summed;
  }
  if (!selection.any() && needs.times) {
    selection.needed = model::Stretch{needs.times->lo_ns, needs.times->hi_ns};
    selection.check_all = false;
  }
  selection.command_fields = needs.command_fields;
  selection.calls_only = needs.calls_only;
  selection.wanted = needs.wanted;
  const auto loaded = LoadSelected(options.file, selection, Laws::kNone, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  const auto database = query::Database::Open(*loaded->model, options.limits);
  if (!database.ok()) return Fail(kFailed, database.message());
  if (loaded->narrow) (*database)->Only(needs.reads);
  const std::unique_ptr<view::RowWriter> writer = MakeWriter(options);
  if (options.tables) {
    const Status listed = WriteTables(**database, writer.get());
    return listed.ok() ? kOk : Fail(kFailed, listed.message());
  }
  const query::Answer answer = (*database)->Run(options.sql, writer.get());
  return Finish(options, answer, *loaded->model, writer.get());
}

}  // namespace

void AddQuery(Verb* app, Run* run) {
  Verb* verb = app->AddVerb("query", "Ask a trace in SQL; see docs/query.md");
  auto options = std::make_shared<Options>();
  AddTraceFile(verb, &options->file);
  verb->AddOption("SQL", &options->sql, "one SELECT").TypeName("");
  verb->AddFlag("--tables", &options->tables, "which tables and columns there are");
  const Option csv = verb->AddFlag("--csv", &options->csv, "comma-separated values");
  verb->AddFlag("--json", &options->json, "machine-readable, see docs/json.md").Excludes(csv);
  verb->AddOption("--top", &options->limits.rows, "the first N rows only").TypeName("N").Positive();
  verb->AddOption("--memory", &options->limits.memory_bytes,
                  "what sorting and grouping may take (default 1GB)")
      .TypeName("SIZE")
      .Size(false)
      .InRange(uint64_t{1} << 20, uint64_t{1} << 42);
  verb->AddOption("--steps", &options->limits.steps,
                  "give up after so many steps of the query (default 10000000000)")
      .TypeName("N")
      .Positive();
  AddFilters(verb, &options->selection);
  verb->Callback([options, run] { *run = [options] { return RunQuery(*options); }; });
}

}  // namespace acceltrace::cli
