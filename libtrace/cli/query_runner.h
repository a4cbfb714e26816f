// SPDX-License-Identifier: Apache-2.0
//
// Runs the queries of a page, each in a process of its own that is forked from this one.
//
// In this way a query can be ended at any time, has its own memory, cannot crash the server, and
// does not delay the page. There are limits on the rows and bytes of the answer, on time and
// memory, and on the number of queries at a time.
#ifndef LIBTRACE_CLI_QUERY_RUNNER_H_
#define LIBTRACE_CLI_QUERY_RUNNER_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "libtrace/base/result.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::cli {

class QueryRunner {
 public:
  static constexpr size_t kMostRunning = 2, kMostKept = 8;
  static constexpr uint64_t kMostRows = 10'000, kMostBytes = 8 << 20;
  static constexpr uint64_t kMemoryBytes = uint64_t{512} << 20;
  static constexpr uint64_t kSeconds = 30;

  explicit QueryRunner(uint64_t seconds = kSeconds) : seconds_(seconds) {}
  QueryRunner(const QueryRunner&) = delete;
  QueryRunner& operator=(const QueryRunner&) = delete;
  ~QueryRunner();  // ends all queries

  // Returns the number of the query. The model need not outlive the call.
  Result<uint64_t> Start(const model::Model& model, const std::string& sql);
  // Returns JSON: {"state": "running", "ms"}, or, only once, {"state": "done", "columns", "rows",
  // "more", "notes", "ms"} or {"state": "bad", "limit", "failed" or "cancelled", "message", "ms"}.
  // Integers that JavaScript would round are strings. Returns nullopt if there is no such query.
  std::optional<std::string> Answer(uint64_t number);
  // Returns true if there was such a query.
  bool Cancel(uint64_t number);

  // Returns {"tables": [{"name", "text", "columns": [[name, type], ...]}, ...], "limits": {...}}.
  std::string TablesJson(const model::Model& model) const;

 private:
  struct Query {
    pid_t pid = -1;  // -1 if it has ended
    int answer_fd = -1;
    bool cancelled = false;
    int status = 0;
    std::chrono::steady_clock::time_point begun, ended;
  };
  void Look();
  std::string TextOf(const Query& query) const;
  void Forget(std::map<uint64_t, Query>::iterator query);

  const uint64_t seconds_;
  std::map<uint64_t, Query> queries_;
  uint64_t last_ = 0;
};

}  // namespace acceltrace::cli

#endif  // LIBTRACE_CLI_QUERY_RUNNER_H_
