// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/virtual_table.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

namespace acceltrace::query {
namespace {

constexpr double kMaxExact = 9007199254740992.0;  // 2^53

struct Table : sqlite3_vtab {
  Source* source = nullptr;
};

// Reads the cells of one column. A row soon after the last one is read together with those that
// follow it, up to a multiple of kRowsAtOnce, which costs a fraction of reading them one by one.
class ColumnReader {
 public:
  // rows: the number of rows of the table, or of those that will be read.
  Cell At(const PlainTable::Column& column, size_t row, size_t rows) {
    constexpr size_t kNear = 16;
    const bool near = row - next_ < kNear;
    next_ = row + 1;
    if (row >= begin_ && row < end_) return cells_[row - begin_];
    if (!near) return column.cell(row);
    begin_ = row, end_ = std::min(rows, (row / kRowsAtOnce + 1) * kRowsAtOnce);
    column.cells(begin_, end_ - begin_, &cells_);
    return cells_[0];
  }

 private:
  size_t begin_ = 0, end_ = 0;
  size_t next_ = SIZE_MAX / 2;  // initially follows no row
  ColumnCells cells_;
};

struct Cursor : sqlite3_vtab_cursor {
  std::vector<Constraint> constraints;
  std::vector<ColumnReader> readers;  // by column
  RowIndex::Rows rows;
  size_t place = 0;
  bool nothing = false;
  bool looks_up = false;  // reads rows with one value, which are far apart

  Source& source() const { return *static_cast<Table*>(pVtab)->source; }
  size_t row() const { return rows.At(place); }
  bool eof() const { return nothing || place >= rows.end; }
  Cell CellOf(int number) {
    const auto at = static_cast<size_t>(number);
    const PlainTable::Column& column = source().table.columns[at];
    return looks_up ? column.cell(row()) : readers[at].At(column, row(), rows.end);
  }

  bool Fits() {
    for (const Constraint& constraint : constraints) {
      if (!constraint.Allows(CellOf(constraint.column))) return false;
    }
    return true;
  }
  // Advances to the next row that matches, which may be this one.
  int Settle() {
    for (; !eof(); ++place) {
      if (!source().budget->Take(1)) return SQLITE_INTERRUPT;
      if (Fits()) break;
    }
    return SQLITE_OK;
  }
};

int Connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** out, char**) {
  auto* source = static_cast<Source*>(aux);
  const std::string schema = "CREATE TABLE x(" + ColumnDefinitions(source->table) + ")";
  // A trace may have more causes of stalls than a query may have columns.
  const int columns = sqlite3_limit(db, SQLITE_LIMIT_COLUMN, INT_MAX);
  source->budget->declaring = true;
  const int rc = sqlite3_declare_vtab(db, schema.c_str());
  source->budget->declaring = false;
  sqlite3_limit(db, SQLITE_LIMIT_COLUMN, columns);
  if (rc != SQLITE_OK) return rc;
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  auto table = std::make_unique<Table>();
  table->source = source;
  *out = table.release();  // owned by SQLite until Disconnect
  return SQLITE_OK;
}

int Disconnect(sqlite3_vtab* table) {
  const std::unique_ptr<Table> owned(static_cast<Table*>(table));
  return SQLITE_OK;
}

char OpCode(unsigned char op) {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return static_cast<char>(Op::kEqual);
    case SQLITE_INDEX_CONSTRAINT_GT:
      return static_cast<char>(Op::kGreater);
    case SQLITE_INDEX_CONSTRAINT_GE:
      return static_cast<char>(Op::kAtLeast);
    case SQLITE_INDEX_CONSTRAINT_LT:
      return static_cast<char>(Op::kLess);
    case SQLITE_INDEX_CONSTRAINT_LE:
      return static_cast<char>(Op::kAtMost);
    default:
      return 0;
  }
}

// Returns true if SQLite groups by columns whose order RowIndex can provide. Only used if all rows
// are read.
bool GroupsBy(const PlainTable& table, sqlite3_index_info* info) {
  if (info->nOrderBy == 0 || sqlite3_vtab_distinct(info) != 1) return false;
  for (int i = 0; i < info->nOrderBy; ++i) {
    const auto& by = info->aOrderBy[i];
    if (by.desc || by.iColumn < 0) return false;
    const auto& column = table.columns[static_cast<size_t>(by.iColumn)];
    if (column.type == PlainTable::Type::kReal) return false;
  }
  return true;
}

