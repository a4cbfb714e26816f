// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "libtrace/query/sql.h"
#include "libtrace/query/sqlite_file.h"
#include "libtrace/query/tables.h"
#include "libtrace/query/virtual_table.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::query {
namespace {

using namespace acceltrace::test;
using State = Answer::State;

// An answer as text: fields separated by |, text in quotes.
class Lines final : public RowSink {
 public:
  Status Begin(const std::vector<std::string>& columns) override {
    names = columns;
    return {};
  }
  Status Row(const std::vector<Value>& values) override {
    std::string line;
    for (const Value& value : values) line += (line.empty() ? "" : "|") + Text(value);
    lines.push_back(line);
    return stop_at == lines.size() ? Status::Error("the pipe is full") : Status();
  }
  static std::string Text(const Value& value) {
    if (const auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
    if (const auto* d = std::get_if<double>(&value)) return std::to_string(*d);
    if (const auto* s = std::get_if<std::string_view>(&value)) return "'" + std::string(*s) + "'";
    return std::holds_alternative<Blob>(value) ? "blob" : "null";
  }
  std::vector<std::string> names, lines;
  size_t stop_at = SIZE_MAX;
};

std::string CellText(const Cell& cell) {
  if (const auto* u = std::get_if<uint64_t>(&cell)) {
    return *u > INT64_MAX ? "'" + std::to_string(*u) + "'" : std::to_string(*u);
  }
  if (const auto* i = std::get_if<int64_t>(&cell)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&cell)) return std::to_string(*d);
  if (const auto* s = std::get_if<std::string_view>(&cell)) return "'" + std::string(*s) + "'";
  return "null";
}

// Twelve jobs on two devices, two processes, and an id that needs 64 bits.
TraceBuilder SomeJobs() {
  TraceBuilder builder;
  builder.AddDevice();
  ClockSpec slow;
  slow.hz = 250'000'000;
  builder.AddDevice(slow);
  builder.AddProcess(100, 100, "app\"1");
  builder.AddOpName(100, 7, "mat'mul");
  for (uint32_t i = 0; i < 12; ++i) {
    const int64_t at = 1'000'000 + 50'000 * i;
    JobSpec job;
    job.device = i % 2, job.job = i / 2 + 1, job.sequence = i / 2 + 1;
    job.correlation = i == 3 ? UINT64_MAX - 5 : i + 1;
    job.submit_ns = at + 1'000, job.doorbell_ns = at + 2'000, job.submit_end_ns = at + 2'500;
    job.device_doorbell_ns = at + 3'000, job.fetched_ns = at + 4'000;
    job.completion_ns = at + 20'000, job.device_irq_ns = at + 20'100;
    job.irq_ns = at + 21'000, job.complete_ns = at + 22'000;
    CommandSpec command;
    command.unit = i % 3 == 0 ? kIn : kMatrix;
    command.fetched_ns = at + 4'000, command.head_ns = at + 5'000;
    command.start_ns = at + 6'000 + 100 * i, command.end_ns = at + 19'000;
    command.tag = i % 2 == 0 ? 7 : 0, command.bytes = 1u << i, command.work = i;
    job.commands = {command};
    builder.AddApi(i % 4 == 0 ? "Copy" : "Launch", 100, job.correlation, at, at + 23'000, 1u << i);
    builder.AddJob(job);
  }
  builder.AddRange("step", 100, 1'000'000, 1'300'000);
  builder.AddTrueCounters(0, 900'000);
  builder.AddTrueCounters(0, 2'000'000);
  return builder;
}

// Calls and jobs of several names, processes and sizes, more than are read at once, some with
// numbers that need all of 64 bits.
TraceBuilder ManyCalls() {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddOpName(100, 1, "mat'mul");
  builder.AddOpName(100, 2, "");
  std::mt19937_64 random(5);
  const char* names[] = {"Copy", "Launch", "copy", "Wait"};
  for (uint32_t i = 0; i < 700; ++i) {
    const int64_t at = 1'000'000 + 50'000 * int64_t{i};
    const uint64_t bytes = random() % 5 == 0 ? UINT64_MAX - random() % 3 : random() % 4096;
    builder.AddApi(names[random() % 4], 100 + random() % 3,
                   random() % 4 == 0 ? UINT64_MAX - i : i + 1, at, at + random() % 9000, bytes);
    if (i % 4 != 0) continue;
    JobSpec job;
    job.job = job.sequence = job.correlation = i + 1;
    job.submit_ns = at + 100, job.doorbell_ns = at + 200, job.submit_end_ns = at + 250;
    job.device_doorbell_ns = at + 300, job.fetched_ns = at + 400;
    job.completion_ns = at + 20'000, job.device_irq_ns = at + 20'100;
    if (random() % 2 == 0) job.irq_ns = at + 20'500;
    CommandSpec command;
    command.unit = random() % 2 == 0 ? kIn : kMatrix;
    command.fetched_ns = at + 400, command.head_ns = at + 500;
    command.start_ns = at + 600, command.end_ns = at + 10'000 + random() % 500;
    command.tag = random() % 3, command.bytes = random() % 100, command.work = random() % 7;
    job.commands = {command};
    builder.AddJob(job);
  }
  builder.AddTrueCounters(0, 900'000);
  builder.AddTrueCounters(0, 90'000'000);
  return builder;
}

struct Fixture {
  explicit Fixture(TraceBuilder builder = SomeJobs(), const Limits& limits = {})
      : model(builder.Model()) {
    auto opened = Database::Open(*model, limits);
    REQUIRE(opened.ok());
    database = std::move(opened).value();
  }
  std::vector<std::string> Ask(const std::string& sql) {
    Lines lines;
    const Answer answer = database->Run(sql, &lines);
    INFO(sql << ": " << answer.message);
    CHECK(answer.state == State::kDone);
    return lines.lines;
  }
  Answer Fails(const std::string& sql) {
    Lines lines;
    return database->Run(sql, &lines);
  }
  std::unique_ptr<model::Model> model;
  std::unique_ptr<Database> database;
};

TEST_CASE("Each table answers with what it holds") {
  Fixture trace;
  std::set<std::string> with_rows;
  for (const PlainTable* table : trace.database->Tables()) {
    const auto lines = trace.Ask("SELECT * FROM " + Quoted(table->name));
    REQUIRE(lines.size() == table->rows());
    for (size_t row = 0; row < lines.size(); ++row) {
      std::string wanted;
      for (const auto& column : table->columns) {
        wanted += (wanted.empty() ? "" : "|") + CellText(column.cell(row));
      }
      CHECK(lines[row] == wanted);
    }
    if (!lines.empty()) with_rows.insert(table->name);
  }
  for (const char* name : {"devices", "processes", "api", "ranges", "host_events", "jobs",
                           "commands", "counters", "trace", "ops", "api_calls", "job_stages",
                           "transfers", "units", "stalls", "gaps", "range_totals", "clocks"}) {
    INFO(name);
    CHECK(with_rows.count(name) == 1);
  }
}

TEST_CASE("Rows that are read together are those that are read one by one") {
  Fixture trace(ManyCalls());
  for (const char* name : {"api", "host_events", "jobs", "commands", "job_stages"}) {
    const auto& tables = trace.database->Tables();
    const auto table = std::find_if(tables.begin(), tables.end(),
                                    [&](const PlainTable* each) { return each->name == name; });
    REQUIRE(table != tables.end());
    const size_t rows = (*table)->rows();
    CHECK(rows > kRowsAtOnce);
    for (const size_t step : {1, 3, 40, 200}) {
      const auto lines =
          trace.Ask(fmt::format("SELECT * FROM {} WHERE rowid % {} = 0", name, step));
      REQUIRE(lines.size() == (rows + step - 1) / step);
      for (size_t row = 0; row < rows; row += step) {
        std::string wanted;
        for (const auto& column : (*table)->columns) {
          wanted += (wanted.empty() ? "" : "|") + CellText(column.cell(row));
        }
        CHECK(lines[row / step] == wanted);
      }
    }
  }
}

// A unary plus makes SQLite sort the rows itself.
TEST_CASE("Rows that come in the order of groups have the answers of rows that are sorted") {
  Fixture trace(ManyCalls());
  size_t compared = 0, unsorted = 0;
  for (const PlainTable* table : trace.database->Tables()) {
    const auto& columns = table->columns;
    for (size_t k = 0; k < columns.size(); ++k) {
      const std::string key = Quoted(columns[k].name),
                        other = Quoted(columns[(k * 7 + 3) % columns.size()].name);
      for (const bool second : {false, true}) {
        const std::string sql = fmt::format(
            "SELECT {0}, {1}, count(*), count({1}), min(rowid), max({1}), group_concat({1}) FROM "
            "{2} "
            "WHERE rowid <> 5 GROUP BY ",
            key, other, Quoted(table->name));
        const std::string fast = sql + key + (second ? ", " + other : "");
        const std::string slow = sql + "+" + key + (second ? ", +" + other : "");
        INFO(fast);
        CHECK(trace.Ask(fast) == trace.Ask(slow));
        ++compared;
        std::string plan;
        for (const auto& line : trace.Ask("EXPLAIN QUERY PLAN " + fast)) plan += line;
        unsorted += plan.find("TEMP B-TREE") == std::string::npos;
      }
    }
  }
  CHECK(compared > 500);
  CHECK(unsorted > compared / 2);
}

TEST_CASE("A process's control group has its container beside it") {
  const std::string id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  TraceBuilder builder = SomeJobs();
  builder.AddGroup(100, 900'000, "/docker/" + id);
  builder.AddGroup(100, 950'000, "/user.slice");
  builder.AddGroup(101, 900'000, "/lxc.payload.web");
  Fixture trace(std::move(builder));
  CHECK(trace.Ask("SELECT pid, control_group, container FROM process_groups") ==
        std::vector<std::string>{"100|'/docker/" + id + "'|'" + id + "'", "100|'/user.slice'|''",
                                 "101|'/lxc.payload.web'|'web'"});
  CHECK(trace.Ask("SELECT DISTINCT g.container, j.pid FROM jobs j JOIN process_groups g USING (pid)"
                  " WHERE g.container <> ''") == std::vector<std::string>{"'" + id + "'|100"});
}

// A unary plus prevents SQLite from passing a constraint on. Both ways must agree for any column
// and value.
TEST_CASE("Constraints that are handed down find what comparing each row finds") {
  Fixture trace;
  uint64_t compared = 0, found = 0;
  for (const PlainTable* table : trace.database->Tables()) {
    const size_t rows = table->rows();
    for (const auto& column : table->columns) {
      std::set<std::string> values = {"null", "5", "'x'", "2.5", "'5'", "-1", "9e18"};
      for (size_t row = 0; row < rows && values.size() < 12; row += 1 + rows / 5) {
        std::string value = CellText(column.cell(row));
        for (size_t at = 1; at + 1 < value.size() && value[0] == '\''; ++at) {
          if (value[at] == '\'') value.insert(at++, "'");
        }
        values.insert(value);
      }
      for (const std::string& value : values) {
        for (const char* op : {"=", "<", "<=", ">", ">=", "IS"}) {
          const std::string name = Quoted(column.name);
          const std::string head =
              "SELECT count(*), min(rowid) FROM " + Quoted(table->name) + " WHERE ";
          const auto fast = trace.Ask(head + name + op + (*op == 'I' ? " " : "") + value);
          // The same comparison as that of the column, but not passed on.
          const std::string type = column.type == PlainTable::Type::kText   ? "TEXT"
                                   : column.type == PlainTable::Type::kReal ? "REAL"
                                                                            : "";
          const std::string cast = type.empty() ? "+" + name : "CAST(" + name + " AS " + type + ")";
          const auto slow = trace.Ask(head + cast + " " + op + " " + value);
          INFO(table->name << "." << column.name << " " << op << " " << value);
          CHECK(fast == slow);
          ++compared;
          found += fast[0][0] != '0';
        }
      }
    }
  }
  CHECK(compared > 5000);
  CHECK(found > 500);
}

TEST_CASE("Joins find rows by index as by looking at each") {
  Fixture trace;
  for (const char* condition :
       {"a.job = b.job AND a.device = b.device", "a.correlation = b.correlation",
        "a.unit = b.unit AND a.work > b.work", "a.op = b.op"}) {
    const std::string fast =
        std::string("SELECT count(*) FROM commands a JOIN commands b ON ") + condition;
    std::string slow = fast;
    for (size_t at = 0; (at = slow.find("= b.", at)) != std::string::npos; at += 5) {
      slow.replace(at, 4, "=+b.");
    }
    for (size_t at = 0; (at = slow.find("a.", at)) != std::string::npos; at += 3) {
      if (at > slow.find(" ON ")) slow.replace(at, 2, "+a.");
    }
    INFO(fast << " / " << slow);
    CHECK(trace.Ask(fast) == trace.Ask(slow));
  }
  CHECK(trace.Ask("SELECT count(*) FROM commands c JOIN jobs j ON j.device = c.device AND "
                  "j.job = c.job") == std::vector<std::string>{"12"});
  CHECK(trace.Ask("SELECT c.op, count(*) FROM commands c GROUP BY c.op ORDER BY 1") ==
        std::vector<std::string>{"''|6", "'mat'mul'|6"});
}

TEST_CASE("Rows that rise come in order without being sorted, and only there") {
  Fixture trace;
  const auto plan = [&](const std::string& sql) {
    std::string all;
    for (const std::string& line : trace.Ask("EXPLAIN QUERY PLAN " + sql)) all += line;
    return all;
  };
  CHECK(plan("SELECT * FROM api ORDER BY begin_ns").find("TEMP B-TREE") == std::string::npos);
  CHECK(plan("SELECT * FROM api ORDER BY end_ns").find("TEMP B-TREE") != std::string::npos);
  CHECK(plan("SELECT * FROM api ORDER BY begin_ns DESC").find("TEMP B-TREE") != std::string::npos);
}

TEST_CASE("Numbers that need 64 bits are digits, and stay apart") {
  Fixture trace;
  CHECK(trace.Ask("SELECT typeof(correlation), correlation FROM jobs WHERE typeof(correlation) = "
                  "'text'") == std::vector<std::string>{"'text'|'18446744073709551610'"});
  CHECK(trace.Ask("SELECT count(*) FROM jobs WHERE correlation = '18446744073709551610'") ==
        std::vector<std::string>{"1"});
  CHECK(trace.Ask("SELECT count(*) FROM jobs j JOIN api a ON a.correlation = j.correlation") ==
        std::vector<std::string>{"12"});
}

TEST_CASE("A trace can only be read") {
  Fixture trace;
  for (const char* sql : {"",
                          "  ; ",
                          "-- nothing",
                          "SELEC 1",
                          "SELECT",
                          "SELECT 1; SELECT 2",
                          "SELECT 1; DROP TABLE jobs",
                          "DROP TABLE jobs",
                          "DELETE FROM jobs",
                          "UPDATE jobs SET job = 1",
                          "INSERT INTO jobs(job) VALUES(1)",
                          "CREATE TABLE x(y)",
                          "CREATE TEMP TABLE x(y)",
                          "CREATE VIEW v AS SELECT 1",
                          "CREATE VIRTUAL TABLE f USING fts5(x)",
                          "ALTER TABLE jobs RENAME TO x",
                          "ATTACH 'file' AS x",
                          "DETACH main",
                          "VACUUM",
                          "VACUUM INTO '/tmp/never'",
                          "PRAGMA temp_store_directory='/'",
                          "PRAGMA user_version",
                          "SELECT * FROM pragma_table_info('jobs')",
                          "BEGIN",
                          "COMMIT",
                          "SAVEPOINT x",
                          "REINDEX",
                          "ANALYZE",
                          "SELECT load_extension('x.so')",
                          "SELECT fts3_tokenizer('simple')",
                          "SELECT readfile('/etc/passwd')",
                          "SELECT writefile('x', 1)",
                          "SELECT * FROM nosuch",
                          "SELECT nosuch FROM jobs",
                          "SELECT ?",
                          "SELECT :name",
                          "EXPLAIN DROP TABLE jobs",
                          "SELECT \"job\" || \"nosuch\" FROM jobs",
                          "SELECT 'open",
                          "SELECT 1 /*"}) {
    const Answer answer = trace.Fails(sql);
    INFO(sql << ": " << answer.message);
    CHECK(answer.state == State::kBadQuery);
    CHECK_FALSE(answer.message.empty());
    CHECK(answer.message.find('\n') == std::string::npos);
  }
  CHECK(std::fopen("/tmp/never", "r") == nullptr);
  // None of it had any effect.
  CHECK(trace.Ask("SELECT count(*) FROM jobs") == std::vector<std::string>{"12"});
  CHECK(trace.Ask("SELECT count(*) FROM sqlite_schema") == std::vector<std::string>{"0"});
}

TEST_CASE("What a query may take is limited") {
  Limits limits;
  limits.steps = 200'000;
  limits.memory_bytes = 8 << 20;
  limits.rows = 3;
  Fixture trace(SomeJobs(), limits);
  const char* endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) ";
  for (const std::string& sql :
       {endless + std::string("SELECT count(*) FROM t"),
        std::string("SELECT count(*) FROM commands a, commands b, commands c, commands d, "
                    "commands e, commands f, commands g WHERE a.work + g.work < 0"),
        // Nothing is ever found, so that all time is spent on rows below SQLite's instructions.
        std::string("SELECT count(*) FROM api a CROSS JOIN api b CROSS JOIN api c CROSS JOIN api d "
                    "CROSS JOIN api e CROSS JOIN api f WHERE f.bytes > a.bytes + 1000000")}) {
    const Answer answer = trace.Fails(sql);
    INFO(sql);
    CHECK(answer.state == State::kLimit);
    CHECK(answer.message.find("more than 200000 steps") != std::string::npos);
  }
  Lines lines;
  const Answer cut = trace.database->Run("SELECT job FROM jobs", &lines);
  CHECK((cut.state == State::kDone && cut.more && lines.lines.size() == 3));
  Lines full;
  full.stop_at = 2;
  const Answer stopped = trace.database->Run("SELECT job FROM jobs", &full);
  CHECK(stopped.state == State::kOutput);
  CHECK(stopped.message == "the pipe is full");
  // Memory is limited for the process, so this comes last.
  limits.steps = UINT64_MAX;
  Fixture little(SomeJobs(), limits);
  const Answer big = little.Fails(
      endless + std::string("SELECT max(y) FROM (SELECT x, randomblob(100) AS y FROM t LIMIT "
                            "500000) GROUP BY x % 250000"));
  CHECK(big.state == State::kLimit);
  CHECK(big.message.find("memory") != std::string::npos);
  CHECK(little.Fails("SELECT length(randomblob(100000000))").state != State::kDone);
  sqlite3_hard_heap_limit64(0);
}

TEST_CASE("Names from a trace are names, whatever is in them") {
  TraceBuilder builder = SomeJobs();
  proto::Device* device = builder.device(0);
  device->set_stalls(0, "\") , x TEXT, \"y");
  device->set_stalls(1, "MeMory");
  device->set_stalls(2, "memory");
  builder.device(1)->set_stalls(1, std::string("nul\0here\n", 9));
  builder.AddProcess(101, 101, "'; DROP TABLE jobs; --");
  Fixture trace(std::move(builder));
  CHECK(trace.Ask("SELECT count(*) FROM commands") == std::vector<std::string>{"12"});
  CHECK(trace.Ask("SELECT sum(\"stall_MeMory_ticks\"), sum(stall_memory_ticks_2) FROM commands")
            .size() == 1);
  CHECK(trace.Ask("SELECT name FROM processes WHERE pid = 101") ==
        std::vector<std::string>{"''; DROP TABLE jobs; --'"});
  CHECK(trace.Ask("SELECT count(*) FROM processes WHERE name = '''; DROP TABLE jobs; --'") ==
        std::vector<std::string>{"1"});
}

// Returns the first cell of an answer.
int64_t NumberOf(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  REQUIRE(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
  REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
  const int64_t number = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return number;
}

Status WriteTo(const model::Model& model, const std::string& path) {
  auto output = Output::Create(path);
  return output.ok() ? WriteSqliteFile(model, &*output) : output.status();
}

TEST_CASE("An SQLite file has views for tools that draw") {
  const auto model = SomeJobs().Model();
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/views_test.sqlite";
  REQUIRE(WriteTo(*model, path).ok());
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  const auto slices = [&](const std::string& kind) {
    return static_cast<size_t>(NumberOf(db, "SELECT count(*) FROM slices WHERE kind = '" + kind +
                                                "' AND end_ns >= begin_ns AND name <> ''"));
  };
  CHECK(slices("call") == model->api.size());
  CHECK(slices("job") == model->jobs.size());
  CHECK(slices("submission") == model->jobs.size());
  CHECK(slices("command") == model->commands.size());
  CHECK(static_cast<size_t>(NumberOf(db, "SELECT count(*) FROM job_commands")) ==
        model->commands.size());
  CHECK(NumberOf(db, "SELECT sum(end_ns - start_ns) FROM job_commands") ==
        NumberOf(db, "SELECT sum(end_ns - start_ns) FROM commands"));
  sqlite3_close(db);
  std::remove(path.c_str());
}

TEST_CASE("An SQLite file holds the tables, to the last cell") {
  TraceBuilder builder = SomeJobs();
  builder.device(0)->set_stalls(1, "me\"mo,ry");
  builder.AddProcess(102, 102, std::string(70'000, 'x') + std::string("\0\xff\n'", 4));
  const auto model = builder.Model();
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/query_test.sqlite";
  REQUIRE(WriteTo(*model, path).ok());
  REQUIRE(WriteTo(*model, path).ok());  // replaces the previous file
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
  size_t tables = 0, cells = 0;
  for (auto* make : {PlainTables, SystemTables, StackTables, AnswerTables}) {
    for (const PlainTable& table : make(*model)) {
      ++tables;
      sqlite3_stmt* statement = nullptr;
      const std::string sql = "SELECT * FROM " + Quoted(table.name) + " ORDER BY rowid";
      REQUIRE(sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
      for (size_t row = 0; row < table.rows(); ++row) {
        REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
        REQUIRE(sqlite3_column_count(statement) == static_cast<int>(table.columns.size()));
        for (int c = 0; c < sqlite3_column_count(statement); ++c) {
          const auto& column = table.columns[static_cast<size_t>(c)];
          std::string wanted = CellText(column.cell(row));
          const int type = sqlite3_column_type(statement, c);
          std::string found = "null";
          if (type == SQLITE_FLOAT) found = std::to_string(sqlite3_column_double(statement, c));
          if (type == SQLITE_INTEGER) found = std::to_string(sqlite3_column_int64(statement, c));
          if (type == SQLITE_TEXT) {
            const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, c));
            const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, c));
            found = "'" + std::string(text, size) + "'";
          }
          INFO(table.name << "." << column.name << " of " << row);
          CHECK(found == wanted);
          CHECK(sqlite3_column_name(statement, c) == column.name);
          ++cells;
        }
      }
      CHECK(sqlite3_step(statement) == SQLITE_DONE);
      sqlite3_finalize(statement);
    }
  }
  sqlite3_close(db);
  std::remove(path.c_str());
  CHECK(tables == 27);
  CHECK(cells > 1500);
  CHECK(WriteTo(*model, "/nowhere/x").message().find("choose another place") != std::string::npos);
  CHECK(WriteTo(*model, "/dev/full").message().find("no ordinary file") != std::string::npos);
}

}  // namespace
}  // namespace acceltrace::query
