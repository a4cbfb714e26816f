// SPDX-License-Identifier: Apache-2.0
//
// SQL over the model: nothing is imported, columns are read where they are.
//
//   auto database = Database::Open(model, {});
//   const Answer answer = (*database)->Run("SELECT ...", &sink);
//
// The query comes from anywhere: it can read the tables and compute, within limits, and do
// nothing else. So can the trace: names of causes become names of columns.
#ifndef LIBTRACE_QUERY_SQL_H_
#define LIBTRACE_QUERY_SQL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libtrace/model/model.h"
#include "libtrace/query/tables.h"
#include "libtrace/stream/result.h"

namespace acceltrace::query {

struct Limits {
  uint64_t memory_bytes = uint64_t{1} << 30;  // of all queries of the process
  uint64_t steps = 10'000'000'000;            // instructions of SQLite, and rows looked at
  uint64_t rows = UINT64_MAX;                 // of the answer; more are not asked for
  int64_t time_ns = INT64_MAX;                // without what the answer's sink takes
  // Called now and then, with the time that is over.
  std::function<void(int64_t ns)> progress;
};

// Bytes that are no text.
struct Blob {
  std::string_view bytes;
};
// Valid until the next row.
using Value = std::variant<std::monostate, int64_t, double, std::string_view, Blob>;

// Takes the answer. An error ends the query.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual Status Begin(const std::vector<std::string>& columns) = 0;
  virtual Status Row(const std::vector<Value>& values) = 0;
};

struct Answer {
  enum class State {
    kDone,
    kBadQuery,  // it is no query, or not one that may be asked
    kLimit,     // it took more than the limits
    kOutput,    // the sink's error
  };
  State state = State::kDone;
  std::string message;  // one line
  bool more = false;    // there are more rows than Limits::rows
};

// Which columns of which tables a query reads; "": its rows.
using Reads = std::map<std::string, std::set<std::string>>;

// Between which, of a column of times, lies whatever a query can answer from.
struct Times {
  int64_t lo_ns = INT64_MIN, hi_ns = INT64_MAX;
};

class Database {
 public:
  // The model must outlive it.
  static Result<std::unique_ptr<Database>> Open(const model::Model& model, const Limits& limits);
  virtual ~Database() = default;

  virtual Answer Run(std::string_view sql, RowSink* sink) = 0;
  // None: it is no query. Nothing is computed but how many rows the tables have.
  virtual std::optional<Reads> ReadsOf(std::string_view sql) = 0;
  // Of a query that reads one table, and that once: between which of these columns' values are the
  // rows that it looks at? None: it looks at others, or cannot be told. To be asked of a database
  // without rows, through which the query is run.
  virtual std::optional<Times> TimesOf(std::string_view sql, std::string_view table,
                                       const std::vector<std::string_view>& columns) = 0;
  // The model holds these alone: an answer from anything else is refused.
  virtual void Only(const Reads& reads) = 0;
  // All tables: names and columns are the schema.
  virtual std::vector<const PlainTable*> Tables() const = 0;
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SQL_H_
