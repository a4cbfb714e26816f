// SPDX-License-Identifier: Apache-2.0
//
// acceltrace query: runs SQL on a trace.
#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string_view>

#include "libtrace/cli/command.h"
#include "libtrace/cli/filters.h"
#include "libtrace/cli/output_file.h"
#include "libtrace/cli/terminal.h"
#include "libtrace/query/needs.h"
#include "libtrace/query/sources.h"
#include "libtrace/query/sql.h"
#include "libtrace/view/text/rows.h"

namespace acceltrace::cli {
namespace {

struct Options {
  std::string file, sql;
  bool csv = false, json = false, tables = false;
  uint64_t timeout_ms = 30'000;
  query::Limits limits;
  Part selection;
};

// Writes the names of tables and columns, with one column per row.
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

// Shows the elapsed part of the query's time limit until the answer begins.
class Timer {
 public:
  explicit Timer(const Options& options)
      : bar_(std::make_unique<Progress>("querying", options.timeout_ms)) {
    StopAt(options.timeout_ms);
  }

  query::Limits LimitsOf(const Options& options) const {
    query::Limits limits = options.limits;
    limits.time_ns = static_cast<int64_t>(options.timeout_ms) * kNsPerMs;
    limits.progress = [this](int64_t ns) {
      if (bar_) bar_->Update(static_cast<uint64_t>(ns / kNsPerMs));
    };
    return limits;
  }
  view::Sink sink(bool json) {
    return [this, json](std::string_view text) {
      bar_.reset();
      return json ? PrintJson(text) : WriteStdout(text);
    };
  }

 private:
  static constexpr int64_t kNsPerMs = 1'000'000;

  // A single SQL function can take forever, and SQLite cannot interrupt it. It is ended when it has
  // used more CPU time than the whole query may take.
  static void StopAt(uint64_t timeout_ms) {
    constexpr uint64_t kGraceMs = 3'000;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL, event.sigev_signo = SIGXCPU;
    timer_t timer{};
    std::signal(SIGXCPU, [](int) {
      constexpr std::string_view kWhy =
          "acceltrace: a function in the query took longer than --timeout allows: give it shorter "
          "texts\n";
      (void)!write(STDERR_FILENO, kWhy.data(), kWhy.size());
      _exit(kFailed);
    });
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) return;
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    itimerspec when{};
    when.it_value = now;
    when.it_value.tv_sec += static_cast<time_t>((timeout_ms + kGraceMs + 999) / 1000);
    timer_settime(timer, TIMER_ABSTIME, &when, nullptr);
  }

  std::unique_ptr<Progress> bar_;
};

std::unique_ptr<view::RowWriter> MakeWriter(const Options& options, Timer* timer) {
  const view::Sink sink = timer->sink(options.json);
  if (options.json) return view::JsonRows(sink);
  if (options.csv) return view::CsvRows(isatty(STDOUT_FILENO) != 0, sink);
  return view::TableRows(StdoutStyle(), sink);
}

// Explains empty tables whose source was not recorded.
void SayWhatIsAbsent(const query::Reads& reads, const query::Database& database,
                     const model::Model& model) {
  const std::vector<query::AbsentSource> absent = query::AbsentSources(model);
  std::string text;
  for (const query::PlainTable* table : database.Tables()) {
    if (reads.count(table->name) == 0 || table->rows() > 0) continue;
    const std::string why = query::WhyEmpty(absent, table->name);
    if (why.empty()) continue;
    text += fmt::format("{}{} is empty: {}", text.empty() ? "" : "; ", table->name, why);
  }
  if (!text.empty()) Fail(kOk, text);
}

// Returns the exit status, after reporting faults of the answer and of the trace.
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

int RunQuery(const Options& options) {
  if (options.tables != options.sql.empty()) {
    return Fail(kMisuse, options.tables ? "either --tables or a query, not both"
                                        : "no query: write one in SQL, or see --tables");
  }
  int status = kFailed;
  Part selection = options.selection;
  const query::Needs needs = query::NeedsOf(options.sql);
  if (selection.from_ns || selection.to_ns) selection.check_all = !needs.events;
  if (!selection.any() && needs.times) {
    selection.needed = model::Stretch{needs.times->lo_ns, needs.times->hi_ns};
    selection.check_all = false;
  }
  selection.command_fields = needs.command_fields;
  selection.calls_only = needs.calls_only;
  selection.wanted = needs.wanted;
  const auto loaded = LoadSelected(options.file, selection, Laws::kNone, &status);
  if (!loaded.ok()) return Fail(status, loaded.message());
  Timer timer(options);
  const auto database = query::Database::Open(*loaded->model, timer.LimitsOf(options));
  if (!database.ok()) return Fail(kFailed, database.message());
  if (loaded->narrow) (*database)->Only(needs.reads);
  const std::unique_ptr<view::RowWriter> writer = MakeWriter(options, &timer);
  if (options.tables) {
    const Status listed = WriteTables(**database, writer.get());
    return listed.ok() ? kOk : Fail(kFailed, listed.message());
  }
  const query::Answer answer = (*database)->Run(options.sql, writer.get());
  const int finished = Finish(options, answer, *loaded->model, writer.get());
  if (answer.state == query::Answer::State::kDone)
    SayWhatIsAbsent(needs.reads, **database, *loaded->model);
  return finished;
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
  verb->AddOption("--timeout", &options->timeout_ms,
                  "give up when the query has taken so long (default 30s)")
      .TypeName("TIME")
      .Units({{"ms", 1}, {"s", 1000}, {"m", 60'000}})
      .InRange(uint64_t{1}, uint64_t{86'400'000});
  AddFilters(verb, &options->selection);
  verb->Callback([options, run] { *run = [options] { return RunQuery(*options); }; });
}

}  // namespace acceltrace::cli
