// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/json/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "libtrace/base/utf8.h"
#include "libtrace/view/common/format.h"
#include "libtrace/view/json/json_parts.h"

namespace acceltrace::view {
namespace {

using analysis::Change;
using analysis::Diff;
using Align = Table::Align;
using Certainty = Change::Certainty;

std::string Signed(const analysis::Amount& delta) {
  const std::string text = FormatSpan(delta);
  return delta.mid > 0 ? "+" + text : text;
}

std::string SignedNs(double ns) {
  const std::string text = FormatNs(static_cast<int64_t>(std::llround(ns)));
  return ns > 0 ? "+" + text : text;
}

std::string Relative(const Change& change) {
  if (change.a.mid <= 0) return "";
  const double share = change.delta.mid / change.a.mid;
  return fmt::format("{}{:.1f} %", share > 0 ? "+" : "", 100 * share);
}

// Describes the certainty in two words.
const char* Word(Certainty certainty) {
  switch (certainty) {
    case Certainty::kNone:
      return "same";
    case Certainty::kBounds:
      return "within bounds";
    case Certainty::kSpread:
      return "within spread";
    case Certainty::kOnce:
      return "seen once";
    case Certainty::kSure:
      break;
  }
  return "certain";
}

std::string Counts(uint64_t a, uint64_t b) {
  return a == b ? FormatCount(a) : FormatCount(a) + " → " + FormatCount(b);
}

// Names the two largest parts of a change.
std::string Parts(const Change& change) {
  constexpr size_t kMost = 2;
  std::string text;
  size_t shown = 0;
  for (const Change::Part& part : change.parts) {
    if (shown == kMost || std::fabs(part.ns) < 0.05 * std::fabs(change.delta.mid)) break;
    text += fmt::format("{}{} {}", shown++ == 0 ? "" : ", ", part.what, SignedNs(part.ns));
  }
  return text;
}

// Explains a change by its cause and its parts.
std::string Because(const Change& change) {
  const std::string parts = Parts(change);
  return change.cause + (change.cause.empty() || parts.empty() ? "" : " · ") + parts;
}

std::string Section(const char* title, const char* remark, const std::vector<Change>& changes,
                    size_t most, const Style& style) {
  if (style.rows > 0) most = style.rows;
  Table table({{"", Align::kLeft, true},
               {"unit", Align::kLeft, false, 3},
               {"count", Align::kRight, false, 4},
               {"A", Align::kRight, false, 2},
               {"B", Align::kRight, false, 1},
               {"change"},
               {"relative", Align::kRight, false, 5},
               {"certainty", Align::kLeft}});
  size_t shown = 0, same = 0;
  for (const Change& change : changes) {
    if (change.certainty == Certainty::kNone) {
      ++same;
      continue;
    }
    if (shown++ >= most) continue;
    const bool counted = change.count_a + change.count_b > 0;
    const bool decided = change.certainty != Certainty::kBounds;
    table.Add({change.name, change.unit, counted ? Counts(change.count_a, change.count_b) : "",
               FormatSpan(change.a), FormatSpan(change.b), Signed(change.delta), Relative(change),
               Word(change.certainty)});
    if (decided) table.Remark(Because(change));
  }
  std::string note = remark;
  if (shown > most)
    note += fmt::format("{}the first {} of {}", note.empty() ? "" : "; ", most, shown);
  if (same > 0) note += fmt::format("{}{} the same", note.empty() ? "" : "; ", same);
  return Heading(style, title, note) + (table.empty() ? "  no change\n" : table.Render(style));
}

// Has all three values, whether they differ or not.
Json WholeSpanJson(const analysis::Amount& amount) {
  const analysis::Span span = amount.Round();
  return {{"ns", NsJson(span.mid_ns)},
          {"lo_ns", BoundJson(span.lo_ns, span.mid_ns)},
          {"hi_ns", BoundJson(span.hi_ns, span.mid_ns)}};
}

// Times are relative to the first event of the trace.
Json PlaceJson(const Change::Place& place, int64_t begin_ns) {
  return {{"kind", analysis::PlaceName(place.kind)},
          {"row", place.row},
          {"from_ns", place.begin_ns - begin_ns},
          {"to_ns", place.end_ns - begin_ns}};
}

Json ChangeJson(const Change& change, int64_t of_a, int64_t of_b) {
  Json json = {{"name", change.name}};
  if (!change.unit.empty()) json["unit"] = change.unit;
  if (change.count_a + change.count_b > 0) {
    json["count_a"] = change.count_a, json["count_b"] = change.count_b;
    json["bytes_a"] = change.bytes_a, json["bytes_b"] = change.bytes_b;
  }
  json["a"] = WholeSpanJson(change.a), json["b"] = WholeSpanJson(change.b);
  json["change"] = WholeSpanJson(change.delta);
  json["noise_ns"] = std::round(change.noise_ns);
  json["pairs"] = change.pairs;
  json["certainty"] = analysis::CertaintyName(change.certainty);
  if (!change.cause.empty()) json["cause"] = change.cause;
  Json parts = Json::array();
  for (const Change::Part& part : change.parts) {
    parts.push_back({{"what", part.what}, {"ns", std::round(part.ns)}});
  }
  if (!parts.empty()) json["parts"] = std::move(parts);
  if (change.at_a.kind != Change::Place::Kind::kNone) json["at_a"] = PlaceJson(change.at_a, of_a);
  if (change.at_b.kind != Change::Place::Kind::kNone) json["at_b"] = PlaceJson(change.at_b, of_b);
  return json;
}

Json ChangesJson(const std::vector<Change>& changes, int64_t of_a, int64_t of_b) {
  Json json = Json::array();
  for (const Change& change : changes) json.push_back(ChangeJson(change, of_a, of_b));
  return json;
}

}  // namespace

std::string TextDiff(const Diff& diff, const Style& style) {
  std::string out = Paint(style, Ink::kBold, "acceltrace diff") + "\n";
  if (!diff.comparable) {
    out += Wrapped(style, Printable("These traces cannot be compared: " + diff.why_not) + ".", 2);
    for (const std::string& note : diff.notes) out += Wrapped(style, Printable(note), 4);
    return out;
  }
  const Change& run = diff.run;
  std::string line = fmt::format("The run took {} and takes {}: {}", FormatSpan(run.a),
                                 FormatSpan(run.b), Signed(run.delta));
  if (run.a.mid > 0) line += fmt::format(" ({})", Relative(run));
  line += run.certainty == Certainty::kBounds ? ", which is within the error bounds." : ".";
  out += Wrapped(style, line, 2);
  out += Wrapped(style,
                 fmt::format("{} and {} jobs, {} of them aligned{}.", FormatCount(diff.jobs_a),
                             FormatCount(diff.jobs_b), FormatCount(diff.aligned),
                             diff.first_difference.empty() ? "" : "; " + diff.first_difference),
                 2);
  for (const std::string& note : diff.notes) out += Wrapped(style, Printable(note), 4);
  out += Section("WHERE THE TIME WENT", "each instant counts once", diff.classes, 8, style);
  out += Section("OPS", "sums of start to end", diff.ops, 20, style);
  out += Section("STAGES", "of all jobs together", diff.stages, 14, style);
  out += Section("UNITS", "time that they were busy", diff.units, 12, style);
  out += Section("TRANSFERS", "by size, up to so many bytes", diff.transfers, 12, style);
  out += Section("API CALLS", "on their threads", diff.calls, 12, style);
  return out;
}

std::string JsonDiff(const Diff& diff) {
  const int64_t of_a = diff.begin_a_ns, of_b = diff.begin_b_ns;
  Json json = {{"schema", "acceltrace.diff"},
               {"version", 1},
               {"comparable", diff.comparable},
               {"notes", diff.notes}};
  if (!diff.comparable) json["why_not"] = diff.why_not;
  json["jobs"] = {{"a", diff.jobs_a}, {"b", diff.jobs_b}, {"aligned", diff.aligned}};
  if (!diff.first_difference.empty()) json["jobs"]["first_difference"] = diff.first_difference;
  json["run"] = ChangeJson(diff.run, of_a, of_b);
  json["classes"] = ChangesJson(diff.classes, of_a, of_b);
  json["ops"] = ChangesJson(diff.ops, of_a, of_b);
  json["stages"] = ChangesJson(diff.stages, of_a, of_b);
  json["units"] = ChangesJson(diff.units, of_a, of_b);
  json["transfers"] = ChangesJson(diff.transfers, of_a, of_b);
  json["calls"] = ChangesJson(diff.calls, of_a, of_b);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace acceltrace::view
