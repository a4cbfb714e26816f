// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/csv.h"

#include <fmt/format.h>

#include "libtrace/view/tables.h"

namespace acceltrace::view {
namespace {

void AppendText(std::string_view text, std::string* out) {
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

void AppendCell(const Cell& cell, std::string* out) {
  if (const auto* i = std::get_if<int64_t>(&cell)) *out += std::to_string(*i);
  if (const auto* u = std::get_if<uint64_t>(&cell)) *out += std::to_string(*u);
  if (const auto* d = std::get_if<double>(&cell)) *out += fmt::format("{}", *d);
  if (const auto* s = std::get_if<std::string>(&cell)) AppendText(*s, out);
}

}  // namespace

Status WriteCsv(const PlainTable& table, const Sink& sink) {
  std::string out;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) out += ',';
    AppendText(table.columns[c].name, &out);
  }
  out += "\n";
  constexpr size_t kFlushBytes = 1 << 20;
  for (size_t row = 0; row < table.rows; ++row) {
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
