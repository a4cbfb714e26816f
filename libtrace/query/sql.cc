// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sql.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "libtrace/query/virtual_table.h"

namespace acceltrace::query {
namespace {

// SQLite's own limits, beyond what any reasonable query needs.
constexpr std::pair<int, int> kSqliteLimits[] = {
    {SQLITE_LIMIT_LENGTH, 4 << 20},
    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
    {SQLITE_LIMIT_COLUMN, 500},
    {SQLITE_LIMIT_EXPR_DEPTH, 200},
    {SQLITE_LIMIT_COMPOUND_SELECT, 100},
    {SQLITE_LIMIT_VDBE_OP, 250'000},
    {SQLITE_LIMIT_FUNCTION_ARG, 100},
    {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};
constexpr int kStepsAtOnce = 1000;
// Functions that queries must not call.
constexpr const char* kRefusedFunctions[] = {"load_extension", "fts3_tokenizer",
                                             "sqlite_rename_table"};

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;
using Connection = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

std::string_view Bytes(const void* data, int size) {
  return {static_cast<const char*>(data), data == nullptr ? 0 : static_cast<size_t>(size)};
}

Value ValueOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const void* text = sqlite3_column_text(statement, column);
      return Bytes(text, sqlite3_column_bytes(statement, column));
    }
    case SQLITE_BLOB: {
      const void* blob = sqlite3_column_blob(statement, column);
      return Blob{Bytes(blob, sqlite3_column_bytes(statement, column))};
    }
    default:
      return {};
  }
}

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Nowhere final : public RowSink {
 public:
  Status Begin(const std::vector<std::string>&) override { return {}; }
  Status Row(const std::vector<Value>&) override { return {}; }
};

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(const Limits& limits) : limits_(limits), db_(nullptr, sqlite3_close) {}
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  Status Prepare(const model::Model& model) {
    sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(
        std::min<uint64_t>(limits_.memory_bytes, std::numeric_limits<int64_t>::max())));
    sqlite3* db = nullptr;
    // Everything is in memory, including temporary tables: no file is opened.
    const int rc = sqlite3_open_v2(
        ":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_MEMORY, nullptr);
    db_.reset(db);
    if (rc != SQLITE_OK) return Failed();
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
    if (sqlite3_exec(db, "PRAGMA temp_store=MEMORY", nullptr, nullptr, nullptr) != SQLITE_OK) {
      return Failed();
    }
    for (auto* make : {PlainTables, SystemTables, StackTables, AnswerTables}) {
      for (PlainTable& table : make(model)) {
        sources_.push_back(std::make_unique<Source>(std::move(table), &budget_));
        if (AddVirtualTable(db, sources_.back().get()) != SQLITE_OK) return Failed();
      }
    }
    for (const auto& [limit, value] : kSqliteLimits) sqlite3_limit(db, limit, value);
    sqlite3_set_authorizer(db, Authorize, this);
    sqlite3_progress_handler(db, kStepsAtOnce, Progress, this);
    return {};
  }

  Answer Run(std::string_view sql, RowSink* sink) override {
    Answer answer;
    const Statement statement = Prepare(sql, &answer);
    if (!statement) return answer;
    return Read(statement.get(), sink);
  }

  std::optional<Reads> ReadsOf(std::string_view sql) override {
    const char* tail = nullptr;
    Answer answer;
    reads_.clear();
    for (const auto& source : sources_) source->named = false, source->used = 0;
    if (!Parse(sql, &tail, &answer)) return std::nullopt;
    // The authorizer is not called for the columns of USING.
    for (const auto& source : sources_) {
      if (!source->named) continue;
      std::set<std::string>& columns = reads_[source->table.name];
      for (size_t c = 0; c < source->table.columns.size(); ++c) {
        if ((source->used >> std::min<size_t>(c, 63) & 1) == 0) continue;
        columns.insert(source->table.columns[c].name);
      }
    }
    return std::exchange(reads_, {});
  }

