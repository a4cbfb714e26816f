// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/text/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/csv.h"
#include "libtrace/view/common/format.h"

namespace acceltrace::view {
namespace {

using query::Blob;
using query::Value;

constexpr size_t kFlushBytes = 1 << 16;

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

// If `digits` is 0, uses as many as distinguish the value from its neighbours.
std::string Text(const Value& value, int digits) {
  if (const auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&value)) {
    return digits == 0 ? fmt::format("{}", *d) : fmt::format("{:.{}g}", *d, digits);
  }
  if (const auto* s = std::get_if<std::string_view>(&value)) return std::string(*s);
  if (const auto* blob = std::get_if<Blob>(&value)) return Hex(blob->bytes);
  return "";
}

class Buffered : public RowWriter {
 public:
  explicit Buffered(Sink sink) : sink_(std::move(sink)) {}

 protected:
  Status Flush(bool all) {
    if (out_.empty() || (!all && out_.size() < kFlushBytes)) return {};
    const Status status = sink_(out_);
    out_.clear();
    return status;
  }
  std::string out_;

 private:
  Sink sink_;
};

class TableWriter final : public Buffered {
 public:
  TableWriter(const Style& style, Sink sink) : Buffered(std::move(sink)), style_(style) {}

  Status Begin(const std::vector<std::string>& columns) override {
    for (const std::string& column : columns) titles_.push_back(Printable(column));
    return {};
  }

  Status Row(const std::vector<Value>& values) override {
    Cells cells;
    for (const Value& value : values) {
      std::string text = Printable(Text(value, kDigits));
      // Numbers beyond those of SQL are texts of digits.
      const bool number = std::holds_alternative<int64_t>(value) ||
                          std::holds_alternative<double>(value) ||
                          (!text.empty() && text.find_first_not_of("0123456789") == text.npos);
      cells.push_back({std::move(text), number});
    }
    if (laid_out_) {
      Print(cells);
      return Flush(false);
    }
    first_.push_back(std::move(cells));
    return first_.size() < kFirstRows ? Status() : LayOut();
  }

  Status End() override {
    const Status status = laid_out_ ? Status() : LayOut();
    return status.ok() ? Flush(true) : status;
  }

 private:
  struct TableCell {
    std::string text;
    bool number = false;
  };
  using Cells = std::vector<TableCell>;
  static constexpr size_t kFirstRows = 1000, kLeastWidth = 8;
  static constexpr int kDigits = 6;

  Status LayOut() {
    laid_out_ = true;
    numbers_.assign(titles_.size(), true);
    for (const std::string& title : titles_) widths_.push_back(DisplayWidth(title));
    for (const Cells& cells : first_) {
      for (size_t c = 0; c < cells.size(); ++c) {
        widths_[c] = std::max(widths_[c], DisplayWidth(cells[c].text));
        numbers_[c] = numbers_[c] && (cells[c].number || cells[c].text.empty());
      }
    }
    Shrink();
    Cells titles;
    for (const std::string& title : titles_) titles.push_back({title, false});
    Print(titles, Ink::kDim);
    for (const Cells& cells : first_) Print(cells);
    first_.clear();
    return Flush(false);
  }

  // Narrows the widest columns of text until a line fits or they cannot be narrowed further.
  void Shrink() {
    size_t line = 0;
    for (const size_t width : widths_) line += width + 2;
    const auto most = static_cast<size_t>(std::max(style_.width, 40));
    while (line > most) {
      size_t widest = widths_.size();
      for (size_t c = 0; c < widths_.size(); ++c) {
        if (numbers_[c] || widths_[c] <= kLeastWidth) continue;
        if (widest == widths_.size() || widths_[c] > widths_[widest]) widest = c;
      }
      if (widest == widths_.size()) return;
      --widths_[widest], --line;
    }
  }

  void Print(const Cells& cells, Ink ink = Ink::kPlain) {
    std::vector<std::vector<std::string>> lines;
    size_t most = 1;
    for (size_t c = 0; c < cells.size(); ++c) {
      // Numbers are never broken.
      lines.push_back(cells[c].number ? std::vector<std::string>{cells[c].text}
                                      : CellLines(cells[c].text, widths_[c]));
      most = std::max(most, lines.back().size());
    }
    for (size_t n = 0; n < most; ++n) {
      std::string line;
      for (size_t c = 0; c < cells.size(); ++c) {
        const std::string text = n < lines[c].size() ? lines[c][n] : "";
        const size_t width = DisplayWidth(text);
        const std::string gap(widths_[c] > width ? widths_[c] - width : 0, ' ');
        line += (c == 0 ? "" : "  ") + (numbers_[c] ? gap + text : text + gap);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out_ += Paint(style_, ink, line) + "\n";
    }
  }

  Style style_;
  std::vector<std::string> titles_;
  std::vector<Cells> first_;
  std::vector<size_t> widths_;
  std::vector<bool> numbers_;
  bool laid_out_ = false;
};

class CsvWriter final : public Buffered {
 public:
  CsvWriter(bool printable, Sink sink) : Buffered(std::move(sink)), printable_(printable) {}

  Status Begin(const std::vector<std::string>& columns) override {
    for (size_t c = 0; c < columns.size(); ++c) Add(c, columns[c]);
    out_ += "\n";
    return {};
  }
  Status Row(const std::vector<Value>& values) override {
    for (size_t c = 0; c < values.size(); ++c) Add(c, Text(values[c], 0));
    out_ += "\n";
    return Flush(false);
  }
  Status End() override { return Flush(true); }

 private:
  void Add(size_t column, const std::string& text) {
    if (column > 0) out_ += ',';
    AppendCsvText(printable_ ? Printable(text) : text, &out_);
  }
  bool printable_;
};

class JsonWriter final : public Buffered {
 public:
  using Buffered::Buffered;

  Status Begin(const std::vector<std::string>& columns) override {
    out_ = R"({"schema": "acceltrace.query", "version": 1, "columns": )" + Dump(columns) +
           ", \"rows\": [";
    return {};
  }
  Status Row(const std::vector<Value>& values) override {
    nlohmann::json row = nlohmann::json::array();
    for (const Value& value : values) row.push_back(JsonOf(value));
    out_ += (any_ ? ",\n" : "\n") + Dump(row);
    any_ = true;
    return Flush(false);
  }
  Status End() override {
    out_ += any_ ? "\n]}\n" : "]}\n";
    return Flush(true);
  }

 private:
  static std::string Dump(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  static nlohmann::json JsonOf(const Value& value) {
    if (const auto* i = std::get_if<int64_t>(&value)) return *i;
    if (const auto* d = std::get_if<double>(&value)) {
      return std::isfinite(*d) ? nlohmann::json(*d) : nlohmann::json();
    }
    if (std::holds_alternative<std::monostate>(value)) return nullptr;
    return Text(value, 0);
  }
  bool any_ = false;
};

}  // namespace

std::unique_ptr<RowWriter> TableRows(const Style& style, Sink sink) {
  return std::make_unique<TableWriter>(style, std::move(sink));
}
std::unique_ptr<RowWriter> CsvRows(bool printable, Sink sink) {
  return std::make_unique<CsvWriter>(printable, std::move(sink));
}
std::unique_ptr<RowWriter> JsonRows(Sink sink) {
  return std::make_unique<JsonWriter>(std::move(sink));
}

}  // namespace acceltrace::view