// Selects the constraints that are passed to Filter(), in order, as text: "OP COLUMN " for each,
// followed by the idxNum columns by which rows are sorted.
int BestIndex(sqlite3_vtab* vtab, sqlite3_index_info* info) {
  Source& source = *static_cast<Table*>(vtab)->source;
  const PlainTable& table = source.table;
  source.named = true, source.used |= info->colUsed;
  const double rows = static_cast<double>(table.rows()) + 1;
  double matches = rows, looks = rows;
  std::string plan;
  int arguments = 0;
  bool narrows = false;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const char op = OpCode(constraint.op);
    if (!constraint.usable || op == 0 || constraint.iColumn < 0) continue;
    const auto& column = table.columns[static_cast<size_t>(constraint.iColumn)];
    const bool text = column.type == PlainTable::Type::kText;
    const char* collation = sqlite3_vtab_collation(info, i);
    if (text && (collation == nullptr || sqlite3_stricmp(collation, "BINARY") != 0)) continue;
    info->aConstraintUsage[i].argvIndex = ++arguments;
    plan += op + std::to_string(constraint.iColumn) + " ";
    narrows = narrows || op == '=' || constraint.iColumn == table.sorted;
    if (op == '=') {
      const double fraction = text ? 0.1 : 0.001;
      matches *= fraction;
      looks = std::min(looks, rows * fraction + 10);
    } else {
      matches *= 0.3;
      if (constraint.iColumn == table.sorted) looks = std::min(looks, rows * 0.3);
    }
  }
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(1.0, matches));
  info->estimatedCost = looks + 0.3 * matches;
  // Rows are in their own order unless an index was made: a sorted column is only in order if no
  // equality is used.
  if (info->nOrderBy == 1 && !info->aOrderBy[0].desc && info->aOrderBy[0].iColumn == table.sorted &&
      plan.find('=') == std::string::npos) {
    info->orderByConsumed = 1;
  } else if (!narrows && GroupsBy(table, info)) {
    info->orderByConsumed = 1;
    info->idxNum = info->nOrderBy;
    for (int i = 0; i < info->nOrderBy; ++i)
      plan += std::to_string(info->aOrderBy[i].iColumn) + " ";
  }
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  return SQLITE_OK;
}

// What can be compared here with the same result as in SQLite; the rest is left to SQLite.
enum class Use { kCompare, kLeave, kNever };
Use Convert(sqlite3_value* value, PlainTable::Type type, Constraint* constraint) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
      return Use::kNever;
    case SQLITE_INTEGER: {
      const int64_t number = sqlite3_value_int64(value);
      if (type == PlainTable::Type::kInteger) {
        constraint->value = number;
        return Use::kCompare;
      }
      if (type != PlainTable::Type::kReal) return Use::kLeave;
      if (std::abs(static_cast<double>(number)) > kMaxExact) return Use::kLeave;
      constraint->value = static_cast<double>(number);
      return Use::kCompare;
    }
    case SQLITE_FLOAT:
      if (type != PlainTable::Type::kReal) return Use::kLeave;
      constraint->value = sqlite3_value_double(value);
      return Use::kCompare;
    case SQLITE_TEXT: {
      if (type != PlainTable::Type::kText) return Use::kLeave;
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      if (text == nullptr) return Use::kLeave;
      constraint->value = std::string(text, static_cast<size_t>(sqlite3_value_bytes(value)));
      return Use::kCompare;
    }
    default:
      return Use::kLeave;
  }
}

// Narrows the range of searched values by a comparison; fractions are rounded outwards.
void Note(sqlite3_value* value, Op op, size_t column, Searches* noted) {
  if (std::find(noted->columns.begin(), noted->columns.end(), column) == noted->columns.end()) {
    return;
  }
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  if (sqlite3_value_type(value) == SQLITE_INTEGER) {
    lo = hi = sqlite3_value_int64(value);
  } else if (sqlite3_value_type(value) == SQLITE_FLOAT) {
    const double number = sqlite3_value_double(value);
    if (!(std::abs(number) < kMaxExact)) return;
    lo = static_cast<int64_t>(std::floor(number)), hi = static_cast<int64_t>(std::ceil(number));
  } else {
    return;
  }
  if (op == Op::kEqual || op == Op::kGreater || op == Op::kAtLeast) {
    noted->lo = std::max(noted->lo, lo);
  }
  if (op == Op::kEqual || op == Op::kLess || op == Op::kAtMost) {
    noted->hi = std::min(noted->hi, hi);
  }
}

