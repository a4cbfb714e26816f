// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/grouping.h"

#include <sqlite3.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace acceltrace::query {
namespace {

constexpr size_t kAtOnce = 1024;         // rows
constexpr size_t kMostGroups = 100'000;  // more are as well sorted
constexpr size_t kRecent = 256;
constexpr uint64_t kMostExact = uint64_t{1} << 53;  // of a double

int Rank(const Value& value) {
  return std::holds_alternative<std::monostate>(value)     ? 0
         : std::holds_alternative<std::string_view>(value) ? 2
                                                           : 1;
}

double Real(const Value& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number != nullptr ? static_cast<double>(*number) : std::get<double>(value);
}

// SQLite's order: nothing, numbers, text by its bytes.
int Compare(const Value& a, const Value& b) {
  if (Rank(a) != Rank(b)) return Rank(a) < Rank(b) ? -1 : 1;
  if (Rank(a) == 0) return 0;
  if (Rank(a) == 2) {
    const int order = std::get<std::string_view>(a).compare(std::get<std::string_view>(b));
    return order < 0 ? -1 : order > 0;
  }
  const auto *x = std::get_if<int64_t>(&a), *y = std::get_if<int64_t>(&b);
  if (x != nullptr && y != nullptr) return *x < *y ? -1 : *x > *y;
  const double real = Real(a), other = Real(b);
  return real < other ? -1 : real > other;
}

// A whole number, or nothing; false: it is something else.
bool NumberOf(const Cell& cell, std::optional<int64_t>* number) {
  if (const auto* i = std::get_if<int64_t>(&cell)) {
    *number = *i;
  } else if (const auto* u = std::get_if<uint64_t>(&cell)) {
    if (*u > INT64_MAX) return false;
    *number = static_cast<int64_t>(*u);
  } else {
    number->reset();
    return std::holds_alternative<std::monostate>(cell);
  }
  return true;
}

// Cells of keys that are the same where they lie.
bool Same(const Cell& a, const Cell& b) {
  if (a.index() != b.index()) return false;
  const auto *x = std::get_if<std::string_view>(&a), *y = std::get_if<std::string_view>(&b);
  return x != nullptr ? x->data() == y->data() && x->size() == y->size() : a == b;
}

class Grouper {
 public:
  Grouper(const Grouping& grouping, Source* source) : grouping_(grouping), source_(*source) {}

  std::optional<GroupedRows> Run() {
    if (!FindColumns()) return std::nullopt;
    const RowIndex::Rows rows = source_.index.Narrow(constraints_);
    if (rows.list != nullptr) return std::nullopt;  // few
    for (size_t first = rows.begin; first < rows.end; first += kAtOnce) {
      const size_t count = std::min(kAtOnce, rows.end - first);
      if (!source_.budget->Take(count)) return std::nullopt;
      for (size_t c = 0; c < columns_.size(); ++c) {
        columns_[c]->cells(first, count, &read_);
        for (size_t i = 0; i < count; ++i) cells_[c][i] = read_[i];
      }
      for (size_t i = 0; i < count; ++i) {
        bool fits = true;
        if (!Fits(i, &fits) || (fits && (!Choose(i) || !Add(i)))) return std::nullopt;
      }
    }
    return Answer();
  }

 private:
  using Function = Grouping::Function;
  struct Sum {
    uint64_t count = 0;  // of what is there
    int64_t sum = 0, least = 0, most = 0;
    uint64_t size = 0;  // of all that was added, without signs
  };
  struct Used {
    size_t left = 0, right = 0;  // columns that are read
  };

  bool Find(const std::string& name, bool numbers, size_t* place) {
    const auto& columns = source_.table.columns;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (sqlite3_stricmp(columns[c].name.c_str(), name.c_str()) != 0) continue;
      if (!source_.there.empty() && !source_.there[c]) return false;
      const PlainTable::Type type = columns[c].type;
      if (type == PlainTable::Type::kReal || (numbers && type == PlainTable::Type::kText))
        return false;
      const auto found = std::find(columns_.begin(), columns_.end(), &columns[c]);
      *place = static_cast<size_t>(found - columns_.begin());
      if (found == columns_.end()) columns_.push_back(&columns[c]);
      return true;
    }
    return false;
  }

