// SPDX-License-Identifier: Apache-2.0
//
// Queries of a page: each runs in a process of its own, a copy of this one.
//
// So it can be ended at any moment whatever it computes, its memory is its own, its faults are not
// the server's, and the page is drawn meanwhile. What it may take is limited: rows and bytes of the
// answer, time, memory, and how many there are at once.
#ifndef LIBTRACE_CLI_QUERY_RUNNER_H_
#define LIBTRACE_CLI_QUERY_RUNNER_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "libtrace/model/model.h"
#include "libtrace/stream/result.h"

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
  ~QueryRunner();  // ends them all

  // Its number. The model need not stay.
  Result<uint64_t> Start(const model::Model& model, const std::string& sql);
  // JSON: {"state": "running", "ms"}; or, and only once, {"state": "done", "columns", "rows",
  // "more", "notes", "ms"} or {"state": "bad", "limit", "failed" or "cancelled", "message", "ms"}.
  // Integers that JavaScript would round are text. Nothing: there is no such query.
  std::optional<std::string> Answer(uint64_t number);
  // Whether there was one.
  bool Cancel(uint64_t number);

  // {"tables": [{"name", "text", "columns": [[name, type], ...]}, ...], "limits": {...}}
  std::string TablesJson(const model::Model& model) const;

 private:
  struct Query {
    pid_t pid = -1;  // -1: it has ended
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
