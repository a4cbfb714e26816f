// SPDX-License-Identifier: Apache-2.0
//
// Which queries are sums, by group or of all rows, by their words.
#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "libtrace/query/grouping.h"

namespace acceltrace::query {
namespace {

constexpr size_t kMostItems = 64;

bool SameWord(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         sqlite3_strnicmp(a.data(), b.data(), static_cast<int>(a.size())) == 0;
}

// The words of a query one by one; what is none of these ends it.
class Words {
 public:
  explicit Words(std::string_view sql) : left_(sql) { Next(); }

  bool Is(std::string_view word) const { return !quoted_ && SameWord(word_, word); }
  bool Take(std::string_view word) {
    if (!Is(word)) return false;
    Next();
    return true;
  }
  bool AtEnd() const { return !quoted_ && word_.empty(); }
  // A name, none of SQL's own words.
  bool Name(std::string* name) {
    constexpr std::string_view kOwn[] = {
        "select", "from",     "where", "group",  "by",   "order",  "having",  "limit",
        "as",     "distinct", "desc",  "asc",    "and",  "offset", "union",   "join",
        "not",    "null",     "case",  "filter", "over", "nulls",  "collate", "window"};
    if (!quoted_) {
      if (word_.empty() || !(std::isalpha(static_cast<unsigned char>(word_[0])) || word_[0] == '_'))
        return false;
      for (const std::string_view own : kOwn) {
        if (SameWord(word_, own)) return false;
      }
    }
    *name = std::string(word_);
    Next();
    return true;
  }
  // 'text', without quotes in it.
  bool Text(std::string* text) {
    if (quoted_ || word_ != "'") return false;
    const size_t end = left_.find('\'');
    if (end == std::string_view::npos || left_.substr(end + 1, 1) == "'") return false;
    *text = std::string(left_.substr(0, end));
    left_.remove_prefix(end + 1);
    Next();
    return true;
  }
  bool Number(uint64_t* number) {
    if (quoted_ || word_.empty() || word_.size() > 18) return false;
    if (!std::all_of(word_.begin(), word_.end(), [](char c) { return c >= '0' && c <= '9'; }))
      return false;
    *number = std::strtoull(std::string(word_).c_str(), nullptr, 10);
    Next();
    return true;
  }

 private:
  static bool OfWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  void Next() {
    while (!left_.empty() && std::string_view(" \t\r\n").find(left_[0]) != std::string_view::npos) {
      left_.remove_prefix(1);
    }
    quoted_ = false;
    size_t size = 0;
    if (!left_.empty() && left_[0] == '"') {
      const size_t end = left_.find('"', 1);
      const bool plain = end != std::string_view::npos && left_.substr(end + 1, 1) != "\"";
      if (plain && end > 1) {
        word_ = left_.substr(1, end - 1), quoted_ = true;
        left_.remove_prefix(end + 1);
        return;
      }
    }
    while (size < left_.size() && OfWord(left_[size])) ++size;
    if (size == 0 && !left_.empty()) size = 1;
    word_ = left_.substr(0, size);
    left_.remove_prefix(size);
  }

