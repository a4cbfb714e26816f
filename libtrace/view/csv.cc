// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "libtrace/query/tables.h"
#include "libtrace/view/text_buffer.h"

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

// Rows name the same few things again and again: whether a text is plain is found out once while it
// lies where it did.
class Cells {
 public:
  explicit Cells(size_t columns) : plain_(columns) {}

  void Append(size_t column, const query::Cell& cell, TextBuffer* out) {
    if (const auto* i = std::get_if<int64_t>(&cell)) {
      out->Integer(*i);
    } else if (const auto* u = std::get_if<uint64_t>(&cell)) {
      out->Integer(*u);
    } else if (const auto* d = std::get_if<double>(&cell)) {
      fmt::format_to(std::back_inserter(*out), "{}", *d);
    } else if (const auto* s = std::get_if<std::string_view>(&cell)) {
      std::string_view& known = plain_[column];
      const bool same = s->data() == known.data() && s->size() == known.size();
      if (!same && !IsPlain(*s)) return AppendText(*s, out);
      known = *s;
      *out += *s;
    }
  }

 private:
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
  query::EachRow(table, [&](const query::RowCells& cells) {
    for (size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) out += ',';
      cells_of.Append(c, cells[c], &out);
    }
    out += '\n';
    if (out.size() < kFlushBytes) return true;
    status = sink(out.text());
    out.clear();
    return status.ok();
  });
  if (!status.ok()) return status;
  return sink(out.text());
}

}  // namespace acceltrace::view
