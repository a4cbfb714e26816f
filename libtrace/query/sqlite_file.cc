// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "libtrace/query/tables.h"
#include "libtrace/query/virtual_table.h"

namespace acceltrace::query {
namespace {

// Views with the columns that drawing or joining tools expect in one table (docs/query.md).
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
  // partial: the path that SQLite opens for the file at `path`.
  File(std::string path, std::string partial)
      : path_(std::move(path)), partial_(std::move(partial)), db_(nullptr, sqlite3_close) {}

  Status Write(const model::Model& model) {
    sqlite3* db = nullptr;
    const int rc =
        sqlite3_open_v2(partial_.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    db_.reset(db);
    if (rc != SQLITE_OK) return Failed();
    // The file is discarded on errors, so that no journal and no syncing are needed.
    for (const char* sql : {"PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "BEGIN"}) {
      if (!Do(sql)) return Failed();
    }
    for (auto* make : {PlainTables, SystemTables, StackTables, AllAnswerTables}) {
      for (PlainTable& table : make(model)) {
        sources_.push_back(std::make_unique<Source>(std::move(table), &budget_));
        if (AddVirtualTable(db, sources_.back().get()) != SQLITE_OK) return Failed();
      }
    }
    for (const auto& source : sources_) {
      const std::string name = Quoted(source->table.name);
      if (!Do("CREATE TABLE " + name + "(" + ColumnDefinitions(source->table) + ")")) {
        return Failed();
      }
      // The file's table and the virtual one have the same name: a virtual table is in each schema
      // that has no table of its name.
      if (!Do("INSERT INTO main." + name + " SELECT * FROM temp." + name)) return Failed();
    }
    for (const char* view : kViews) {
      if (!Do(view)) return Failed();
    }
    if (!Do("COMMIT") || sqlite3_close(db) != SQLITE_OK) return Failed();
    (void)db_.release();
    return {};
  }

 private:
  bool Do(const std::string& sql) {
    return sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  // SQLite does not report this for a COMMIT.
  bool TooLarge() const {
    constexpr uint64_t kPageBytes = 4096;
    rlimit most{};
    struct stat about {};
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && stat(partial_.c_str(), &about) == 0 &&
           static_cast<uint64_t>(about.st_size) + kPageBytes > most.rlim_cur;
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
  Budget budget_;
  // Must be before the connection, which refers to them.
  std::vector<std::unique_ptr<Source>> sources_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db_;
};

}  // namespace

Status WriteSqliteFile(const model::Model& model, Output* output) {
  if (!output->is_file()) {
    return Status::Error(fmt::format(
        "{} is no ordinary file: SQLite needs one, choose another place", output->name()));
  }
  const Status wrote = File(output->name(), output->partial()).Write(model);
  return wrote.ok() ? output->Place() : wrote;
}

}  // namespace acceltrace::query
