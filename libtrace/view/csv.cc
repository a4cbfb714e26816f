// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/csv.h"

#include <fmt/format.h>

#include "libtrace/query/tables.h"

namespace acceltrace::view {
namespace {

void AppendCell(const query::Cell& cell, std::string* out) {
  if (const auto* i = std::get_if<int64_t>(&cell)) *out += std::to_string(*i);
  if (const auto* u = std::get_if<uint64_t>(&cell)) *out += std::to_string(*u);
  if (const auto* d = std::get_if<double>(&cell)) *out += fmt::format("{}", *d);
  if (const auto* s = std::get_if<std::string_view>(&cell)) AppendCsvText(*s, out);
}

}  // namespace

void AppendCsvText(std::string_view text, std::string* out) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
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

Status WriteCsv(const query::PlainTable& table, const Sink& sink) {
  std::string out;
  const size_t rows = table.rows();
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) out += ',';
    AppendCsvText(table.columns[c].name, &out);
  }
  out += "\n";
  constexpr size_t kFlushBytes = 1 << 20;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += ',';
      AppendCell(table.columns[c].cell(row), &out);
    }
    out += "\n";
    if (out.size() < kFlushBytes) continue;
    const Status status = sink(out);
    if (!status.ok()) return status;
    out.clear();
  }
  return sink(out);
}

}  // namespace acceltrace::view