  std::optional<Times> TimesOf(std::string_view sql, std::string_view table,
                               const std::vector<std::string_view>& columns) override {
    const auto source = std::find_if(sources_.begin(), sources_.end(),
                                     [&](const auto& each) { return each->table.name == table; });
    if (source == sources_.end()) return std::nullopt;
    Searches noted;
    for (size_t c = 0; c < (*source)->table.columns.size(); ++c) {
      const std::string& name = (*source)->table.columns[c].name;
      if (std::find(columns.begin(), columns.end(), name) != columns.end()) {
        noted.columns.push_back(c);
      }
    }
    // Each SELECT might look at other rows, and the inner table of a join is not searched without
    // rows.
    selects_ = 0;
    (*source)->noted = &noted;
    const Answer answer = Run(sql, &nowhere_);
    (*source)->noted = nullptr;
    if (answer.state != Answer::State::kDone || selects_ != 1 || noted.cursors != 1 ||
        noted.searches != 1 || (noted.lo == INT64_MIN && noted.hi == INT64_MAX)) {
      return std::nullopt;
    }
    return Times{noted.lo, noted.hi};
  }

  void Only(const Reads& reads) override {
    for (const auto& source : sources_) {
      const auto found = reads.find(source->table.name);
      source->there.clear();
      for (const PlainTable::Column& column : source->table.columns) {
        source->there.push_back(found != reads.end() && found->second.count(column.name) != 0);
      }
    }
  }

  std::vector<const PlainTable*> Tables() const override {
    std::vector<const PlainTable*> tables;
    for (const auto& source : sources_) tables.push_back(&source->table);
    return tables;
  }

 private:
  Status Failed() const {
    return Status::Error(fmt::format("cannot prepare the database: {}",
                                     db_ ? sqlite3_errmsg(db_.get()) : "out of memory"));
  }

  static Answer BadQuery(std::string message) {
    return {Answer::State::kBadQuery, std::move(message), false};
  }

  // Prepares a single query, after checking that it is one and all that it may do.
  Statement Prepare(std::string_view sql, Answer* answer) {
    const auto refuse = [answer](std::string message) {
      *answer = BadQuery(std::move(message));
      return Statement(nullptr, sqlite3_finalize);
    };
    refused_.clear();
    budget_.steps = limits_.steps, budget_.since = 0, budget_.late = false;
    begin_ns_ = NowNs();
    budget_.in_time = [this] {
      const int64_t over_ns = NowNs() - begin_ns_;
      if (limits_.progress) limits_.progress(over_ns);
      return over_ns <= limits_.time_ns;
    };
    const char* tail = nullptr;
    Statement statement = Parse(sql, &tail, answer);
    if (answer->state != Answer::State::kDone) return Statement(nullptr, sqlite3_finalize);
    if (!statement) return refuse("it is empty: write a SELECT");
    const std::string_view rest = sql.substr(static_cast<size_t>(tail - sql.data()));
    if (Parse(rest, &tail, answer) || answer->state != Answer::State::kDone) {
      return refuse("more than one statement: ask one at a time");
    }
    if (!sqlite3_stmt_readonly(statement.get()) || sqlite3_column_count(statement.get()) == 0) {
      return refuse("it is no SELECT: a trace can only be read");
    }
    if (sqlite3_bind_parameter_count(statement.get()) > 0) {
      return refuse("it has parameters (?, :name): write values instead");
    }
    return statement;
  }

  Statement Parse(std::string_view sql, const char** tail, Answer* answer) {
    sqlite3_stmt* statement = nullptr;
    const int size = static_cast<int>(std::min<size_t>(sql.size(), INT32_MAX));
    const int rc = sqlite3_prepare_v2(db_.get(), sql.data(), size, &statement, tail);
    Statement owned(statement, sqlite3_finalize);
    if (rc != SQLITE_OK) *answer = Explain(rc, sql);
    return owned;
  }

  Answer Read(sqlite3_stmt* statement, RowSink* sink) {
    const int columns = sqlite3_column_count(statement);
    std::vector<std::string> names;
    for (int c = 0; c < columns; ++c) {
      const char* name = sqlite3_column_name(statement, c);
      names.emplace_back(name == nullptr ? "" : name);
    }
    Status status = sink->Begin(names);
    std::vector<Value> values(names.size());
    Answer answer;
    for (uint64_t row = 0; status.ok(); ++row) {
      const int rc = sqlite3_step(statement);
      if (rc == SQLITE_DONE) return answer;
      if (rc != SQLITE_ROW) return Explain(rc, {});
      if (row == limits_.rows) {
        answer.more = true;
        return answer;
      }
      for (int c = 0; c < columns; ++c) values[static_cast<size_t>(c)] = ValueOf(statement, c);
      // The time of the sink does not count.
      const int64_t before_ns = NowNs();
      status = sink->Row(values);
      begin_ns_ += NowNs() - before_ns;
    }
    return {Answer::State::kOutput, status.message(), false};
  }

