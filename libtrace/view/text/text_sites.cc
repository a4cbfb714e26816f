// SPDX-License-Identifier: Apache-2.0
//
// The report's section on the call sites of API calls.
#include <fmt/format.h>

#include <algorithm>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/text/text.h"

namespace acceltrace::view::text {

using analysis::Report;
using analysis::SiteUse;
using Align = Table::Align;

namespace {

std::vector<std::string> Row(const std::string& name, const SiteUse& use) {
  return {Printable(name),
          FormatCount(use.calls),
          FormatNs(use.time_ns),
          use.device_ns > 0 ? FormatNs(static_cast<int64_t>(use.device_ns)) : "",
          use.jobs > 0 ? FormatCount(use.jobs) : "",
          use.bytes > 0 ? FormatBytes(use.bytes) : "",
          use.failed > 0 ? FormatCount(use.failed) : ""};
}

std::vector<Table::Column> Columns(const char* first) {
  return {{first, Align::kLeft, true},
          {"calls"},
          {"time"},
          {"device", Align::kRight, false, 1},
          {"jobs", Align::kRight, false, 3},
          {"bytes", Align::kRight, false, 2},
          {"failed"}};
}

std::string Remark(size_t shown, size_t all) {
  return shown < all ? fmt::format("the first {} of {}", shown, all) : "";
}

}  // namespace

std::string CallSites(const Report& report, const Style& style) {
  const analysis::CallSites& found = report.call_sites;
  if (found.sites.empty() && found.without == 0) return "";
  const size_t sites = std::min(style.rows > 0 ? style.rows : 12, found.sites.size());
  std::string out = view::Heading(style, "CALL SITES", Remark(sites, found.sites.size()));
  Table table(Columns("called from"));
  for (size_t i = 0; i < sites; ++i) table.Add(Row(found.sites[i].site, found.sites[i].use));
  out += table.Render(style);
  if (found.without > 0) {
    out += Wrapped(
        style,
        fmt::format("{} of no known stack.", Counted(found.without, "API call", "API calls")), 2);
  }
  const size_t stacks = std::min(style.rows > 0 ? style.rows : 5, found.stacks.size());
  if (stacks == 0) return out;
  out += view::Heading(style, "CALL STACKS", Remark(stacks, found.stacks.size()));
  Table whole(Columns("stack, outermost last"));
  for (size_t i = 0; i < stacks; ++i) {
    const analysis::StackUse& stack = found.stacks[i];
    for (size_t f = 0; f < stack.frames.size(); ++f) {
      const std::string& name = found.names[stack.frames[f]];
      if (f == 0) {
        whole.Add(Row(name, stack.use));
      } else {
        whole.Add({"  " + Printable(name), "", "", "", "", "", ""});
      }
    }
  }
  return out + whole.Render(style);
}

}  // namespace acceltrace::view::text
