// SPDX-License-Identifier: Apache-2.0
//
// Builds tables. Internal.
#ifndef LIBTRACE_QUERY_TABLE_BUILDER_H_
#define LIBTRACE_QUERY_TABLE_BUILDER_H_

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "libtrace/analysis/rows/unknown.h"
#include "libtrace/query/tables.h"

namespace acceltrace::query {

// A value that is computed on first use; copies share it.
template <typename T>
class Lazy {
 public:
  explicit Lazy(std::function<T()> make) : state_(std::make_shared<State>()) {
    state_->make = std::move(make);
  }
  const T& operator*() const {
    if (!state_->value) state_->value = state_->make();
    return *state_->value;
  }
  const T* operator->() const { return &**this; }

 private:
  struct State {
    std::function<T()> make;
    std::optional<T> value;
  };
  std::shared_ptr<State> state_;
};

// Returns the name for a row of `devices`, or an empty string if there is no such row.
inline const std::string& DeviceName(const model::Model& model, uint32_t row) {
  static const auto* const none = new std::string;
  return row == model::kNoRow ? *none : model.devices[row].about.name();
}

inline std::optional<int64_t> HostTime(int64_t ns) {
  return ns == model::kNoTime ? std::nullopt : std::optional(ns);
}

// Converts an integer, an optional integer, or any cell.
template <typename T>
Cell ToCell(const T& value) {
  return value;
}
template <typename T>
Cell ToCell(const std::optional<T>& value) {
  return value ? Cell{*value} : Cell{};
}

// Adds columns to a table. Vectors are read in place.
class TableBuilder {
 public:
  TableBuilder(std::string name, size_t rows)
      : TableBuilder(std::move(name), [rows] { return rows; }) {}
  TableBuilder(std::string name, std::function<size_t()> rows) {
    table_.name = std::move(name);
    table_.rows = std::move(rows);
  }

  // cell: must return an argument of ToCell().
  template <typename Get>
  TableBuilder& Add(std::string name, PlainTable::Type type, Get cell) {
    return Add(
        std::move(name), type, [cell](size_t row) { return ToCell(cell(row)); },
        [cell](size_t first, size_t rows, ColumnCells* out) {
          if constexpr (std::is_integral_v<decltype(cell(first))>) {
            uint64_t* to = Integers<decltype(cell(first))>(rows, out);
            for (size_t i = 0; i < rows; ++i) to[i] = static_cast<uint64_t>(cell(first + i));
          } else if constexpr (std::is_same_v<decltype(cell(first)), Cell>) {
            Cell* to = out->Any(rows);
            for (size_t i = 0; i < rows; ++i) to[i] = cell(first + i);
          } else {
            uint64_t* to = Integers<typename decltype(cell(first))::value_type>(rows, out);
            uint8_t* seen = out->Seen(rows);
            for (size_t i = 0; i < rows; ++i) {
              const auto found = cell(first + i);
              seen[i] = found.has_value(), to[i] = static_cast<uint64_t>(found.value_or(0));
            }
          }
        });
  }
  template <typename Get, typename GetAll>
  TableBuilder& Add(std::string name, PlainTable::Type type, Get cell, GetAll cells) {
    table_.columns.push_back({std::move(name), type, std::move(cell), std::move(cells)});
    return *this;
  }
  template <typename T>
  TableBuilder& Number(std::string name, const model::Column<T>& values) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    return Add(
        std::move(name), PlainTable::Type::kInteger,
        [&values](size_t row) -> Cell { return Wide{values[row]}; },
        [&values](size_t first, size_t rows, ColumnCells* out) {
          Read(values, first, rows, Integers<T>(rows, out));
        });
  }
  TableBuilder& Time(std::string name, const model::Column<int64_t>& values) {
    return Add(
        std::move(name), PlainTable::Type::kInteger,
        [&values](size_t row) { return ToCell(HostTime(values[row])); },
        [&values](size_t first, size_t rows, ColumnCells* out) {
          uint64_t* to = Integers<int64_t>(rows, out);
          uint8_t* seen = out->Seen(rows);
          Read(values, first, rows, to);
          for (size_t i = 0; i < rows; ++i) {
            seen[i] = static_cast<int64_t>(to[i]) != model::kNoTime;
          }
        });
  }
  // seen: the columns are NULL in rows where it is 0; nullptr if there are none.
  TableBuilder& Time(const std::string& name, const model::DeviceTimes& times,
                     const model::Column<uint8_t>* seen = nullptr) {
    const auto some = std::make_shared<SomeIntervals>();
    const auto add = [&](const char* suffix, auto value) {
      if (seen == nullptr) {
        Add(name + suffix, PlainTable::Type::kInteger,
            [&times, value](size_t row) { return value(times, row); });
        return;
      }
      Add(name + suffix, PlainTable::Type::kInteger, [&times, seen, value](size_t row) {
        return (*seen)[row] ? std::optional(value(times, row)) : std::nullopt;
      });
    };
    add("_raw_ticks",
        [](const model::DeviceTimes& t, size_t row) -> uint64_t { return t.RawTicks(row); });
    if (seen == nullptr) {
      Number(name + "_ticks", times.ticks);
    } else {
      add("_ticks",
          [](const model::DeviceTimes& t, size_t row) -> uint64_t { return t.ticks[row]; });
    }
    // The three columns are usually read together, so they share the intervals.
    const auto interval = [&](const char* suffix, int64_t model::Interval::*part) {
      Add(
          name + suffix, PlainTable::Type::kInteger,
          [&times, seen, part](size_t row) -> Cell {
            if (seen != nullptr && !(*seen)[row]) return {};
            const model::Interval at = times.host[row];
            return ToCell(analysis::IfKnown(at.*part, at.mid_ns));
          },
          [&times, seen, part, some](size_t first, size_t rows, ColumnCells* out) {
            some->Read(times, first, rows);
            uint64_t* to = Integers<int64_t>(rows, out);
            for (size_t i = 0; i < rows; ++i) to[i] = static_cast<uint64_t>(some->at[i].*part);
            bool known = true;
            for (size_t i = 0; i < rows; ++i) {
              known = known && analysis::IsKnown(some->at[i].*part, some->at[i].mid_ns);
            }
            if (seen == nullptr && known) return;
            uint8_t* there = out->Seen(rows);
            std::fill(there, there + rows, uint8_t{1});
            if (seen != nullptr) seen->Read(first, rows, there);
            for (size_t i = 0; i < rows && !known; ++i) {
              there[i] &= analysis::IsKnown(some->at[i].*part, some->at[i].mid_ns);
            }
          });
    };
    interval("_ns", &model::Interval::mid_ns);
    interval("_lo_ns", &model::Interval::lo_ns);
    interval("_hi_ns", &model::Interval::hi_ns);
    return *this;
  }
  // Rows with the same key must have the same text. Usually, it is the text of the previous row.
  template <typename Key, typename Get>
  TableBuilder& Text(std::string name, Key key, Get text) {
    return Add(
        std::move(name), PlainTable::Type::kText,
        [text](size_t row) -> Cell { return std::string_view(text(row)); },
        [key, text](size_t first, size_t rows, ColumnCells* out) {
          Cell* to = out->Any(rows);
          std::string_view last;
          uint64_t last_key = 0;
          for (size_t i = 0; i < rows; ++i) {
            const uint64_t now = key(first + i);
            if (i == 0 || now != last_key) last = text(first + i), last_key = now;
            to[i] = last;
          }
        });
  }
  // text: must return a reference that stays valid.
  template <typename Get>
  TableBuilder& Text(std::string name, Get text) {
    return Add(std::move(name), PlainTable::Type::kText, [text](size_t row) -> Cell {
      const auto& found = text(row);
      static_assert(std::is_same_v<decltype(text(row)), const std::string&>);
      return std::string_view(found);
    });
  }

