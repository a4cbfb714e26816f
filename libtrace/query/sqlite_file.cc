// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sqlite_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "libtrace/query/sqlite_pages.h"
#include "libtrace/query/tables.h"
#include "libtrace/query/virtual_table.h"

namespace acceltrace::query {
namespace {

// What tools that draw or join want in one table. docs/query.md describes them.
constexpr const char* kViews[] = {
    R"(CREATE VIEW slices AS
SELECT 'call' AS kind, name, pid, tid, NULL AS device, NULL AS unit, correlation, begin_ns, end_ns
FROM api
UNION ALL SELECT 'range', name, pid, tid, NULL, NULL, NULL, begin_ns, end_ns
FROM ranges WHERE NOT mark
UNION ALL SELECT 'submission', 'submit', pid, tid, device, NULL, correlation, submit_ns,
submit_end_ns FROM jobs WHERE submit_ns IS NOT NULL AND submit_end_ns IS NOT NULL
UNION ALL SELECT 'job', 'job', pid, tid, device, NULL, correlation, device_doorbell_ns,
completion_ns FROM jobs WHERE on_device
UNION ALL SELECT 'command', CASE op WHEN '' THEN opcode ELSE op END, NULL, NULL, device, unit,
correlation, start_ns, end_ns FROM commands)",
    R"(CREATE VIEW job_commands AS
SELECT j.pid, j.tid, j.api_name, j.submit_ns, j.consumed_ns, c.*
FROM commands c JOIN jobs j ON c.device = j.device AND c.job = j.job)"};

class File {
 public:
  // partial: what SQLite opens for the file at path.
  File(std::string path, std::string partial)
      : path_(std::move(path)), partial_(std::move(partial)), db_(nullptr, sqlite3_close) {}

  Status Write(const model::Model& model) {
    sqlite3* db = nullptr;
    const int rc =
        sqlite3_open_v2(partial_.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    db_.reset(db);
    if (rc != SQLITE_OK) return Failed();
    // The file is thrown away when anything fails: no journal, no waiting for the disk.
    for (const std::string& sql : {fmt::format("PRAGMA page_size={}", SqlitePages::kPageBytes),
                                   std::string("PRAGMA journal_mode=OFF"),
                                   std::string("PRAGMA synchronous=OFF"), std::string("BEGIN")}) {
      if (!Do(sql)) return Failed();
    }
    std::vector<PlainTable> tables = PlainTables(model);
    for (auto* make : {SystemTables, StackTables, AllAnswerTables}) {
      for (PlainTable& table : make(model)) tables.push_back(std::move(table));
    }
    for (const PlainTable& table : tables) {
      if (!Do("CREATE TABLE " + Quoted(table.name) + "(" + ColumnDefinitions(table) + ")")) {
        return Failed();
      }
    }
    for (const char* view : kViews) {
      if (!Do(view)) return Failed();
    }
    if (!Do("COMMIT")) return Failed();
    std::vector<uint32_t> roots;
    for (const PlainTable& table : tables) {
      const int64_t root =
          Number("SELECT rootpage FROM sqlite_schema WHERE name=" + Text(table.name));
      if (root <= 1) return Failed();
      roots.push_back(static_cast<uint32_t>(root));
    }
    const int64_t pages = Number("PRAGMA page_count");
    if (pages <= 0) return Failed();
    if (sqlite3_close(db_.release()) != SQLITE_OK) return Failed();
    const int error = Fill(tables, roots, static_cast<uint32_t>(pages));
    return error == 0 ? Status() : Failed(error);
  }

 private:
  bool Do(const std::string& sql) {
    return sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  // Of a query that has one; -1: it failed.
  int64_t Number(const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) return -1;
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> query(raw, sqlite3_finalize);
    return sqlite3_step(raw) == SQLITE_ROW ? sqlite3_column_int64(raw, 0) : -1;
  }
  static std::string Text(const std::string& text) {
    const std::unique_ptr<char, decltype(&sqlite3_free)> quoted(sqlite3_mprintf("%Q", text.c_str()),
                                                                sqlite3_free);
    return quoted ? quoted.get() : "''";
  }

  // 0, or an error of the system.
  int Fill(const std::vector<PlainTable>& tables, const std::vector<uint32_t>& roots,
           uint32_t num_pages) {
    const int fd = open(partial_.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return errno;
    SqlitePages pages(fd, num_pages);
    std::vector<PlainTable::Type> types;
    for (size_t t = 0; t < tables.size() && pages.error() == 0; ++t) {
      types.clear();
      for (const PlainTable::Column& column : tables[t].columns) types.push_back(column.type);
      SqliteRows rows(&pages, roots[t]);
      EachRows(tables[t], [&](std::span<const ColumnCells> columns, size_t count) {
        rows.Add(columns, count, types);
        return pages.error() == 0;
      });
      rows.Finish();
    }
    const int error = pages.Finish();
    const bool closed = close(fd) == 0;
    return error != 0 ? error : closed ? 0 : errno;
  }

  Status Failed(int error) const {
    const char* mend = error == ENOSPC  ? "free some space"
                       : error == EFBIG ? "the file size limit is reached (ulimit -f)"
                                        : "choose another place";
    return Status::Error(fmt::format("cannot write {}: {}: {}", path_, std::strerror(error), mend));
  }
  // SQLite does not say so.
  bool TooLarge() const {
    rlimit most{};
    struct stat about {};
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && stat(partial_.c_str(), &about) == 0 &&
           static_cast<uint64_t>(about.st_size) + SqlitePages::kPageBytes > most.rlim_cur;
  }
  Status Failed() const {
    const int rc = db_ ? sqlite3_errcode(db_.get()) : SQLITE_NOMEM;
    const char* mend = rc == SQLITE_FULL ? "free some space" : "choose another place";
    std::string why = db_ ? sqlite3_errmsg(db_.get()) : "out of memory";
    if (rc == SQLITE_FULL) why = "No space left on device";
    const int error = db_ ? sqlite3_system_errno(db_.get()) : 0;
    if (error != 0 && rc != SQLITE_FULL) why = std::strerror(error);
    if ((rc & 0xff) == SQLITE_IOERR && TooLarge()) {
      why = std::strerror(EFBIG);
      mend = "the file size limit is reached (ulimit -f)";
    }
    return Status::Error(fmt::format("cannot write {}: {}: {}", path_, why, mend));
  }

  std::string path_, partial_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db_;
};

}  // namespace

Status WriteSqliteFile(const model::Model& model, stream::Output* output) {
  if (!output->is_file()) {
    return Status::Error(fmt::format(
        "{} is no ordinary file: SQLite needs one, choose another place", output->name()));
  }
  const Status wrote = File(output->name(), output->partial()).Write(model);
  return wrote.ok() ? output->Place() : wrote;
}

}  // namespace acceltrace::query
