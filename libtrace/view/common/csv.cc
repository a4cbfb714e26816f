// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/common/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "libtrace/query/tables.h"
#include "libtrace/view/common/text_buffer.h"

namespace acceltrace::view {
namespace {

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c != ',' && c != '"' && c != '\r' && c != '\n'; });
}

template <typename Out>
void AppendText(std::string_view text, Out* out) {
  if (IsPlain(text)) {
    *out += text;
    return;
  }
  *out += '"';
  for (char c : text) {
    if (c == '"') *out += '"';
    *out += c;
  }
  *out += '"';
}

// Rows repeat the same few names, so a text at the same address as before is not checked again.
class Cells {
 public:
  explicit Cells(size_t columns) : plain_(columns) {}

  void Append(size_t column, const query::ColumnCells& cells, size_t row, TextBuffer* out) {
    using Kind = query::ColumnCells::Kind;
    if (cells.kind() == Kind::kAny) return AppendAny(column, cells.any(row), out);
    if (!cells.seen(row)) return;
    uint64_t number = cells.integers()[row];
    if (cells.kind() == Kind::kSigned && number > INT64_MAX) *out += '-', number = 0 - number;
    out->Integer(number);
  }

 private:
  void AppendAny(size_t column, const query::Cell& cell, TextBuffer* out) {
    if (const auto* s = std::get_if<std::string_view>(&cell)) {
      std::string_view& known = plain_[column];
      const bool same = s->data() == known.data() && s->size() == known.size();
      if (!same && !IsPlain(*s)) return AppendText(*s, out);
      known = *s;
      *out += *s;
    } else if (const auto* i = std::get_if<int64_t>(&cell)) {
      fmt::format_to(std::back_inserter(*out), "{}", *i);
    } else if (const auto* u = std::get_if<uint64_t>(&cell)) {
      fmt::format_to(std::back_inserter(*out), "{}", *u);
    } else if (const auto* d = std::get_if<double>(&cell)) {
      fmt::format_to(std::back_inserter(*out), "{}", *d);
    }
  }

  std::vector<std::string_view> plain_;
};

}  // namespace

void AppendCsvText(std::string_view text, std::string* out) { AppendText(text, out); }

Status WriteCsv(const query::PlainTable& table, const Sink& sink) {
  constexpr size_t kFlushBytes = 1 << 20;
  TextBuffer out(kFlushBytes + kFlushBytes / 8);
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) out += ',';
    AppendText(table.columns[c].name, &out);
  }
  out += '\n';
  Status status;
  Cells cells_of(table.columns.size());
  query::EachRows(table, [&](std::span<const query::ColumnCells> columns, size_t rows) {
    for (size_t i = 0; i < rows; ++i) {
      for (size_t c = 0; c < columns.size(); ++c) {
        if (c > 0) out += ',';
        cells_of.Append(c, columns[c], i, &out);
      }
      out += '\n';
      if (out.size() < kFlushBytes) continue;
      status = sink(out.text());
      out.clear();
      if (!status.ok()) return false;
    }
    return true;
  });
  if (!status.ok()) return status;
  return sink(out.text());
}

}  // namespace acceltrace::view
