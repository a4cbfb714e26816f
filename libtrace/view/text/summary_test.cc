// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/text/summary.h"

#include <algorithm>
#include <string>
#include <vector>

#include "libtrace/view/common/format.h"
#include "tests/catch.h"

namespace acceltrace::view {
namespace {

analysis::Summary Busy() {
  analysis::Summary summary;
  summary.command = "/opt/very/long/path/to/an/application --with=many --options=1";
  summary.bytes = 123'456'789, summary.packets = 1'234, summary.events = 7'654'321;
  summary.tables = {{"clock_samples", 68}, {"commands", 1'717'003}};
  summary.length_ns = 95'600'000;
  summary.lost = 1'234'567, summary.bad = 89;
  summary.losing = {{"device-ring of a device with a long name", 4'711}, {"driver", 1'229'856}};
  summary.units = {{"accelerator-with-a-long-name-0", "matrix", 0.871},
                   {"acc0", "out", 0.087},
                   {"acc0", "in", 0.054}};
  return summary;
}

TEST_CASE("a summary shortens names, and figures never") {
  for (int width = 40; width <= 130; ++width) {
    Style style;
    style.width = width;
    const std::string text = TextSummary(Busy(), style);
    INFO(text);
    for (const char* figure :
         {"95.60 ms", "117.74 MiB", "1,234 packets", "7,654,321 events", " 68\n", "1,717,003",
          "matrix 87.1 %", "acc0 out 8.7 %", "acc0 in 5.4 %", "1,234,567 events lost", "89 refused",
          "4,711", "driver 1,229,856"}) {
      CHECK(text.find(figure) != text.npos);
    }
    // The first and the last line are not part of the table.
    size_t begin = text.find('\n') + 1;
    for (size_t end; (end = text.find('\n', begin)) + 1 < text.size(); begin = end + 1) {
      CHECK(DisplayWidth(text.substr(begin, end - begin)) <= static_cast<size_t>(width));
    }
  }
}

TEST_CASE("a summary without losses or counters says so") {
  analysis::Summary summary = Busy();
  summary.lost = summary.bad = 0;
  summary.losing.clear(), summary.units.clear();
  const std::string text = TextSummary(summary, Style());
  CHECK(text.find("losses           none") != text.npos);
  CHECK(text.find("unknown: the trace holds no counters of units") != text.npos);
}

}  // namespace
}  // namespace acceltrace::view
