// SPDX-License-Identifier: Apache-2.0
#include "libtrace/cli/query_runner.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "libtrace/query/sources.h"
#include "libtrace/query/sql.h"
#include "libtrace/query/table_texts.inc"

namespace acceltrace::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

// The memory of a query's process in addition to the memory of the trace.
constexpr uint64_t kComputingBytes = uint64_t{1} << 30;

Json CellJson(const query::Value& value) {
  constexpr int64_t kSafe = (int64_t{1} << 53) - 1;
  if (const auto* i = std::get_if<int64_t>(&value)) {
    return *i <= kSafe && *i >= -kSafe ? Json(*i) : Json(std::to_string(*i));
  }
  if (const auto* d = std::get_if<double>(&value)) {
    return std::isfinite(*d) ? Json(*d) : Json(fmt::format("{}", *d));
  }
  if (const auto* s = std::get_if<std::string_view>(&value)) return Json(std::string(*s));
  if (const auto* blob = std::get_if<query::Blob>(&value)) {
    std::string hex;
    for (const unsigned char byte : blob->bytes) hex += fmt::format("{:02x}", byte);
    return Json(hex);
  }
  return nullptr;
}

// Collects the beginning of the answer, {"state":"done","columns":[...],"rows":[...], up to the
// size limit.
class AnswerSink final : public query::RowSink {
 public:
  Status Begin(const std::vector<std::string>& columns) override {
    text_ = R"({"state":"done","columns":)" + Dump(columns) + ",\"rows\":[";
    return {};
  }
  Status Row(const std::vector<query::Value>& values) override {
    Json row = Json::array();
    for (const query::Value& value : values) row.push_back(CellJson(value));
    const std::string text = Dump(row);
    if (text_.size() + text.size() > QueryRunner::kMostBytes) {
      full_ = true;
      return Status::Error("the answer is too long");
    }
    text_ += (any_ ? "," : "") + text, any_ = true;
    return {};
  }
  bool full() const { return full_; }
  std::string End() { return std::move(text_) + "]"; }

 private:
  std::string text_;
  bool any_ = false, full_ = false;
};

std::string Failed(const char* state, std::string message) {
  // Removes hints to options that a page does not have.
  for (const std::string_view rest :
       {"; --tables lists what there is", ", or raise --memory", ", or raise --steps"}) {
    if (const size_t at = message.find(rest); at != message.npos) message.erase(at, rest.size());
  }
  return Dump({{"state", state}, {"message", message}});
}

// Notes about tables that are empty because their source was not recorded.
Json Notes(const model::Model& model, query::Database* database, const std::string& sql) {
  const auto absent = query::AbsentSources(model);
  const auto reads = database->ReadsOf(sql);
  Json notes = Json::array();
  for (const query::PlainTable* table : database->Tables()) {
    if (!reads || reads->count(table->name) == 0 || table->rows() > 0) continue;
    const std::string why = query::WhyEmpty(absent, table->name);
    if (!why.empty()) notes.push_back(table->name + " is empty: " + why);
  }
  return notes;
}

std::string Ask(const model::Model& model, const std::string& sql) {
  query::Limits limits;
  limits.memory_bytes = QueryRunner::kMemoryBytes, limits.rows = QueryRunner::kMostRows;
  limits.steps = UINT64_MAX;
  const auto database = query::Database::Open(model, limits);
  if (!database.ok()) return Failed("failed", database.message());
  AnswerSink sink;
  const query::Answer answer = (*database)->Run(sql, &sink);
  switch (answer.state) {
    case query::Answer::State::kBadQuery:
      return Failed("bad", answer.message);
    case query::Answer::State::kLimit:
      return Failed("limit", answer.message);
    case query::Answer::State::kOutput:
      if (!sink.full()) return Failed("failed", answer.message);
      break;
    case query::Answer::State::kDone:
      break;
  }
  return sink.End() + fmt::format(",\"more\":{},\"notes\":{}}}", answer.more || sink.full(),
                                  Dump(Notes(model, database->get(), sql)));
}

void LimitMemory() {
  // The fields are pages: size, resident, shared, text, lib, data.
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  for (int i = 0; i < 6; ++i) statm >> pages;
  if (!statm) return;
  const rlim_t most = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) +
                      QueryRunner::kMemoryBytes + kComputingBytes;
  const rlimit limit{most, most};
  setrlimit(RLIMIT_DATA, &limit);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

// Runs in the query's process and never returns.
[[noreturn]] void RunInChild(const model::Model& model, const std::string& sql, uint64_t seconds,
                             int answer_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGALRM, SIG_DFL);
  alarm(static_cast<unsigned>(seconds));
  // Close the server's connections, whose peers wait for them to be closed.
  constexpr int kAnswer = 3;
  if (answer_fd != kAnswer && dup2(answer_fd, kAnswer) < 0) _exit(1);
  close_range(kAnswer + 1, ~0u, 0);
  LimitMemory();
  std::string text;
  try {
    text = Ask(model, sql);
  } catch (const std::exception&) {
    text = Failed("limit", "the query needs more memory than it may have: ask for less at once");
  }
  for (std::string_view left = text; !left.empty();) {
    const ssize_t wrote = write(kAnswer, left.data(), left.size());
    if (wrote <= 0) _exit(1);
    left.remove_prefix(static_cast<size_t>(wrote));
  }
  _exit(0);
}