  // Converts SQLite's error to a message that says what to do.
  Answer Explain(int rc, std::string_view sql) const {
    switch (rc & 0xff) {
      case SQLITE_INTERRUPT:
        if (budget_.late) {
          return {Answer::State::kLimit,
                  fmt::format("the query took more than {:g} s: narrow it down (a time window, a "
                              "join by device and job), or raise --timeout",
                              static_cast<double>(limits_.time_ns) / 1e9),
                  false};
        }
        return {Answer::State::kLimit,
                fmt::format("the query took more than {} steps: narrow it down (a time window, a "
                            "join by device and job), or raise --steps",
                            limits_.steps),
                false};
      case SQLITE_NOMEM:
        return {Answer::State::kLimit,
                fmt::format("the query needs more than {} bytes of memory: sort or group fewer "
                            "rows, or raise --memory",
                            limits_.memory_bytes),
                false};
      case SQLITE_AUTH:
        return BadQuery(fmt::format("{}: a trace can only be read, with SELECT", refused_));
      case SQLITE_TOOBIG:
        return BadQuery("the query, or a value in it, is too long");
      default:
        break;
    }
    std::string message = sqlite3_errmsg(db_.get());
    const int offset = sqlite3_error_offset(db_.get());
    if (offset >= 0 && static_cast<size_t>(offset) < sql.size()) {
      message += fmt::format(" at character {}", offset + 1);
    }
    const auto begins = [&](std::string_view what) { return message.rfind(what, 0) == 0; };
    if (begins("no such table") || begins("no such column")) {
      message += "; --tables lists what there is";
    } else if (message.find("not authorized") != std::string::npos || begins("access to")) {
      message = fmt::format("{}: a trace can only be read, with SELECT",
                            refused_.empty() ? "not a query" : refused_);
    }
    return BadQuery(message);
  }

  static int Progress(void* self) {
    return static_cast<SqliteDatabase*>(self)->budget_.Take(kStepsAtOnce) ? 0 : 1;
  }

  static int Authorize(void* self, int action, const char* first, const char* second, const char*,
                       const char*) {
    auto* database = static_cast<SqliteDatabase*>(self);
    if (database->budget_.declaring) return SQLITE_OK;
    switch (action) {
      case SQLITE_READ:
        if (first != nullptr && second != nullptr) database->reads_[first].insert(second);
        return SQLITE_OK;
      case SQLITE_SELECT:
        ++database->selects_;
        return SQLITE_OK;
      case SQLITE_RECURSIVE:
        return SQLITE_OK;
      case SQLITE_FUNCTION:
        for (const char* refused : kRefusedFunctions) {
          if (second == nullptr || sqlite3_stricmp(second, refused) != 0) continue;
          database->refused_ = fmt::format("the function {} is refused", refused);
          return SQLITE_DENY;
        }
        return SQLITE_OK;
      default:
        if (database->refused_.empty()) database->refused_ = "the statement is refused";
        return SQLITE_DENY;
    }
  }

  Limits limits_;
  int64_t begin_ns_ = 0;
  Budget budget_;
  std::string refused_;  // what Authorize() refused
  Reads reads_;          // set by Authorize()
  int selects_ = 0;      // set by Authorize(), for all statements
  Nowhere nowhere_;
  // Must be before the connection, which refers to them.
  std::vector<std::unique_ptr<Source>> sources_;
  Connection db_;
};

}  // namespace

Result<std::unique_ptr<Database>> Database::Open(const model::Model& model, const Limits& limits) {
  auto database = std::make_unique<SqliteDatabase>(limits);
  const Status status = database->Prepare(model);
  if (!status.ok()) return status;
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace acceltrace::query
