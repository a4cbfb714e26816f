// SPDX-License-Identifier: Apache-2.0
//
// Checks the contents of a page by independent means.
#include "libtrace/view/html/html.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/analysis/rows/tracer_work.h"
#include "libtrace/analysis/whatif/critical_path.h"
#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/view/common/page_columns.h"
#include "libtrace/view/html/page_readback.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::view {
namespace {

using namespace acceltrace::test;
using Json = nlohmann::json;

struct Page {
  std::string text, data;
  Json json;
  HtmlStats stats;
};

Page PageOf(const model::Model& model, const HtmlOptions& options = {}) {
  const analysis::Report report = analysis::ComputeReport(model);
  Page page;
  const auto stats = ExportHtml(
      report,
      [&page](std::string_view more) {
        page.text += more;
        return Status();
      },
      options);
  REQUIRE(stats.ok());
  page.stats = *stats;
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t from = page.text.find(begin) + begin.size();
  page.data = page.text.substr(from, page.text.find("</script>", from) - from);
  page.json = Json::parse(page.data);
  return page;
}

using readback::Bytes;
using readback::kNone;

std::vector<int64_t> Column(const Page& page, const std::string& table, const std::string& name) {
  return readback::Column(page.json, table, name);
}

constexpr int64_t kBase = 30'000'000;

TraceBuilder Jobs(uint32_t n) {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddProcess(100, 100, "app");
  for (uint32_t i = 0; i < n; ++i) {
    const int64_t at = kBase + int64_t{i} * 20'000;
    JobSpec job = test::JobOfCall(at, i + 1, at + 10'000);
    job.correlation = (uint64_t{1} << 63) + i + 1;
    CommandSpec command;
    command.fetched_ns = at + 3'000, command.head_ns = at + 4'000;
    command.start_ns = at + 5'000, command.end_ns = at + 9'000 + i % 7 * 100;
    command.bytes = 4096, command.work = 1'000'000'000'000;
    job.commands = {command};
    builder.AddApi("Launch", 100, job.correlation, at, at + 3'000);
    builder.AddJob(job);
  }
  builder.AddLoss("device-ring", 17, kBase + 100, kBase + 200);
  builder.AddTrueCounters(0, kBase);
  builder.AddTrueCounters(0, kBase + int64_t{n} * 20'000);
  return builder;
}

TEST_CASE("A page's critical path is that of the analysis, step by step") {
  const auto model = Jobs(40).Model();
  const analysis::Report report = analysis::ComputeReport(*model);
  const Page page = PageOf(*model);
  const analysis::Graph graph = analysis::BuildGraph(
      *model, analysis::TracerWork(*model), report.breakdown.begin_ns, report.breakdown.end_ns);
  const analysis::CriticalPath path = analysis::ComputeCriticalPath(*model, graph);
  REQUIRE(path.valid);
  CHECK(page.json["path"]["valid"] == true);
  CHECK(page.json["path"]["on_path"] == path.on_path);
  const auto begin = Column(page, "path", "begin"), length = Column(page, "path", "length");
  const auto event = Column(page, "path", "event"), row = Column(page, "path", "row");
  const auto name = Column(page, "path", "name");
  REQUIRE(begin.size() > 10);
  // They follow each other from the run's begin to its end.
  const int64_t base = std::stoll(page.json["base_ns"].get<std::string>());
  CHECK(base + begin.front() == report.breakdown.begin_ns);
  CHECK(base + begin.back() + length.back() ==
        report.breakdown.begin_ns + std::llround(path.run_ns));
  for (size_t i = 1; i < begin.size(); ++i) CHECK(begin[i] == begin[i - 1] + length[i - 1]);
  // The number and the times of the commands must match the analysis.
  std::map<std::string, double> by_name;
  std::map<int64_t, int> commands;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (event[i] != 5) continue;
    by_name[page.json["names"][static_cast<size_t>(name[i])]] += static_cast<double>(length[i]);
    commands[row[i]] = 1;
  }
  for (const analysis::PathShare& op : path.ops) {
    CHECK(std::abs(by_name[op.name] - op.ns) < 2.0 * static_cast<double>(op.count));
  }
  uint64_t critical = 0;
  for (const analysis::OpSlack& op : path.slack) critical += op.critical;
  const auto marks = Column(page, "commands", "critical");
  CHECK(static_cast<uint64_t>(std::count(marks.begin(), marks.end(), 1)) == critical);
  CHECK(commands.size() == critical);
}

TEST_CASE("A page says what each command waited for") {
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddProcess(100, 100, "app");
  JobSpec job = test::JobOfCall(kBase, 1, kBase + 10'000);
  // A copy, a command that waits for it, and one that runs beside both.
  CommandSpec copy, waits, beside;
  copy.unit = kIn, copy.fetched_ns = copy.head_ns = copy.start_ns = kBase + 3'000;
  copy.end_ns = kBase + 7'000, copy.bytes = 4096;
  waits.unit = kMatrix, waits.fetched_ns = waits.head_ns = kBase + 3'000;
  waits.start_ns = kBase + 7'000, waits.end_ns = kBase + 9'000;
  beside.unit = kVector, beside.fetched_ns = beside.head_ns = beside.start_ns = kBase + 3'000;
  beside.end_ns = kBase + 4'000;
  job.commands = {copy, beside, waits};
  builder.AddApi("Launch", 100, job.correlation, kBase, kBase + 3'000);
  builder.AddJob(job);
  const auto model = builder.Model();
  const Page page = PageOf(*model);
  const auto after = Column(page, "commands", "after"), unit = Column(page, "commands", "unit");
  REQUIRE(after.size() == 3);
  for (size_t i = 0; i < after.size(); ++i) {
    INFO(i);
    if (unit[i] != kMatrix) {
      CHECK(after[i] == 0);
    } else {
      CHECK(unit.at(i - static_cast<size_t>(after[i])) == kIn);
    }
  }
}

TEST_CASE("A page holds every event at the model's times, ticks and bounds") {
  const auto model = Jobs(40).Model();
  const Page page = PageOf(*model);
  CHECK(page.json["version"] == 1);
  const int64_t base = std::stoll(page.json["base_ns"].get<std::string>());
  const auto begin = Column(page, "api", "begin"), length = Column(page, "api", "length");
  REQUIRE(begin.size() == model->api.size());
  for (size_t i = 0; i < begin.size(); ++i) {
    CHECK(base + begin[i] == model->api.begin_ns[i]);
    CHECK(base + begin[i] + length[i] == model->api.end_ns[i]);
  }
  const auto correlation = Column(page, "api", "correlation");
  CHECK(static_cast<uint64_t>(correlation[3]) == model->api.correlation[3]);
  const model::Commands& commands = model->commands;
  for (const auto& [name, times] :
       std::map<std::string, const model::DeviceTimes*>{{"fetched", &commands.fetched},
                                                        {"head", &commands.head},
                                                        {"start", &commands.start},
                                                        {"end", &commands.end}}) {
    const auto mid = Column(page, "commands", name), raw = Column(page, "commands", name + "_raw");
    const auto lo = Column(page, "commands", name + "_lo");
    const auto hi = Column(page, "commands", name + "_hi");
    REQUIRE(mid.size() == commands.size());
    for (size_t i = 0; i < mid.size(); ++i) {
      CHECK(base + mid[i] == times->host[i].mid_ns);
      CHECK(base + mid[i] - lo[i] == times->host[i].lo_ns);
      CHECK(base + mid[i] + hi[i] == times->host[i].hi_ns);
      CHECK(static_cast<uint64_t>(raw[i]) == times->RawTicks(i));
    }
  }
  const auto submit = Column(page, "jobs", "submit"), wake = Column(page, "jobs", "wake");
  for (size_t j = 0; j < submit.size(); ++j) {
    CHECK(base + submit[j] == model->jobs.submit_ns[j]);
    CHECK(wake[j] == kNone);  // no thread waited
  }
  CHECK(Column(page, "losses", "count") == std::vector<int64_t>{17});
  CHECK(page.json["report"]["counts"]["commands"] == 40);
}

TEST_CASE("A page has where its calls were made, the first rows where they are long") {
  CHECK_FALSE(PageOf(*Jobs(40).Model()).json["report"].contains("call_sites"));
  TraceBuilder builder = Jobs(2000);
  for (uint32_t i = 0; i < 2000; ++i) {
    const std::string program = std::string(900, 'p') + "/till" + std::to_string(i);
    builder.AddCallStack((uint64_t{1} << 63) + i + 1, kBase + int64_t{i} * 20'000,
                         builder.AddStack({{"/lib/libcalls.so", 16}, {program, 32}, {program, 8}}));
  }
  const Page page = PageOf(*builder.Model());
  const Json& found = page.json["report"]["call_sites"];
  CHECK(found["without"] == 0);
  REQUIRE(found["stacks"].size() > 10);
  CHECK(found["stacks"][0]["frames"].size() == 3);
  CHECK(found["stacks"][0]["site"] == 1);
  // All of the sites would be more.
  CHECK((found["sites"].size() > 10 && found["sites"].size() < 2000));
  CHECK(page.json["report"].dump().size() < 2'000'000);
}

TEST_CASE("Columns keep every 64-bit number") {
  const std::vector<int64_t> values = {INT64_MIN, INT64_MAX, 0,         -1,
                                       1,         INT64_MIN, INT64_MIN, (int64_t{1} << 53) + 1};
  std::vector<uint32_t> rows(values.size());
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
  PageTable table(rows, rows.size());
  table.Plain("p", [&](uint32_t i) { return values[i]; });
  table.Delta("d", [&](uint32_t i) { return values[i]; });
  table.Optional("o", [&](uint32_t i) { return std::optional<int64_t>(values[i]); });
  table.Plain("c", [](uint32_t) { return INT64_MIN; });
  Page page;
  page.json["tables"]["t"] = Json::parse(table.Json());
  for (const char* name : {"p", "d", "o"}) CHECK(Column(page, "t", name) == values);
  CHECK(Column(page, "t", "c") == std::vector<int64_t>(values.size(), INT64_MIN));
}

TEST_CASE("Nothing of a trace becomes markup") {
  const std::vector<std::string> hostile = {"</script><script>alert(1)</script>",
                                            "<!--<script>",
                                            "]]>&lt;\"'`",
                                            "\x1b[2J\x07\x01",
                                            "\xe2\x80\xae"
                                            "evil",
                                            "\xff\xfe\x80 not UTF-8",
                                            std::string(64 * 1024, '<'),
                                            "\\u003c/script>",
                                            "\xe2\x80\xa8\xe2\x80\xa9"};
  TraceBuilder builder = Jobs(3);
  for (uint32_t i = 0; i < hostile.size(); ++i) {
    builder.AddApi(hostile[i], 100, 1000 + i, kBase + 900'000 + i * 100, kBase + 900'050 + i * 100);
    builder.AddRange(hostile[i], 100, kBase + 900'000 + i * 100, kBase + 900'050 + i * 100);
  }
  builder.AddProcess(100, 101, hostile[0]);
  builder.info()->add_command(hostile[0]);
  builder.info()->set_host(hostile[4]);
  builder.device(0)->set_name(hostile[0]);
  builder.device(0)->mutable_units(2)->set_name(hostile[1]);
  builder.device(0)->set_stalls(0, hostile[0]);
  const Page page = PageOf(*builder.Model());
  for (char c : page.data) {
    const bool inert = c >= ' ' && c < '\x7f' && c != '<' && c != '>' && c != '&';
    if (!inert) FAIL("the data holds byte " << static_cast<int>(c));
  }
  const auto names = page.json["names"].get<std::vector<std::string>>();
  CHECK(std::count(names.begin(), names.end(), hostile[0]) == 1);
  CHECK(page.json["devices"][0]["name"] == hostile[0]);
  CHECK(page.json["report"]["trace"]["command"][0] == hostile[0]);
  // The page's own markup must be unchanged.
  size_t scripts = 0;
  for (size_t at = page.text.find("<script"); at != std::string::npos;
       at = page.text.find("<script", at + 1)) {
    ++scripts;
  }
  CHECK(scripts == 2);
  CHECK(page.text.find("default-src 'none'") != std::string::npos);
  CHECK(page.text.find("unsafe") == std::string::npos);
}

TEST_CASE("A page too large keeps every loss and the longest of each stretch") {
  TraceBuilder builder = Jobs(3000);
  for (int i = 0; i < 50; ++i) {
    const int64_t at = kBase + 1'000'000 * i;
    builder.AddLoss("device-ring", 1, at, at + 10);
  }
  const auto model = builder.Model();
  const Page whole = PageOf(*model);
  CHECK_FALSE(whole.stats.thinned);
  CHECK(whole.json["coverage"].empty());
  HtmlOptions options;
  options.max_bytes = 400'000;
  const Page page = PageOf(*model, options);
  CHECK(page.stats.thinned);
  CHECK(page.text.size() == page.stats.bytes);
  CHECK(page.text.size() <= options.max_bytes);
  CHECK(Column(page, "losses", "count").size() == model->losses.size());
  const Json& table = page.json["tables"]["commands"];
  CHECK(table["of"] == 3000);
  CHECK(table["rows"] < 3000);
  // One unit has the longest command of each sixteenth of the recording.
  const auto start = Column(page, "commands", "start"), end = Column(page, "commands", "end");
  const int64_t length = page.json["end"];
  std::map<int64_t, int64_t> longest, here;
  const int64_t base = std::stoll(page.json["base_ns"].get<std::string>());
  for (size_t i = 0; i < model->commands.size(); ++i) {
    const int64_t from = model->commands.start.host[i].mid_ns - base;
    int64_t& most = longest[from * 16 / length];
    most = std::max(most, model->commands.end.host[i].mid_ns - base - from);
  }
  for (size_t i = 0; i < start.size(); ++i) {
    int64_t& most = here[start[i] * 16 / length];
    most = std::max(most, end[i] - start[i]);
  }
  CHECK(longest == here);
  // Jobs must still refer to their calls and commands.
  const auto api = Column(page, "jobs", "api"), commands = Column(page, "jobs", "commands_here");
  for (size_t j = 0; j < api.size(); ++j) {
    CHECK(api[j] >= 0);
    CHECK(commands[j] == 1);
  }
  CHECK(page.json["coverage"]["u0.2"].size() == 2);
}

TEST_CASE("A page of an empty trace, and one whose sink fails") {
  TraceBuilder builder;
  const auto model = builder.Model();
  const Page page = PageOf(*model);
  CHECK(page.json["tables"]["api"]["rows"] == 0);
  const auto failed = ExportHtml(analysis::ComputeReport(*model),
                                 [](std::string_view) { return Status::Error("disk full"); });
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.message() == "disk full");
}

TEST_CASE("The same trace gives the same page") {
  CHECK(PageOf(*Jobs(5).Model()).text == PageOf(*Jobs(5).Model()).text);
}

}  // namespace
}  // namespace acceltrace::view
