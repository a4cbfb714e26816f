// SPDX-License-Identifier: Apache-2.0
//
// SQL over the model. Nothing is imported: columns are read in place.
//
//   auto database = Database::Open(model, {});
//   const Answer answer = (*database)->Run("SELECT ...", &sink);
//
// Queries are untrusted: they can read the tables and compute, within limits, and do nothing else.
// So are traces: names of causes become names of columns.
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

#include "libtrace/base/result.h"
#include "libtrace/model/tables/model.h"
#include "libtrace/query/tables.h"

namespace acceltrace::query {

struct Limits {
  uint64_t memory_bytes = uint64_t{1} << 30;  // for all queries of the process
  uint64_t steps = 10'000'000'000;            // instructions of SQLite, and rows looked at
  uint64_t rows = UINT64_MAX;                 // of the answer; reading stops after them
  int64_t time_ns = INT64_MAX;                // without the time that the sink takes
  // Called from time to time with the elapsed time.
  std::function<void(int64_t ns)> progress;
};

// Bytes that are not text.
struct Blob {
  std::string_view bytes;
};
// Valid until the next row.
using Value = std::variant<std::monostate, int64_t, double, std::string_view, Blob>;

// Receives the answer. An error ends the query.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual Status Begin(const std::vector<std::string>& columns) = 0;
  virtual Status Row(const std::vector<Value>& values) = 0;
};

struct Answer {
  enum class State {
    kDone,
    kBadQuery,  // not a query, or not a permitted one
    kLimit,     // exceeded the limits
    kOutput,    // the sink's error
  };
  State state = State::kDone;
  std::string message;  // one line
  bool more = false;    // there are more rows than Limits::rows
};

// The columns of each table that a query reads; "" means only its rows.
using Reads = std::map<std::string, std::set<std::string>>;

// The range of a column of times that contains everything the answer can depend on.
struct Times {
  int64_t lo_ns = INT64_MIN, hi_ns = INT64_MAX;
};

class Database {
 public:
  // The model must outlive it.
  static Result<std::unique_ptr<Database>> Open(const model::Model& model, const Limits& limits);
  virtual ~Database() = default;

  virtual Answer Run(std::string_view sql, RowSink* sink) = 0;
  // Returns nullopt if it is not a query. Only computes how many rows the tables have.
  virtual std::optional<Reads> ReadsOf(std::string_view sql) = 0;
  // For a query that reads one table once: returns the range of these columns' values in the rows
  // that it looks at, or nullopt if it looks at others or that is not known. Must be called for a
  // database without rows, because it runs the query.
  virtual std::optional<Times> TimesOf(std::string_view sql, std::string_view table,
                                       const std::vector<std::string_view>& columns) = 0;
  // Tells that the model only holds these: queries that read anything else are refused.
  virtual void Only(const Reads& reads) = 0;
  // Returns all tables: their names and columns are the schema.
  virtual std::vector<const PlainTable*> Tables() const = 0;
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_SQL_H_