  // The keys are the first that are read.
  bool FindColumns() {
    for (size_t k = 0; k < keys(); ++k) {
      size_t place = 0;
      if (!Find(grouping_.keys[k], false, &place) || place != k) return false;
    }
    for (const Grouping::Item& item : grouping_.items) {
      Used used;
      const bool numbers = item.function != Function::kKey && item.function != Function::kCount;
      if (!item.of_rows && !Find(item.left, numbers || item.sign != 0, &used.left)) return false;
      if (item.sign != 0 && !Find(item.right, true, &used.right)) return false;
      if (item.function == Function::kKey && used.left >= grouping_.keys.size()) return false;
      used_.push_back(used);
    }
    for (const Grouping::Condition& condition : grouping_.conditions) {
      const bool number = std::holds_alternative<int64_t>(condition.value);
      Constraint constraint;
      constraint.op = condition.op;
      size_t place = 0;
      if (!Find(condition.column, number, &place)) return false;
      constraint.column = static_cast<int>(columns_[place] - source_.table.columns.data());
      // Text and numbers are compared by rules of SQL's own.
      if (number) {
        constraint.value = std::get<int64_t>(condition.value);
      } else if (columns_[place]->type == PlainTable::Type::kText) {
        constraint.value = std::get<std::string>(condition.value);
      } else {
        return false;
      }
      constraints_.push_back(std::move(constraint));
      constrained_.push_back(place);
    }
    cells_.assign(columns_.size(), std::vector<Cell>(kAtOnce));
    return true;
  }

  // False: a number that SQL has as text.
  bool Fits(size_t row, bool* fits) const {
    *fits = true;
    for (size_t c = 0; *fits && c < constraints_.size(); ++c) {
      const Cell& cell = cells_[constrained_[c]][row];
      std::optional<int64_t> number;
      if (std::holds_alternative<int64_t>(constraints_[c].value) && !NumberOf(cell, &number)) {
        return false;
      }
      *fits = constraints_[c].Allows(cell);
    }
    return true;
  }

  size_t keys() const { return grouping_.keys.size(); }
  size_t groups() const { return keys_.size() / keys(); }

  bool IsGroup(size_t group, size_t row) const {
    for (size_t k = 0; k < keys(); ++k) {
      if (!Same(keys_[group * keys() + k], cells_[k][row])) return false;
    }
    return true;
  }

  static size_t PlaceOf(const Cell& cell) {
    if (const auto* text = std::get_if<std::string_view>(&cell)) {
      return reinterpret_cast<uintptr_t>(text->data()) >> 3;
    }
    if (const auto* i = std::get_if<int64_t>(&cell)) return static_cast<size_t>(*i);
    const auto* u = std::get_if<uint64_t>(&cell);
    return u != nullptr ? static_cast<size_t>(*u) : 1;
  }

  // The group of a row: mostly that of the last one, or of one with the same cells not long ago.
  bool Choose(size_t row) {
    if (groups() > 0 && IsGroup(group_, row)) return true;
    size_t mix = 0;
    for (size_t k = 0; k < keys(); ++k) mix = mix * 31 + PlaceOf(cells_[k][row]);
    uint32_t& recent = recent_[(mix ^ mix >> 8) % kRecent];
    if (recent < groups() && IsGroup(recent, row)) {
      group_ = recent;
      return true;
    }
    if (!Look(row)) return false;
    recent = static_cast<uint32_t>(group_);
    return true;
  }

  // By the contents of its cells, which are numbers below 2^63, text or nothing.
  bool Look(size_t row) {
    std::string name;
    for (size_t k = 0; k < keys(); ++k) {
      const Cell& cell = cells_[k][row];
      if (const auto* text = std::get_if<std::string_view>(&cell)) {
        name += 't' + std::to_string(text->size()) + ':';
        name += *text;
        continue;
      }
      std::optional<int64_t> number;
      if (!NumberOf(cell, &number)) return false;
      name += number ? 'n' + std::to_string(*number) + ':' : "-";
    }
    const auto [found, is_new] = by_name_.try_emplace(std::move(name), groups());
    group_ = found->second;
    if (!is_new) return true;
    if (groups() == kMostGroups) return false;
    for (size_t k = 0; k < keys(); ++k) keys_.push_back(cells_[k][row]);
    sums_.resize(sums_.size() + used_.size());
    return true;
  }