int Filter(sqlite3_vtab_cursor* base, int ordered_by, const char* plan, int count,
           sqlite3_value** values) {
  auto* cursor = static_cast<Cursor*>(base);
  Source& source = cursor->source();
  cursor->constraints.clear();
  cursor->nothing = false;
  if (source.noted != nullptr) ++source.noted->searches;
  const char* at = plan;
  for (int i = 0; i < count; ++i) {
    Constraint constraint;
    constraint.op = static_cast<Op>(*at++);
    char* end = nullptr;
    constraint.column = static_cast<int>(std::strtol(at, &end, 10));
    at = end + 1;
    const auto number = static_cast<size_t>(constraint.column);
    const auto& column = source.table.columns[number];
    if (source.noted != nullptr) Note(values[i], constraint.op, number, source.noted);
    switch (Convert(values[i], column.type, &constraint)) {
      case Use::kNever:
        cursor->nothing = true;
        return SQLITE_OK;
      case Use::kCompare:
        cursor->constraints.push_back(std::move(constraint));
        break;
      case Use::kLeave:
        break;
    }
  }
  std::vector<int> order;
  for (char* end = nullptr; ordered_by > 0; --ordered_by, at = end + 1) {
    order.push_back(static_cast<int>(std::strtol(at, &end, 10)));
  }
  cursor->rows =
      order.empty() ? source.index.Narrow(cursor->constraints) : source.index.OrderedBy(order);
  cursor->looks_up = order.empty() && cursor->rows.list != nullptr;
  cursor->place = cursor->rows.begin;
  return cursor->Settle();
}

int Open(sqlite3_vtab* vtab, sqlite3_vtab_cursor** out) {
  const Source& source = *static_cast<Table*>(vtab)->source;
  if (source.noted != nullptr) ++source.noted->cursors;
  auto cursor = std::make_unique<Cursor>();
  cursor->readers.resize(source.table.columns.size());
  *out = cursor.release();  // owned by SQLite until Close
  return SQLITE_OK;
}

int Close(sqlite3_vtab_cursor* cursor) {
  const std::unique_ptr<Cursor> owned(static_cast<Cursor*>(cursor));
  return SQLITE_OK;
}

int Next(sqlite3_vtab_cursor* base) {
  auto* cursor = static_cast<Cursor*>(base);
  ++cursor->place;
  return cursor->Settle();
}

int Eof(sqlite3_vtab_cursor* cursor) { return static_cast<Cursor*>(cursor)->eof(); }

int ColumnOf(sqlite3_vtab_cursor* base, sqlite3_context* context, int number) {
  auto* cursor = static_cast<Cursor*>(base);
  const std::vector<bool>& there = cursor->source().there;
  if (!there.empty() && !there[static_cast<size_t>(number)]) return SQLITE_INTERNAL;
  const Cell cell = cursor->CellOf(number);
  if (const auto* i = std::get_if<int64_t>(&cell)) {
    sqlite3_result_int64(context, *i);
  } else if (const auto* u = std::get_if<uint64_t>(&cell)) {
    if (*u <= INT64_MAX) {
      sqlite3_result_int64(context, static_cast<int64_t>(*u));
    } else {
      const std::string digits = DigitsOf(*u);
      sqlite3_result_text(context, digits.data(), static_cast<int>(digits.size()),
                          SQLITE_TRANSIENT);
    }
  } else if (const auto* d = std::get_if<double>(&cell)) {
    sqlite3_result_double(context, *d);
  } else if (const auto* text = std::get_if<std::string_view>(&cell)) {
    sqlite3_result_text64(context, text->data() == nullptr ? "" : text->data(), text->size(),
                          SQLITE_STATIC, SQLITE_UTF8);
  }
  return SQLITE_OK;
}

int RowId(sqlite3_vtab_cursor* base, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<Cursor*>(base)->row());
  return SQLITE_OK;
}

// There is no xCreate: the tables exist without being created, and cannot be dropped. Members are
// assigned because SQLite's versions have different ones.
sqlite3_module MakeModule() {
  sqlite3_module module = {};
  module.iVersion = 1;
  module.xConnect = Connect;
  module.xBestIndex = BestIndex;
  module.xDisconnect = Disconnect;
  module.xDestroy = Disconnect;
  module.xOpen = Open;
  module.xClose = Close;
  module.xFilter = Filter;
  module.xNext = Next;
  module.xEof = Eof;
  module.xColumn = ColumnOf;
  module.xRowid = RowId;
  return module;
}

const sqlite3_module kModule = MakeModule();

}  // namespace

std::string Quoted(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string ColumnDefinitions(const PlainTable& table) {
  std::string text;
  for (const PlainTable::Column& column : table.columns) {
    text += (text.empty() ? "" : ", ") + Quoted(column.name);
    if (column.type == PlainTable::Type::kText) text += " TEXT";
    if (column.type == PlainTable::Type::kReal) text += " REAL";
  }
  return text;
}

std::string DigitsOf(uint64_t number) { return std::to_string(number); }

int AddVirtualTable(sqlite3* db, Source* source) {
  return sqlite3_create_module_v2(db, source->table.name.c_str(), &kModule, source, nullptr);
}

}  // namespace acceltrace::query