std::string ReadAll(int fd) {
  std::string text;
  char some[1 << 16];
  for (off_t at = 0;;) {
    const ssize_t got = pread(fd, some, sizeof(some), at);
    if (got <= 0) return text;
    text.append(some, static_cast<size_t>(got)), at += got;
  }
}

}  // namespace

QueryRunner::~QueryRunner() {
  while (!queries_.empty()) Forget(queries_.begin());
}

void QueryRunner::Forget(std::map<uint64_t, Query>::iterator query) {
  if (query->second.pid > 0) {
    kill(query->second.pid, SIGKILL);
    waitpid(query->second.pid, nullptr, 0);
  }
  close(query->second.answer_fd);
  queries_.erase(query);
}

// Checks which processes have ended.
void QueryRunner::Look() {
  for (auto& [number, query] : queries_) {
    if (query.pid <= 0 || waitpid(query.pid, &query.status, WNOHANG) != query.pid) continue;
    query.pid = -1, query.ended = std::chrono::steady_clock::now();
  }
}

Result<uint64_t> QueryRunner::Start(const model::Model& model, const std::string& sql) {
  Look();
  size_t running = 0;
  for (const auto& [number, query] : queries_) running += query.pid > 0;
  if (running >= kMostRunning) {
    return Status::Error(fmt::format(
        "{} queries are running: wait for one, or cancel it in the page that asked", running));
  }
  // Drop answers that were never fetched.
  for (auto query = queries_.begin(); query != queries_.end() && queries_.size() >= kMostKept;) {
    const auto next = std::next(query);
    if (query->second.pid <= 0) Forget(query);
    query = next;
  }
  Query query;
  query.begun = std::chrono::steady_clock::now();
  query.answer_fd = memfd_create("acceltrace-answer", MFD_CLOEXEC);
  if (query.answer_fd >= 0) query.pid = fork();
  if (query.pid == 0) RunInChild(model, sql, seconds_, query.answer_fd);
  if (query.pid < 0) {
    const int error = errno;
    if (query.answer_fd >= 0) close(query.answer_fd);
    return Status::Error(fmt::format("cannot start a query: {}", std::strerror(error)));
  }
  queries_[++last_] = query;
  return last_;
}

bool QueryRunner::Cancel(uint64_t number) {
  const auto found = queries_.find(number);
  if (found == queries_.end()) return false;
  found->second.cancelled = true;
  if (found->second.pid > 0) kill(found->second.pid, SIGKILL);
  return true;
}

std::string QueryRunner::TextOf(const Query& query) const {
  if (WIFEXITED(query.status) && WEXITSTATUS(query.status) == 0) return ReadAll(query.answer_fd);
  if (query.cancelled) return Failed("cancelled", "cancelled");
  if (WIFSIGNALED(query.status) && WTERMSIG(query.status) == SIGALRM) {
    return Failed("limit",
                  fmt::format("the query took more than {} s: narrow it down (a time window, a "
                              "join by device and job), or ask with acceltrace query",
                              seconds_));
  }
  return Failed("failed", WIFSIGNALED(query.status)
                              ? fmt::format("the query's process was ended by signal {}",
                                            WTERMSIG(query.status))
                              : "the query's process could not write its answer");
}

std::optional<std::string> QueryRunner::Answer(uint64_t number) {
  Look();
  const auto found = queries_.find(number);
  if (found == queries_.end()) return std::nullopt;
  const Query& query = found->second;
  const auto until = query.pid > 0 ? std::chrono::steady_clock::now() : query.ended;
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - query.begun).count();
  if (query.pid > 0) return fmt::format(R"({{"state":"running","ms":{}}})", ms);
  std::string text = TextOf(query);
  text.back() = ',';  // replaces the closing brace
  text += fmt::format("\"ms\":{}}}", ms);
  Forget(found);
  return text;
}

std::string QueryRunner::TablesJson(const model::Model& model) const {
  const auto database = query::Database::Open(model, {});
  if (!database.ok()) return Failed("failed", database.message());
  constexpr const char* kTypes[] = {"integer", "real", "text"};
  Json tables = Json::array();
  for (const query::PlainTable* table : (*database)->Tables()) {
    Json columns = Json::array();
    for (const query::PlainTable::Column& column : table->columns) {
      columns.push_back({column.name, kTypes[static_cast<int>(column.type)]});
    }
    std::string text;
    for (const auto& [name, words] : query::kTableTexts) {
      if (name == table->name) text = words;
    }
    tables.push_back({{"name", table->name}, {"text", text}, {"columns", std::move(columns)}});
  }
  return Dump({{"tables", std::move(tables)},
               {"limits",
                {{"rows", kMostRows},
                 {"bytes", kMostBytes},
                 {"seconds", seconds_},
                 {"memory_bytes", kMemoryBytes}}}});
}

}  // namespace acceltrace::cli
