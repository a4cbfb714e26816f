// SPDX-License-Identifier: Apache-2.0
//
// How tables are put together. Internal.
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

#include "libtrace/query/tables.h"

namespace acceltrace::query {

// What is computed when it is used first; copies share it.
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

// Of a row of `devices`; empty if there is none.
inline const std::string& DeviceName(const model::Model& model, uint32_t row) {
  static const auto* const none = new std::string;
  return row == model::kNoRow ? *none : model.devices[row].about.name();
}

inline Cell HostTime(int64_t ns) { return ns == model::kNoTime ? Cell{} : Cell{ns}; }

// Adds columns to a table; vectors are read in place.
class TableBuilder {
 public:
  TableBuilder(std::string name, size_t rows)
      : TableBuilder(std::move(name), [rows] { return rows; }) {}
  TableBuilder(std::string name, std::function<size_t()> rows) {
    table_.name = std::move(name);
    table_.rows = std::move(rows);
  }

  template <typename Get>
  TableBuilder& Add(std::string name, PlainTable::Type type, Get cell) {
    return Add(std::move(name), type, cell, [cell](size_t first, size_t rows, Cell* out) {
      for (size_t i = 0; i < rows; ++i) out[i] = cell(first + i);
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
        [&values](size_t first, size_t rows, Cell* out) {
          ReadEach(values, first, rows, [out](size_t i, T value) { out[i] = Wide{value}; });
        });
  }
  TableBuilder& Time(std::string name, const model::Column<int64_t>& values) {
    return Add(
        std::move(name), PlainTable::Type::kInteger,
        [&values](size_t row) { return HostTime(values[row]); },
        [&values](size_t first, size_t rows, Cell* out) {
          ReadEach(values, first, rows, [out](size_t i, int64_t ns) { out[i] = HostTime(ns); });
        });
  }
  // seen: null where 0, or nullptr.
  TableBuilder& Time(const std::string& name, const model::DeviceTimes& times,
                     const model::Column<uint8_t>* seen = nullptr) {
    const auto some = std::make_shared<SomeIntervals>();
    const auto add = [&](const char* suffix, auto value) {
      Add(name + suffix, PlainTable::Type::kInteger, [&times, seen, value](size_t row) -> Cell {
        if (seen != nullptr && !(*seen)[row]) return {};
        return value(times, row);
      });
    };
    add("_raw_ticks",
        [](const model::DeviceTimes& t, size_t row) { return Cell{t.RawTicks(row)}; });
    if (seen == nullptr) {
      Number(name + "_ticks", times.ticks);
    } else {
      add("_ticks", [](const model::DeviceTimes& t, size_t row) { return Cell{t.ticks[row]}; });
    }
    // The three are made together, and read one after the other.
    const auto interval = [&](const char* suffix, int64_t model::Interval::*part) {
      Add(
          name + suffix, PlainTable::Type::kInteger,
          [&times, seen, part](size_t row) -> Cell {
            if (seen != nullptr && !(*seen)[row]) return {};
            return times.host[row].*part;
          },
          [&times, seen, part, some](size_t first, size_t rows, Cell* out) {
            some->Read(times, seen, first, rows);
            for (size_t i = 0; i < rows; ++i) {
              out[i] = some->seen[i] != 0 ? Cell{some->at[i].*part} : Cell{};
            }
          });
    };
    interval("_ns", &model::Interval::mid_ns);
    interval("_lo_ns", &model::Interval::lo_ns);
    interval("_hi_ns", &model::Interval::hi_ns);
    return *this;
  }
  // Rows with the same key have the same text; it is mostly that of the row before.
  template <typename Key, typename Get>
  TableBuilder& Text(std::string name, Key key, Get text) {
    return Add(
        std::move(name), PlainTable::Type::kText,
        [text](size_t row) -> Cell { return std::string_view(text(row)); },
        [key, text](size_t first, size_t rows, Cell* out) {
          std::string_view last;
          uint64_t last_key = 0;
          for (size_t i = 0; i < rows; ++i) {
            const uint64_t now = key(first + i);
            if (i == 0 || now != last_key) last = text(first + i), last_key = now;
            out[i] = last;
          }
        });
  }
  // text: of what stays where it is.
  template <typename Get>
  TableBuilder& Text(std::string name, Get text) {
    return Add(std::move(name), PlainTable::Type::kText, [text](size_t row) -> Cell {
      const auto& found = text(row);
      static_assert(std::is_same_v<decltype(text(row)), const std::string&>);
      return std::string_view(found);
    });
  }

  // The column that was added last rises from row to row.
  TableBuilder& Sorted() {
    table_.sorted = static_cast<int>(table_.columns.size()) - 1;
    return *this;
  }

  PlainTable Done() { return std::move(table_); }

 private:
  // Those of a few rows.
  struct SomeIntervals {
    size_t first = SIZE_MAX;
    std::vector<model::Interval> at;
    std::vector<uint8_t> seen;

    void Read(const model::DeviceTimes& times, const model::Column<uint8_t>* of, size_t from,
              size_t rows) {
      if (first == from && at.size() == rows) return;
      first = from;
      at.resize(rows), seen.assign(rows, 1);
      for (size_t i = 0; i < rows; ++i) at[i] = times.host[from + i];
      if (of != nullptr) of->Read(from, rows, seen.data());
    }
  };

  // use(i, value) for the rows [first, first + rows).
  template <typename T, typename Use>
  static void ReadEach(const model::Column<T>& values, size_t first, size_t rows, const Use& use) {
    T some[256];
    for (size_t done = 0; done < rows;) {
      const size_t count = std::min(rows - done, std::size(some));
      values.Read(first + done, count, some);
      for (size_t i = 0; i < count; ++i) use(done + i, some[i]);
      done += count;
    }
  }

  PlainTable table_;
};

}  // namespace acceltrace::query

#endif  // LIBTRACE_QUERY_TABLE_BUILDER_H_
