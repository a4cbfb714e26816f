// SPDX-License-Identifier: Apache-2.0
#include "libtrace/query/grouping.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "libtrace/query/grouping_columns.h"

namespace acceltrace::query {
namespace {

constexpr size_t kAtOnce = 1024;         // rows
constexpr size_t kMostGroups = 100'000;  // more are as well sorted
constexpr int kRecentBits = 8;
constexpr size_t kRecent = size_t{1} << kRecentBits;
constexpr size_t kFewGroups = 32;
constexpr uint64_t kMix = 0x9e37'79b9'7f4a'7c15;
constexpr size_t SlotOf(uint64_t mix) { return mix >> (64 - kRecentBits); }
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

// A whole number, or nothing.
std::optional<int64_t> NumberOf(const Cell& cell) {
  if (const auto* i = std::get_if<int64_t>(&cell)) return *i;
  const auto* u = std::get_if<uint64_t>(&cell);
  return u == nullptr ? std::nullopt : std::optional(static_cast<int64_t>(*u));
}

class Grouper {
 public:
  // there: as in Source.
  Grouper(const Grouping& grouping, const PlainTable& table, const std::vector<bool>& there)
      : grouping_(grouping), table_(table), there_(there) {}

  // The keys are the first that are read. False: it is SQLite's.
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
      if (item.function == Function::kKey && used.left >= keys()) return false;
      used_.push_back(used);
    }
    for (const Grouping::Condition& condition : grouping_.conditions) {
      if (!AddConstraint(condition)) return false;
    }
    sums_.resize(used_.size());
    if (keys() == 0) AddGroup(0);
    return true;
  }
  const std::vector<Constraint>& constraints() const { return constraints_; }

  // Rows of the table. False: it is SQLite's.
  bool Take(size_t first, size_t rows, Budget* budget) {
    for (const size_t end = first + rows; first < end; first += kAtOnce) {
      const size_t count = std::min(kAtOnce, end - first);
      if (!budget->Take(count) || !TakePart(first, count)) return false;
    }
    return true;
  }