  bool Add(size_t row) {
    Sum* sums = &sums_[group_ * used_.size()];
    for (size_t n = 0; n < used_.size(); ++n) {
      const Grouping::Item& item = grouping_.items[n];
      if (item.function == Function::kKey) continue;
      Sum& sum = sums[n];
      if (item.of_rows) {
        ++sum.count;
        continue;
      }
      const Cell& left = cells_[used_[n].left][row];
      if (item.function == Function::kCount && item.sign == 0) {
        sum.count += !std::holds_alternative<std::monostate>(left);
        continue;
      }
      std::optional<int64_t> number;
      if (!NumberOf(left, &number)) return false;
      if (item.sign != 0) {
        std::optional<int64_t> other;
        if (!NumberOf(cells_[used_[n].right][row], &other)) return false;
        if (!number || !other) continue;
        const bool over = item.sign == '-' ? __builtin_sub_overflow(*number, *other, &*number)
                                           : __builtin_add_overflow(*number, *other, &*number);
        if (over) return false;
      }
      if (number) AddNumber(*number, &sum);
    }
    return true;
  }

  static void AddNumber(int64_t number, Sum* sum) {
    sum->least = sum->count == 0 ? number : std::min(sum->least, number);
    sum->most = sum->count == 0 ? number : std::max(sum->most, number);
    ++sum->count;
    const uint64_t size = number < 0 ? 0 - static_cast<uint64_t>(number) : uint64_t(number);
    sum->size = size > UINT64_MAX - sum->size ? UINT64_MAX : sum->size + size;
    sum->sum = static_cast<int64_t>(static_cast<uint64_t>(sum->sum) + uint64_t(number));
  }

  // False: SQLite reports that it does not fit, or has rounded on the way.
  bool ValueOf(size_t group, size_t n, Value* value) const {
    const Grouping::Item& item = grouping_.items[n];
    const Sum& sum = sums_[group * used_.size() + n];
    switch (item.function) {
      case Function::kKey:
        *value = KeyOf(group, used_[n].left);
        return true;
      case Function::kCount:
        *value = static_cast<int64_t>(sum.count);
        return true;
      default:
        break;
    }
    if (sum.count == 0) return *value = std::monostate(), true;
    switch (item.function) {
      case Function::kSum:
        *value = sum.sum;
        return sum.size <= INT64_MAX;
      case Function::kAverage:
        *value = static_cast<double>(sum.sum) / static_cast<double>(sum.count);
        return sum.size < kMostExact;
      default:
        *value = item.function == Function::kLeast ? sum.least : sum.most;
        return true;
    }
  }

  Value KeyOf(size_t group, size_t key) const {
    const Cell& cell = keys_[group * keys() + key];
    if (const auto* text = std::get_if<std::string_view>(&cell)) {
      return text->data() == nullptr ? std::string_view("") : *text;
    }
    std::optional<int64_t> number;
    NumberOf(cell, &number);
    return number ? Value(*number) : Value();
  }

  std::optional<GroupedRows> Answer() const {
    std::vector<size_t> order(groups());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      for (size_t k = 0; k < keys(); ++k) {
        const int how = Compare(KeyOf(a, k), KeyOf(b, k));
        if (how != 0) return how < 0;
      }
      return false;
    });
    GroupedRows rows;
    for (const size_t group : order) {
      std::vector<Value>& row = rows.emplace_back(used_.size());
      for (size_t n = 0; n < row.size(); ++n) {
        if (!ValueOf(group, n, &row[n])) return std::nullopt;
      }
    }
    const auto before = [this](const std::vector<Value>& a, const std::vector<Value>& b) {
      for (const Grouping::Order& by : grouping_.order) {
        const int how = Compare(a[by.item], b[by.item]);
        if (how != 0) return by.falls ? how > 0 : how < 0;
      }
      return false;
    };
    if (!grouping_.order.empty()) std::stable_sort(rows.begin(), rows.end(), before);
    if (grouping_.most && *grouping_.most < rows.size()) rows.resize(*grouping_.most);
    return rows;
  }

  const Grouping& grouping_;
  Source& source_;
  std::vector<Constraint> constraints_;
  std::vector<size_t> constrained_;  // their columns in columns_
  std::vector<const PlainTable::Column*> columns_;
  ColumnCells read_;
  std::vector<std::vector<Cell>> cells_;  // of columns_, of some rows
  std::vector<Used> used_;                // by item
  std::vector<Cell> keys_;                // by group
  std::vector<Sum> sums_;                 // by group, and item
  std::unordered_map<std::string, size_t> by_name_;
  size_t group_ = 0;
  uint32_t recent_[kRecent] = {};
};

}  // namespace

std::optional<GroupedRows> Group(const Grouping& grouping, Source* source) {
  return Grouper(grouping, source).Run();
}

}  // namespace acceltrace::query
