// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "libtrace/query/tables.h"
#include "libtrace/query/virtual_table.h"

namespace acceltrace::query {
namespace {

class File {
 public:
  explicit File(std::string path) : path_(std::move(path)), db_(nullptr, sqlite3_close) {
    // Beside the target, and of this process alone.
    partial_ = fmt::format("{}.part-{}", path_, getpid());
  }
  ~File() {
    db_.reset();
    if (!done_) std::remove(partial_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Status Write(const model::Model& model) {
    sqlite3* db = nullptr;
    const int rc =
        sqlite3_open_v2(partial_.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    db_.reset(db);
    if (rc != SQLITE_OK) return Failed();
    // The file is thrown away when anything fails: no journal, no waiting for the disk.
    for (const char* sql : {"PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "BEGIN"}) {
      if (!Do(sql)) return Failed();
    }
    for (auto* make : {PlainTables, AnswerTables}) {
      for (const PlainTable& table : make(model)) {
        if (!Do("CREATE TABLE " + Quoted(table.name) + "(" + ColumnDefinitions(table) + ")") ||
            !Fill(table)) {
          return Failed();
        }
      }
    }
    if (!Do("COMMIT")) return Failed();
    db_.reset();
    if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
      return Status::Error(
          fmt::format("cannot write {}: {}: choose another place", path_, std::strerror(errno)));
    }
    done_ = true;
    return {};
  }

 private:
  bool Do(const std::string& sql) {
    return sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  bool Fill(const PlainTable& table) {
    std::string sql = "INSERT INTO " + Quoted(table.name) + " VALUES(";
    for (size_t c = 0; c < table.columns.size(); ++c) sql += c == 0 ? "?" : ",?";
    sql += ")";
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) return false;
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> insert(raw, sqlite3_finalize);
    const size_t rows = table.rows();
    for (size_t row = 0; row < rows; ++row) {
      for (size_t c = 0; c < table.columns.size(); ++c) {
        Bind(raw, static_cast<int>(c) + 1, table.columns[c].cell(row));
      }
      if (sqlite3_step(raw) != SQLITE_DONE) return false;
      sqlite3_reset(raw);
    }
    return true;
  }

  static void Bind(sqlite3_stmt* insert, int place, const Cell& cell) {
    if (const auto* i = std::get_if<int64_t>(&cell)) {
      sqlite3_bind_int64(insert, place, *i);
    } else if (const auto* u = std::get_if<uint64_t>(&cell)) {
      if (*u <= INT64_MAX) {
        sqlite3_bind_int64(insert, place, static_cast<int64_t>(*u));
      } else {
        const std::string digits = DigitsOf(*u);
        sqlite3_bind_text(insert, place, digits.data(), static_cast<int>(digits.size()),
                          SQLITE_TRANSIENT);
      }
    } else if (const auto* d = std::get_if<double>(&cell)) {
      sqlite3_bind_double(insert, place, *d);
    } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
      sqlite3_bind_text64(insert, place, text->data() == nullptr ? "" : text->data(), text->size(),
                          SQLITE_STATIC, SQLITE_UTF8);
    } else {
      sqlite3_bind_null(insert, place);
    }
  }

  Status Failed() const {
    const int rc = db_ ? sqlite3_errcode(db_.get()) : SQLITE_NOMEM;
    const char* mend = rc == SQLITE_FULL ? "free some space" : "choose another place";
    std::string why = db_ ? sqlite3_errmsg(db_.get()) : "out of memory";
    if (rc == SQLITE_FULL) why = "No space left on device";
    const int error = db_ ? sqlite3_system_errno(db_.get()) : 0;
    if (error != 0 && rc != SQLITE_FULL) why = std::strerror(error);
    return Status::Error(fmt::format("cannot write {}: {}: {}", path_, why, mend));
  }

  std::string path_, partial_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close)> db_;
  bool done_ = false;
};

}  // namespace

Status WriteSqliteFile(const model::Model& model, const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    return Status::Error(
        fmt::format("{} is no ordinary file: SQLite needs one, choose another place", path));
  }
  return File(path).Write(model);
}

}  // namespace acceltrace::query