  std::optional<GroupedRows> Answer() const {
    std::vector<size_t> order(groups_);
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

 private:
  using Function = Grouping::Function;
  struct Sum {
    uint64_t count = 0;  // of what is there
    uint64_t sum = 0;    // whatever its sign
    int64_t least = INT64_MAX, most = INT64_MIN;
    uint64_t size = 0;   // of all that was added, without signs
    uint64_t sizes = 0;  // bits of all that it has been: it is not known any more after the highest
  };
  struct Used {
    size_t left = 0, right = 0;  // columns that are read
  };
  // What is added up of a part.
  struct Addends {
    const uint64_t* values = nullptr;
    const uint8_t* seen = nullptr;
  };

  size_t keys() const { return grouping_.keys.size(); }

  bool Find(const std::string& name, bool numbers, size_t* place) {
    for (size_t c = 0; c < table_.columns.size(); ++c) {
      const PlainTable::Column& column = table_.columns[c];
      if (sqlite3_stricmp(column.name.c_str(), name.c_str()) != 0) continue;
      if (!there_.empty() && !there_[c]) return false;
      if (column.type == PlainTable::Type::kReal ||
          (numbers && column.type == PlainTable::Type::kText)) {
        return false;
      }
      const auto found =
          std::find_if(columns_.begin(), columns_.end(),
                       [&](const NumberColumn& read) { return &read.column() == &column; });
      *place = static_cast<size_t>(found - columns_.begin());
      if (found == columns_.end()) columns_.emplace_back(&column);
      return true;
    }
    return false;
  }

  bool AddConstraint(const Grouping::Condition& condition) {
    const bool number = std::holds_alternative<int64_t>(condition.value);
    Constraint constraint;
    constraint.op = condition.op;
    size_t place = 0;
    if (!Find(condition.column, number, &place)) return false;
    constraint.column = static_cast<int>(&columns_[place].column() - table_.columns.data());
    // Text and numbers are compared by rules of SQL's own.
    if (number) {
      constraint.value = std::get<int64_t>(condition.value);
    } else if (columns_[place].is_text()) {
      constraint.value = std::get<std::string>(condition.value);
    } else {
      return false;
    }
    constraints_.push_back(std::move(constraint));
    constrained_.push_back(place);
    return true;
  }

  // No more than kAtOnce.
  bool TakePart(size_t first, size_t rows) {
    first_ = first;
    for (NumberColumn& column : columns_) column.Read(first, rows);
    picks_ = !constraints_.empty();
    if (picks_) {
      if (!Pick(rows)) return false;
      for (NumberColumn& column : columns_) column.Keep(picked_);
      rows = picked_.size();
    }
    return rows == 0 || (Choose(rows) && Add(rows));
  }

  // Which rows fulfil the conditions. False: there is a number that SQL has as text.
  bool Pick(size_t rows) {
    picked_.resize(rows);
    for (size_t i = 0; i < rows; ++i) picked_[i] = static_cast<uint32_t>(i);
    for (size_t c = 0; c < constraints_.size(); ++c) {
      const NumberColumn& column = columns_[constrained_[c]];
      const bool text = column.is_text();
      if (!text && column.any_other()) return false;
      uint64_t last = 0;
      bool known = false, fits = false;
      size_t kept = 0;
      for (const uint32_t i : picked_) {
        if (!column.seen(i)) continue;
        const uint64_t value = column.values()[i];
        if (!known || value != last) {
          const Cell cell =
              text ? column.column().cell(first_ + i) : Cell(static_cast<int64_t>(value));
          fits = constraints_[c].Allows(cell), last = value, known = true;
        }
        if (fits) picked_[kept++] = i;
      }
      picked_.resize(kept);
    }
    return true;
  }

  size_t RowOf(size_t i) const { return first_ + (picks_ ? picked_[i] : i); }

  // The group of each row: mostly that of the last one, or of one with the same keys not long ago.
  bool Choose(size_t rows) {
    group_of_.resize(rows);
    one_group_ = true;
    if (keys() == 0) return true;
    for (size_t k = 0; k < keys(); ++k) {
      if (!columns_[k].is_text() && columns_[k].any_other()) return false;
    }
    recent_keys_.resize(kRecent * 2 * keys());
    if (AllSame(rows)) return Look(0, group_of_.data());
    if (keys() == 1 && columns_[0].seen() == nullptr) return ChooseByOne(rows);
    uint32_t group = 0;
    for (size_t i = 0; i < rows; ++i) {
      if (i == 0 || !SameKeys(i)) {
        const uint32_t before = group;
        if (!Look(i, &group)) return false;
        one_group_ &= i == 0 || group == before;
      }
      group_of_[i] = group;
    }
    return true;
  }

  // The same of one key that each row has.
  bool ChooseByOne(size_t rows) {
    const uint64_t* const values = columns_[0].values();
    uint32_t group = 0;
    for (size_t i = 0; i < rows; ++i) {
      const size_t slot = SlotOf((values[i] + 1) * kMix);
      const bool known = recent_[slot] != 0 && recent_keys_[2 * slot] == values[i] &&
                         recent_keys_[2 * slot + 1] == 1;
      if (known) {
        group = recent_[slot] - 1;
      } else if (!Look(i, &group)) {
        return false;
      }
      group_of_[i] = group;
      one_group_ &= group == group_of_[0];
    }
    return true;
  }

  // Of all rows.
  bool AllSame(size_t rows) const {
    uint64_t other = 0;
    for (size_t k = 0; k < keys() && other == 0; ++k) {
      const NumberColumn& column = columns_[k];
      if (column.seen() != nullptr) return false;
      const uint64_t first = column.values()[0];
      for (size_t i = 0; i < rows; ++i) other |= column.values()[i] ^ first;
    }
    return other == 0;
  }

  // As the row before.
  bool SameKeys(size_t i) const {
    for (size_t k = 0; k < keys(); ++k) {
      const NumberColumn& column = columns_[k];
      if (column.values()[i] != column.values()[i - 1]) return false;
      if (column.seen(i) != column.seen(i - 1)) return false;
    }
    return true;
  }

  bool Look(size_t i, uint32_t* group) {
    uint64_t mix = 0;
    for (size_t k = 0; k < keys(); ++k) {
      mix = (mix + columns_[k].values()[i] + columns_[k].seen(i)) * kMix;
    }
    const size_t slot = SlotOf(mix);
    uint64_t* const recent = &recent_keys_[slot * 2 * keys()];
    bool same = recent_[slot] != 0;
    for (size_t k = 0; same && k < keys(); ++k) {
      same = recent[2 * k] == columns_[k].values()[i] && recent[2 * k + 1] == columns_[k].seen(i);
    }
    if (!same) {
      if (!LookByText(i, group)) return false;
      for (size_t k = 0; k < keys(); ++k) {
        recent[2 * k] = columns_[k].values()[i], recent[2 * k + 1] = columns_[k].seen(i);
      }
      recent_[slot] = *group + 1;
      return true;
    }
    *group = recent_[slot] - 1;
    return true;
  }

  // By what its keys say: the same text may lie in several places.
  bool LookByText(size_t i, uint32_t* group) {
    std::string name;
    std::vector<Cell> cells;
    for (size_t k = 0; k < keys(); ++k) {
      const NumberColumn& column = columns_[k];
      if (!column.seen(i)) {
        name += '-';
        cells.emplace_back();
      } else if (column.is_text()) {
        cells.push_back(column.column().cell(RowOf(i)));
        const auto& text = std::get<std::string_view>(cells.back());
        name += 't' + std::to_string(text.size()) + ':';
        name += text;
      } else {
        cells.emplace_back(static_cast<int64_t>(column.values()[i]));
        name += 'n' + std::to_string(column.values()[i]) + ':';
      }
    }
    const auto [found, is_new] =
        by_name_.try_emplace(std::move(name), static_cast<uint32_t>(groups_));
    *group = found->second;
    if (!is_new) return true;
    if (groups_ == kMostGroups) return false;
    keys_.insert(keys_.end(), cells.begin(), cells.end());
    AddGroup(groups_);
    return true;
  }

  void AddGroup(size_t group) {
    groups_ = group + 1;
    for (std::vector<Sum>& sums : sums_) sums.resize(groups_);
  }

  bool Add(size_t rows) {
    for (size_t n = 0; n < used_.size(); ++n) {
      const Grouping::Item& item = grouping_.items[n];
      Sum* const sums = sums_[n].data();
      if (item.function == Function::kKey) continue;
      Addends addends;
      if (item.function == Function::kCount && item.sign == 0) {
        if (!item.of_rows) addends.seen = columns_[used_[n].left].seen();
        EachGroup(rows, [&](size_t group, size_t begin, size_t end) {
          sums[group].count += CountSeen(addends.seen, begin, end);
        });
        continue;
      }
      if (!Combine(item, used_[n], rows, &addends)) return false;
      if (item.function == Function::kLeast || item.function == Function::kMost) {
        EachGroup(rows, [&](size_t group, size_t begin, size_t end) {
          AddExtremes(addends, begin, end, &sums[group]);
        });
      } else if (!AddByTurns(addends, rows, sums)) {
        EachGroup(rows, [&](size_t group, size_t begin, size_t end) {
          AddValues(addends, begin, end, &sums[group]);
        });
      }
    }
    return true;
  }

  // each(group, begin, end) of rows of one group, one after the other.
  template <typename Each>
  void EachGroup(size_t rows, const Each& each) const {
    if (one_group_) return each(keys() == 0 ? 0 : group_of_[0], 0, rows);
    for (size_t begin = 0, end = 0; begin < rows; begin = end) {
      const uint32_t group = group_of_[begin];
      while (end < rows && group_of_[end] == group) ++end;
      each(group, begin, end);
    }
  }

  // Of one column, or the sum or difference of two. False: some are no numbers, or do not fit.
  bool Combine(const Grouping::Item& item, const Used& used, size_t rows, Addends* addends) {
    const NumberColumn &left = columns_[used.left], &right = columns_[used.right];
    if (left.any_other() || (item.sign != 0 && right.any_other())) return false;
    addends->values = left.values(), addends->seen = left.seen();
    if (item.sign == 0) return true;
    made_.resize(rows);
    const uint64_t *a = left.values(), *b = right.values();
    if (item.sign == '-') {
      for (size_t i = 0; i < rows; ++i) made_[i] = a[i] - b[i];
    } else {
      for (size_t i = 0; i < rows; ++i) made_[i] = a[i] + b[i];
    }
    addends->values = made_.data();
    if (left.seen() != nullptr && right.seen() != nullptr) {
      made_seen_.resize(rows);
      for (size_t i = 0; i < rows; ++i) made_seen_[i] = left.seen()[i] & right.seen()[i];
      addends->seen = made_seen_.data();
    } else if (left.seen() == nullptr) {
      addends->seen = right.seen();
    }
    // Neither is below zero: a difference fits.
    if (item.sign == '-' && !left.any_negative() && !right.any_negative()) return true;
    for (size_t i = 0; i < rows; ++i) {
      const uint64_t with = item.sign == '-' ? ~b[i] : b[i];
      const bool over = ((a[i] ^ made_[i]) & (with ^ made_[i])) >> 63 != 0;
      if (over && (addends->seen == nullptr || addends->seen[i] != 0)) return false;
    }
    return true;
  }

  static uint64_t CountSeen(const uint8_t* seen, size_t begin, size_t end) {
    if (seen == nullptr) return end - begin;
    return static_cast<uint64_t>(
        std::count_if(seen + begin, seen + end, [](uint8_t is) { return is != 0; }));
  }

  // Of few groups, whose rows come by turns: the numbers of each are added up first. False: they
  // are too large for that, or of others than these rows.
  bool AddByTurns(const Addends& of, size_t rows, Sum* sums) const {
    if (one_group_ || groups_ > kFewGroups || of.seen != nullptr) return false;
    uint64_t all = 0;
    for (size_t i = 0; i < rows; ++i) all |= of.values[i];
    if (all >> 48 != 0) return false;
    std::array<uint64_t, kFewGroups> added{}, counts{};
    for (size_t i = 0; i < rows; ++i) {
      const uint32_t group = group_of_[i];
      added[group] += of.values[i], ++counts[group];
    }
    for (size_t group = 0; group < groups_; ++group) {
      Sum& sum = sums[group];
      sum.count += counts[group], sum.sum += added[group];
      sum.sizes |= sum.size += added[group];
    }
    return true;
  }

  static void AddValues(const Addends& of, size_t begin, size_t end, Sum* to) {
    Sum sum = *to;
    for (size_t i = begin; i < end; ++i) {
      const uint64_t value = of.values[i], below = 0 - (value >> 63);
      if (of.seen != nullptr && of.seen[i] == 0) continue;
      ++sum.count;
      sum.sum += value;
      sum.sizes |= sum.size += (value ^ below) - below;
    }
    *to = sum;
  }

  static void AddExtremes(const Addends& of, size_t begin, size_t end, Sum* to) {
    Sum sum = *to;
    for (size_t i = begin; i < end; ++i) {
      if (of.seen != nullptr && of.seen[i] == 0) continue;
      const auto value = static_cast<int64_t>(of.values[i]);
      ++sum.count;
      sum.least = std::min(sum.least, value), sum.most = std::max(sum.most, value);
    }
    *to = sum;
  }

  // False: SQLite reports that it does not fit, or has rounded on the way.
  bool ValueOf(size_t group, size_t n, Value* value) const {
    const Grouping::Item& item = grouping_.items[n];
    const Sum& sum = sums_[n][group];
    const auto whole = static_cast<int64_t>(sum.sum);
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
        *value = whole;
        return sum.sizes >> 63 == 0;
      case Function::kAverage:
        *value = static_cast<double>(whole) / static_cast<double>(sum.count);
        return sum.sizes >> 63 == 0 && sum.size < kMostExact;
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
    const std::optional<int64_t> number = NumberOf(cell);
    return number ? Value(*number) : Value();
  }

  const Grouping& grouping_;
  const PlainTable& table_;
  const std::vector<bool>& there_;
  std::vector<NumberColumn> columns_;
  std::vector<Constraint> constraints_;
  std::vector<size_t> constrained_;  // their columns in columns_
  std::vector<Used> used_;           // by item
  // Of a part.
  size_t first_ = 0;
  bool picks_ = false, one_group_ = false;
  std::vector<uint32_t> picked_;    // rows of it, if there are conditions
  std::vector<uint32_t> group_of_;  // by row
  std::vector<uint64_t> made_;
  std::vector<uint8_t> made_seen_;

  size_t groups_ = 0;
  std::vector<Cell> keys_;              // by group
  std::vector<std::vector<Sum>> sums_;  // by item, and group
  std::unordered_map<std::string, uint32_t> by_name_;
  uint32_t recent_[kRecent] = {};  // one more than a group
  std::vector<uint64_t> recent_keys_;
};

}  // namespace

std::optional<GroupedRows> Group(const Grouping& grouping, Source* source) {
  Grouper grouper(grouping, source->table, source->there);
  if (!grouper.FindColumns()) return std::nullopt;
  const RowIndex::Rows rows = source->index.Narrow(grouper.constraints());
  if (rows.list != nullptr) return std::nullopt;  // few
  const size_t count = std::max(rows.begin, rows.end) - rows.begin;
  if (!grouper.Take(rows.begin, count, source->budget)) return std::nullopt;
  return grouper.Answer();
}

std::optional<GroupedRows> Group(const Grouping& grouping, RowStream* rows, Budget* budget) {
  const std::vector<bool> all;
  Grouper grouper(grouping, rows->table(), all);
  if (!grouper.FindColumns()) return std::nullopt;
  if (!rows->EachPart([&](size_t count) { return grouper.Take(0, count, budget); })) {
    return std::nullopt;
  }
  return grouper.Answer();
}

}  // namespace acceltrace::query