  // Declares that the last added column rises from row to row.
  TableBuilder& Sorted() {
    table_.sorted = static_cast<int>(table_.columns.size()) - 1;
    return *this;
  }

  PlainTable Done() { return std::move(table_); }

 private:
  // Holds the intervals of a few rows.
  struct SomeIntervals {
    size_t first = SIZE_MAX;
    std::vector<model::Interval> at;
    std::vector<int64_t> mid_ns;
    std::vector<uint64_t> before_ns, after_ns;

    void Read(const model::DeviceTimes& times, size_t from, size_t rows) {
      if (first == from && at.size() == rows) return;
      first = from;
      at.resize(rows);
      const model::IntervalColumn& host = times.host;
      if (host.size() < from + rows) {  // some of them are computed
        for (size_t i = 0; i < rows; ++i) at[i] = host[from + i];
        return;
      }
      mid_ns.resize(rows), before_ns.resize(rows), after_ns.resize(rows);
      host.mid_ns().Read(from, rows, mid_ns.data());
      host.before_ns().Read(from, rows, before_ns.data());
      host.after_ns().Read(from, rows, after_ns.data());
      for (size_t i = 0; i < rows; ++i) {
        const auto mid = static_cast<uint64_t>(mid_ns[i]);
        at[i] = {static_cast<int64_t>(mid - before_ns[i]), mid_ns[i],
                 static_cast<int64_t>(mid + after_ns[i])};
      }
    }
  };

  template <typename T>
  static uint64_t* Integers(size_t rows, ColumnCells* out) {
    using Kind = ColumnCells::Kind;
    return out->Integers(std::is_signed_v<T> ? Kind::kSigned : Kind::kUnsigned, rows);
  }
  template <typename T>
  static void Read(const model::Column<T>& values, size_t first, size_t rows, uint64_t* out) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    if constexpr (std::is_same_v<T, Wide>) {
      values.Read(first, rows, reinterpret_cast<T*>(out));
    } else {
      T some[256];
      for (size_t done = 0; done < rows;) {
        const size_t count = std::min(rows - done, std::size(some));
        values.Read(first + done, count, some);
        for (size_t i = 0; i < count; ++i) out[done + i] = static_cast<uint64_t>(Wide{some[i]});
        done += count;
      }
    }
  }

  PlainTable table_;
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_TABLE_BUILDER_H_
