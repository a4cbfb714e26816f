// SPDX-License-Identifier: Apache-2.0
//
// Sums by group against SQLite's: HAVING makes a query one that is not answered here.
#include "libtrace/query/grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::query {
namespace {

using namespace acceltrace::test;

class Rows final : public RowSink {
 public:
  Status Begin(const std::vector<std::string>& columns) override {
    names = columns;
    return {};
  }
  Status Row(const std::vector<Value>& values) override {
    std::string& line = lines.emplace_back();
    for (const Value& value : values) {
      if (const auto* i = std::get_if<int64_t>(&value)) line += fmt::format("{}|", *i);
      if (const auto* d = std::get_if<double>(&value)) line += fmt::format("{:.17g}|", *d);
      if (const auto* s = std::get_if<std::string_view>(&value)) line += fmt::format("'{}'|", *s);
      if (std::holds_alternative<std::monostate>(value)) line += "null|";
    }
    return {};
  }
  std::vector<std::string> names, lines;
};

struct Answered {
  Answer::State state;
  std::string message;
  std::vector<std::string> names, lines;
};

Answered Ask(Database* database, const std::string& sql) {
  Rows rows;
  const Answer answer = database->Run(sql, &rows);
  return {answer.state, answer.message, rows.names, rows.lines};
}

// Jobs of several names, sizes and queues, some ids of which need all of 64 bits.
std::unique_ptr<model::Model> SomeModel() {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddProcess(100, 100, "app");
  builder.AddOpName(100, 1, "mat'mul");
  builder.AddOpName(100, 2, "");
  std::mt19937_64 random(5);
  const char* names[] = {"Copy", "Launch", "copy", "Wait"};
  for (uint32_t i = 0; i < 1500; ++i) {
    const int64_t at = 1'000'000 + 50'000 * int64_t{i};
    const uint64_t bytes = random() % 5 == 0 ? INT64_MAX - random() % 3 : random() % 4096;
    builder.AddApi(names[random() % 4], 100 + random() % 3,
                   random() % 4 == 0 ? UINT64_MAX - i : i + 1, at, at + random() % 9000, bytes);
    if (i % 4 != 0) continue;
    JobSpec job;
    job.job = job.sequence = job.correlation = i + 1;
    job.submit_ns = at + 100, job.doorbell_ns = at + 200, job.submit_end_ns = at + 250;
    job.device_doorbell_ns = at + 300, job.fetched_ns = at + 400;
    job.completion_ns = at + 20'000, job.device_irq_ns = at + 20'100;
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
  return builder.Model();
}

TEST_CASE("Sums by group are SQLite's, whatever is grouped by what") {
  const auto model = SomeModel();
  const auto database = Database::Open(*model, {}).value();
  uint64_t compared = 0, native = 0;
  for (const PlainTable* table : database->Tables()) {
    const auto& columns = table->columns;
    for (size_t k = 0; k < columns.size(); ++k) {
      for (size_t c = k % 3; c < columns.size(); c += 3) {
        const std::string key = Quoted(columns[k].name), of = Quoted(columns[c].name),
                          other = Quoted(columns[(c + 1) % columns.size()].name);
        const std::string sql = fmt::format(
            "SELECT {0}, count(*) AS n, count({1}), sum({1}), avg({1}) mean, min({1}), max({1}), "
            "sum({1} - {2}), max({2} + {1}) FROM {3} GROUP BY {0}",
            key, of, other, Quoted(table->name));
        const Answered found = Ask(database.get(), sql);
        const Answered wanted = Ask(database.get(), sql + " HAVING 1");
        INFO(sql << ": " << found.message);
        CHECK(found.state == wanted.state);
        CHECK(found.message == wanted.message);
        CHECK(found.names == wanted.names);
        if (wanted.state == Answer::State::kDone) CHECK(found.lines == wanted.lines);
        ++compared;
        Budget budget;
        const auto grouping = Grouping::Parse(sql);
        REQUIRE(grouping);
        Source source(*table, &budget);
        native += Group(*grouping, &source).has_value();
      }
    }
  }
  std::printf("# figure grouped natively %llu of %llu\n", static_cast<unsigned long long>(native),
              static_cast<unsigned long long>(compared));
  CHECK(compared > 1'000);
  CHECK(native > compared / 3);
}

TEST_CASE("Groups of several keys come in the order that is asked for") {
  const auto model = SomeModel();
  const auto database = Database::Open(*model, {}).value();
  for (const char* sql : {
           "SELECT name, tid, count(*), sum(end_ns - begin_ns) FROM api GROUP BY tid, name",
           "select NAME, count(*) from API group by Name order by 2 desc, name limit 3",
           "SELECT tid, count(*) AS n FROM api GROUP BY name, tid ORDER BY n, tid DESC, 1 ASC",
           "SELECT \"op\", max(end_ticks), min(bytes) FROM commands GROUP BY \"op\" LIMIT 0;",
           "SELECT count(*) FROM commands GROUP BY unit, opcode, op",
           "SELECT unit, avg(work) w FROM commands GROUP BY unit ORDER BY w DESC",
           "SELECT name, count(*) FROM api WHERE begin_ns >= 20000000 AND begin_ns<40000000 and "
           "tid=101 GROUP BY name",
           "SELECT tid, sum(result) FROM api WHERE name = 'Copy' AND bytes > 100 GROUP BY tid",
           "SELECT tid, sum(result) FROM api WHERE name >= 'M' AND stream > -1 GROUP BY tid",
           "SELECT tid, count(*) FROM api WHERE name = 'none' GROUP BY tid",
           "SELECT tid, count(*) FROM api WHERE tid = '101' GROUP BY tid",
           "SELECT tid, count(*) FROM api WHERE name > 5 GROUP BY tid",
           "SELECT tid, count(*) FROM api WHERE correlation < 700 GROUP BY tid",
           "SELECT tid, count(*) FROM api WHERE correlation > 700 GROUP BY tid",
           "SELECT tid, count(*) FROM api WHERE tid > 100 AND correlation > 700 GROUP BY tid",
           "SELECT unit, count(*) FROM commands WHERE op = 'mat''mul' AND 1 GROUP BY unit",
       }) {
    std::string other = sql;
    const size_t at = std::min(other.find(" ORDER"), other.find(" order"));
    const size_t limit = other.find(" LIMIT");
    other.insert(std::min({at, limit, other.size()}), " HAVING 1");
    INFO(other);
    CHECK(Grouping::Parse(sql).has_value() ==
          (std::string_view(sql).find("''") == std::string_view::npos));
    CHECK(!Grouping::Parse(other));
    const Answered found = Ask(database.get(), sql), wanted = Ask(database.get(), other);
    CHECK(wanted.state == Answer::State::kDone);
    CHECK(found.state == wanted.state);
    CHECK(found.names == wanted.names);
    CHECK(found.lines == wanted.lines);
  }
}

// Queries that are put together at random, most of them of the form, some of them none at all.
TEST_CASE("Whatever is asked, the answer is SQLite's") {
  const auto model = SomeModel();
  const auto database = Database::Open(*model, {}).value();
  std::mt19937 random(11);
  const auto any = [&](const std::vector<std::string>& words) {
    return words[random() % words.size()];
  };
  const std::vector<std::string> columns = {"tid",    "name",     "bytes", "result",
                                            "stream", "begin_ns", "pid",   "correlation"};
  const std::vector<std::string> items = {"tid",
                                          "NAME",
                                          "count(*)",
                                          "count(name)",
                                          "sum(result)",
                                          "max(pid)",
                                          "min(name)",
                                          "avg(end_ns-pid)",
                                          "sum(end_ns - begin_ns)",
                                          "avg(stream + tid)",
                                          "1",
                                          "sum(*)",
                                          "\"tid\"",
                                          "max(correlation)",
                                          "sum(bytes)"};
  const std::vector<std::string> conditions = {
      "tid = 101",          "bytes < 900", "name = 'Copy'", "name >= 'La'",
      "tid = '101'",        "name > 7",    "result = 0",    "begin_ns >= 9000000",
      "begin_ns<=50000000", "end_ns > -5", "stream == 0",   "tid = NULL",
      "correlation <= 99",  "1",           "name = 'a''b'"};
  uint64_t parsed = 0, done = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::string sql = "SELECT ", rest;
    const auto list = [&](const auto& one, size_t most) {
      std::string text = one();
      for (size_t n = random() % most; n > 0; --n) text += ", " + one();
      return text;
    };
    const std::string keys = list([&] { return any(columns); }, 2);
    sql += list(
        [&] {
          const std::string item = random() % 3 == 0 ? any(columns) : any(items);
          return item + any({"", "", "", " AS n", " m", " as tid", " \"x y\""});
        },
        4);
    sql += " FROM api";
    if (random() % 2 == 0) {
      sql += " WHERE " + any(conditions);
      while (random() % 3 == 0) sql += any({" AND ", " and ", " OR "}) + any(conditions);
    }
    sql += " GROUP BY " + keys;
    if (random() % 3 == 0) {
      rest = " ORDER BY " + list(
                                [&] {
                                  return any({"1", "2", "n", "m", "tid", "name", "result"}) +
                                         any({"", " DESC", " asc"});
                                },
                                2);
    }
    parsed += Grouping::Parse(sql + rest).has_value();
    Answered found = Ask(database.get(), sql + rest),
             wanted = Ask(database.get(), sql + " HAVING 1" + rest);
    INFO(sql << rest << ": " << found.message);
    REQUIRE(found.state == wanted.state);
    CHECK(found.names == wanted.names);
    if (wanted.state != Answer::State::kDone) continue;
    ++done;
    // Those that are alike by what they are ordered by come in any order.
    if (!rest.empty()) {
      std::sort(found.lines.begin(), found.lines.end());
      std::sort(wanted.lines.begin(), wanted.lines.end());
    }
    REQUIRE(found.lines == wanted.lines);
  }
  CHECK(parsed > 300);
  CHECK(done > 500);
}

TEST_CASE("Sums of all rows are SQLite's, of none, too") {
  const auto model = SomeModel();
  const auto database = Database::Open(*model, {}).value();
  size_t native = 0;
  for (const PlainTable* table : database->Tables()) {
    for (size_t c = 0; c < table->columns.size(); ++c) {
      const auto& columns = table->columns;
      const std::string of = Quoted(columns[c].name),
                        other = Quoted(columns[(c + 1) % columns.size()].name);
      for (const bool few : {false, true}) {
        const std::string sql = fmt::format(
            "SELECT count(*) n, count({0}), sum({0}), avg({0}), min({0}), max({0}), sum({0} - {1}) "
            "FROM {2}",
            of, other, Quoted(table->name));
        const std::string some = sql + (few ? " WHERE " + of + " < -5" : "");
        const Answered found = Ask(database.get(), some);
        const Answered wanted = Ask(database.get(), some + (few ? " AND 1" : " WHERE 1"));
        INFO(some << ": " << found.message);
        CHECK(found.state == wanted.state);
        CHECK(found.names == wanted.names);
        if (wanted.state == Answer::State::kDone) CHECK(found.lines == wanted.lines);
        Budget budget;
        Source source(*table, &budget);
        native += Group(*Grouping::Parse(some), &source).has_value();
      }
    }
  }
  CHECK(native > 100);
  for (const char* sql :
       {"SELECT count(*) FROM api LIMIT 0", "SELECT sum(tid) s FROM api ORDER BY s",
        "SELECT max(tid), min(pid) FROM api WHERE tid > 1000 ORDER BY 1 DESC",
        "SELECT count(*) FROM api LIMIT 3;"}) {
    std::string other = sql;
    other.insert(std::min(other.find("LIMIT"), other.find("ORDER")),
                 other.find("WHERE") == std::string::npos ? "WHERE 1 " : "AND 1 ");
    INFO(other);
    CHECK(Grouping::Parse(sql));
    CHECK(!Grouping::Parse(other));
    CHECK(Ask(database.get(), sql).lines == Ask(database.get(), other).lines);
  }
}

TEST_CASE("What has another form is left to SQLite") {
  for (const char* sql : {
           "",
           "SELECT",
           "SELECT op FROM commands",
           "SELECT op, count(*) FROM commands",
           "SELECT sum(bytes) FROM commands HAVING 1",
           "SELECT op, count(DISTINCT unit) FROM commands GROUP BY op",
           "SELECT op, sum(bytes) FROM commands WHERE bytes > 1 OR unit = 1 GROUP BY op",
           "SELECT op, sum(bytes) FROM commands WHERE bytes != 1 GROUP BY op",
           "SELECT op, sum(bytes) FROM commands WHERE bytes > 1.5 GROUP BY op",
           "SELECT op, sum(bytes) FROM commands WHERE bytes > work GROUP BY op",
           "SELECT op, sum(bytes) FROM commands WHERE op = 'a''b' GROUP BY op",
           "SELECT op, sum(bytes) FROM commands WHERE op = 'a GROUP BY op",
           "SELECT op, sum(bytes) FROM commands WHERE bytes + 1 > 1 GROUP BY op",
           "SELECT op, sum(bytes) FROM commands c GROUP BY op",
           "SELECT op, sum(bytes) FROM commands, jobs GROUP BY op",
           "SELECT op, sum(bytes) / 2 FROM commands GROUP BY op",
           "SELECT op, sum(bytes * 2) FROM commands GROUP BY op",
           "SELECT op, sum(bytes - 2) FROM commands GROUP BY op",
           "SELECT op, total(bytes) FROM commands GROUP BY op",
           "SELECT op, sum(bytes) FILTER (WHERE 1) FROM commands GROUP BY op",
           "SELECT op, sum(bytes) OVER () FROM commands GROUP BY op",
           "SELECT op, sum(bytes) FROM commands GROUP BY op ORDER BY sum(bytes)",
           "SELECT op, sum(bytes) FROM commands GROUP BY op ORDER BY 3",
           "SELECT op, sum(bytes) FROM commands GROUP BY op LIMIT 2 OFFSET 1",
           "SELECT op, sum(bytes) FROM commands GROUP BY op LIMIT -1",
           "SELECT op, sum(bytes) FROM commands GROUP BY 1",
           "SELECT sum(bytes) AS op FROM commands GROUP BY op",
           "SELECT op FROM commands GROUP BY op; SELECT 1",
           "SELECT op FROM commands GROUP BY op -- all",
           "SELECT \"a\"\"b\" FROM commands GROUP BY op",
       }) {
    INFO(sql);
    CHECK(!Grouping::Parse(sql));
  }
}

TEST_CASE("What does not fit is SQLite's to answer or to refuse") {
  const auto model = SomeModel();
  Budget budget;
  const auto group = [&](const std::string& sql, Budget* limit, bool there = true) {
    for (PlainTable& table : PlainTables(*model)) {
      const auto grouping = Grouping::Parse(sql);
      REQUIRE(grouping);
      if (table.name != grouping->table) continue;
      Source source(std::move(table), limit);
      if (!there) source.there.assign(source.table.columns.size(), false);
      return Group(*grouping, &source).has_value();
    }
    return false;
  };
  CHECK(group("SELECT tid, sum(result) FROM api GROUP BY tid", &budget));
  // Sums beyond 2^63, ids above it, text that would be numbers, columns that are not there.
  CHECK(!group("SELECT tid, sum(bytes) FROM api GROUP BY tid", &budget));
  CHECK(!group("SELECT tid, sum(correlation) FROM api GROUP BY tid", &budget));
  CHECK(!group("SELECT tid, sum(name) FROM api GROUP BY tid", &budget));
  CHECK(!group("SELECT tid, sum(no_column) FROM api GROUP BY tid", &budget));
  CHECK(!group("SELECT pid, sum(result) FROM api GROUP BY tid", &budget));
  CHECK(!group("SELECT tid, sum(result) FROM api GROUP BY tid", &budget, false));
  Budget small;
  small.steps = 100;
  CHECK(!group("SELECT tid, sum(result) FROM api GROUP BY tid", &small));

  Limits limits;
  limits.rows = 2;
  const auto few = Database::Open(*model, limits).value();
  Rows rows;
  const Answer answer = few->Run("SELECT name, count(*) FROM api GROUP BY name", &rows);
  CHECK(answer.state == Answer::State::kDone);
  CHECK(answer.more);
  CHECK(rows.lines.size() == 2);
  limits = {};
  limits.steps = 500;
  const auto short_one = Database::Open(*model, limits).value();
  CHECK(Ask(short_one.get(), "SELECT name, count(*) FROM api GROUP BY name").state ==
        Answer::State::kLimit);
}

}  // namespace
}  // namespace acceltrace::query