  std::string_view left_, word_;
  bool quoted_ = false;
};

std::optional<Grouping::Function> FunctionOf(std::string_view name) {
  using Function = Grouping::Function;
  constexpr std::pair<std::string_view, Function> kFunctions[] = {{"count", Function::kCount},
                                                                  {"sum", Function::kSum},
                                                                  {"avg", Function::kAverage},
                                                                  {"min", Function::kLeast},
                                                                  {"max", Function::kMost}};
  for (const auto& [word, function] : kFunctions) {
    if (SameWord(name, word)) return function;
  }
  return std::nullopt;
}

bool ParseCondition(Words* words, Grouping::Condition* condition) {
  if (!words->Name(&condition->column)) return false;
  if (words->Take("=")) {
    words->Take("=");
  } else if (words->Take("<")) {
    condition->op = words->Take("=") ? Op::kAtMost : Op::kLess;
  } else if (words->Take(">")) {
    condition->op = words->Take("=") ? Op::kAtLeast : Op::kGreater;
  } else {
    return false;
  }
  std::string text;
  if (words->Text(&text)) {
    condition->value = std::move(text);
    return true;
  }
  const bool negative = words->Take("-");
  uint64_t number = 0;
  if (!words->Number(&number)) return false;
  condition->value = negative ? -static_cast<int64_t>(number) : static_cast<int64_t>(number);
  return true;
}

bool ParseItem(Words* words, Grouping::Item* item) {
  if (!words->Name(&item->left)) return false;
  if (words->Take("(")) {
    const auto function = FunctionOf(item->left);
    if (!function) return false;
    item->function = *function;
    if (item->function == Grouping::Function::kCount && words->Take("*")) {
      item->of_rows = true, item->left.clear();
    } else {
      if (!words->Name(&item->left)) return false;
      const char sign = words->Is("-") ? '-' : words->Is("+") ? '+' : 0;
      if (sign != 0) {
        item->sign = sign;
        words->Take(std::string_view(&sign, 1));
        if (!words->Name(&item->right)) return false;
      }
    }
    if (!words->Take(")")) return false;
  }
  words->Take("as");
  words->Name(&item->alias);
  return true;
}

// Of the items: by number, by alias, or a key by its name.
bool ParseOrder(Words* words, const Grouping& grouping, Grouping::Order* order) {
  uint64_t number = 0;
  std::string name;
  if (words->Number(&number)) {
    if (number == 0 || number > grouping.items.size()) return false;
    order->item = static_cast<size_t>(number - 1);
  } else {
    if (!words->Name(&name)) return false;
    const auto& items = grouping.items;
    const auto has = [&](const Grouping::Item& item) {
      return SameWord(item.alias, name) ||
             (item.alias.empty() && item.function == Grouping::Function::kKey &&
              SameWord(item.left, name));
    };
    const auto found = std::find_if(items.begin(), items.end(), has);
    if (found == items.end() || std::count_if(items.begin(), items.end(), has) != 1) return false;
    order->item = static_cast<size_t>(found - items.begin());
  }
  order->falls = words->Take("desc");
  if (!order->falls) words->Take("asc");
  return true;
}

}  // namespace

std::optional<Grouping> Grouping::Parse(std::string_view sql) {
  Words words(sql);
  Grouping grouping;
  if (!words.Take("select")) return std::nullopt;
  do {
    if (grouping.items.size() == kMostItems) return std::nullopt;
    if (!ParseItem(&words, &grouping.items.emplace_back())) return std::nullopt;
  } while (words.Take(","));
  if (!words.Take("from") || !words.Name(&grouping.table)) return std::nullopt;
  if (words.Take("where")) {
    do {
      if (!ParseCondition(&words, &grouping.conditions.emplace_back())) return std::nullopt;
    } while (words.Take("and"));
  }
  if (words.Take("group")) {
    if (!words.Take("by")) return std::nullopt;
    do {
      if (!words.Name(&grouping.keys.emplace_back())) return std::nullopt;
    } while (words.Take(","));
  }
  // A row's own columns are of no row in particular.
  if (grouping.keys.empty() &&
      std::any_of(grouping.items.begin(), grouping.items.end(),
                  [](const Item& item) { return item.function == Function::kKey; })) {
    return std::nullopt;
  }
  // An alias that is a column's name, too, may mean either.
  for (const Item& item : grouping.items) {
    for (const std::string& key : grouping.keys) {
      if (SameWord(item.alias, key)) return std::nullopt;
    }
  }
  if (words.Take("order")) {
    if (!words.Take("by")) return std::nullopt;
    do {
      if (!ParseOrder(&words, grouping, &grouping.order.emplace_back())) return std::nullopt;
    } while (words.Take(","));
  }
  if (words.Take("limit")) {
    uint64_t most = 0;
    if (!words.Number(&most)) return std::nullopt;
    grouping.most = most;
  }
  words.Take(";");
  if (!words.AtEnd()) return std::nullopt;
  return grouping;
}

}  // namespace acceltrace::query
