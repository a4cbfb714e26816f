// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/common/table.h"

#include <algorithm>

#include "libtrace/view/common/format.h"
#include "libtrace/view/json/diff.h"
#include "tests/catch.h"

namespace acceltrace::view {
namespace {

using analysis::Span;

std::string WithoutSpaces(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; }),
             text.end());
  return text;
}

TEST_CASE("A cell that is too long goes on below, and loses nothing") {
  using Lines = std::vector<std::string>;
  CHECK(CellLines("one two three", 7) == Lines{"one two", "three"});
  CHECK(CellLines("layer0.attention", 9) == Lines{"layer0.", "attention"});
  CHECK(CellLines("µµµµµ", 2) == Lines{"µµ", "µµ", "µ"});
  CHECK(CellLines("", 5) == Lines{""});
  const std::string cell = "busy -12.34 ms, pcie +123.456 µs: 18446744073709551615 of layer_17.mm";
  for (size_t width = 1; width < 80; ++width) {
    std::string joined;
    for (const std::string& line : CellLines(cell, width)) {
      CHECK(DisplayWidth(line) <= width);
      joined += line;
    }
    if (width >= 4) CHECK(WithoutSpaces(joined) == WithoutSpaces(cell));
  }
}

TEST_CASE("No width of a terminal cuts a number out of a table") {
  const std::vector<std::string> cells = {"layer 12 of 96, 1234567 B", "12.34 ±0.21 ms", "+5.6 %"};
  for (int width = 40; width < 120; ++width) {
    Table table({{"name", Table::Align::kLeft, true}, {"time"}, {"relative"}});
    table.Add(cells);
    table.Remark("more pcie stall · busy -12.34 ms");
    Style style;
    style.width = width;
    const std::string text = table.Render(style);
    CHECK(text.find("…") == std::string::npos);
    for (const char* number : {"12", "96,", "1234567", "12.34 ±0.21 ms", "+5.6 %", "-12.34 ms"}) {
      CHECK(text.find(number) != std::string::npos);
    }
  }
}

TEST_CASE("What is longer than any trace is unknown") {
  constexpr int64_t kFar = 2'000'000'000'000'000'000;  // libtrace/clock returns this for "anywhere"
  for (const int64_t far : {kFar, -kFar, int64_t{1} << 61, INT64_MAX, INT64_MIN}) {
    CHECK(FormatNs(far) == "unknown");
    CHECK(FormatBound(far) == "unknown");
  }
  CHECK(FormatSpan(Span{0, 1'000, kFar}) == "1.000 µs ±unknown");
  CHECK(FormatSpan(Span{-kFar, 1'000, 1'001}) == "1.000 µs ±unknown");
  CHECK(FormatSpan(Span{0, kFar, kFar}) == "unknown");
  CHECK(FormatBound(812) == "±812 ns");
}

TEST_CASE("A bound that is not known is null in the JSON of a comparison") {
  analysis::Diff diff;
  analysis::Change change;
  change.name = "op", change.count_a = change.count_b = 1;
  change.a = {0, 1'000, 0x1p61}, change.b = {0, 2'000, 0x1p62};
  change.delta = {-0x1p61, 1'000, 0x1p62}, change.certainty = analysis::Change::Certainty::kBounds;
  diff.ops = {change};
  const std::string json = JsonDiff(diff);
  CHECK(json.find("\"hi_ns\": null") != std::string::npos);
  CHECK(json.find("0000000000000") == std::string::npos);
  for (int width : {40, 80, 100, 200}) {
    Style style;
    style.width = width;
    const std::string text = TextDiff(diff, style);
    CHECK(text.find("±unknown") != std::string::npos);
    CHECK(text.find("000000 s") == std::string::npos);
  }
}

}  // namespace
}  // namespace acceltrace::view
