// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "libtrace/query/tables.h"

namespace acceltrace::view {
namespace {

template <typename T>
void AppendInteger(T number, std::string* out) {
  const fmt::format_int digits(number);
  out->append(digits.data(), digits.size());
}

void AppendCell(const query::Cell& cell, std::string* out) {
  if (const auto* i = std::get_if<int64_t>(&cell)) {
    AppendInteger(*i, out);
  } else if (const auto* u = std::get_if<uint64_t>(&cell)) {
    AppendInteger(*u, out);
  } else if (const auto* d = std::get_if<double>(&cell)) {
    fmt::format_to(std::back_inserter(*out), "{}", *d);
  } else if (const auto* s = std::get_if<std::string_view>(&cell)) {
    AppendCsvText(*s, out);
  }
}

}  // namespace

void AppendCsvText(std::string_view text, std::string* out) {
  const auto plain = [](char c) { return c != ',' && c != '"' && c != '\r' && c != '\n'; };
  if (std::all_of(text.begin(), text.end(), plain)) {
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
  for (size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) out += ',';
    AppendCsvText(table.columns[c].name, &out);
  }
  out += "\n";
  constexpr size_t kFlushBytes = 1 << 20;
  Status status;
  out.reserve(kFlushBytes + kFlushBytes / 8);
  query::EachRow(table, [&](const std::vector<query::Cell>& cells) {
    for (size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) out += ',';
      AppendCell(cells[c], &out);
    }
    out += '\n';
    if (out.size() < kFlushBytes) return true;
    status = sink(out);
    out.clear();
    return status.ok();
  });
  if (!status.ok()) return status;
  return sink(out);
}

}  // namespace acceltrace::view
