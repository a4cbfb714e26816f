// SPDX-License-Identifier: Apache-2.0
//
// Compares what a served page receives with the model, event by event.
#include "libtrace/view/html/page_source.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "libtrace/view/html/page_readback.h"
#include "tests/catch.h"
#include "tests/golden/trace_builder.h"

namespace acceltrace::view {
namespace {

using namespace acceltrace::test;
using Json = nlohmann::json;

constexpr int64_t kBase = 30'000'000;

// Jobs of which several are under way at once, on two queues; calls inside ranges; losses.
TraceBuilder Busy(uint32_t n) {
  std::mt19937 random(5);
  TraceBuilder builder;
  builder.AddDevice();
  builder.AddProcess(100, 100, "app");
  for (uint32_t i = 0; i < n; ++i) {
    const int64_t at = kBase + int64_t{i} * 20'000;
    const int64_t completion_ns = at + 30'000 + static_cast<int64_t>(random() % 90'000);
    JobSpec job = test::JobOfCall(at, i + 1, completion_ns);
    for (Unit unit : {kIn, kMatrix}) {
      CommandSpec command;
      command.unit = unit, command.fetched_ns = at + 3'000, command.head_ns = at + 4'000;
      command.start_ns = at + 5'000 + (unit == kIn ? 0 : 6'000);
      command.end_ns = command.start_ns + 100 + static_cast<int64_t>(random() % 5000);
      command.bytes = random() % 10'000, command.work = 1'000'000;
      job.commands.push_back(command);
    }
    builder.AddApi(i % 3 == 0 ? "Launch" : "Copy", 100, job.correlation, at, at + 3'000);
    builder.AddJob(job);
    if (i % 10 == 0) builder.AddRange("layer", 100, at - 100, at + 180'000);
    if (i % 97 == 0) builder.AddLoss("device-ring", i + 1, at + 100, at + 200 + i);
  }
  builder.AddTrueCounters(0, kBase - 5'000);
  builder.AddTrueCounters(0, kBase + int64_t{n} * 20'000 + 200'000);
  return builder;
}

struct Served {
  explicit Served(uint32_t n)
      : model(Busy(n).Model()), report(analysis::ComputeReport(*model)), source(report) {}

  Json Window(int64_t from, int64_t to, uint64_t pixels) const {
    PageView view;
    view.from = from, view.to = to, view.pixels = pixels;
    return Json::parse(source.Window(view));
  }
  // Returns the rows of a track's events by kind, sorted by time.
  std::vector<PageEvent> EventsOf(const PageTrack& track) const {
    std::vector<PageEvent> events;
    for (const PageLane& lane : track.parts) {
      for (uint32_t row : lane.events.rows()) events.push_back({lane.kind, row});
    }
    return events;
  }
  std::pair<int64_t, int64_t> Span(const PageEvent& event) const {
    const auto [begin_ns, end_ns] = source.tracks().Span(event.kind, event.row);
    return {begin_ns - model->begin_ns, end_ns - model->begin_ns};
  }

  std::unique_ptr<model::Model> model;
  analysis::Report report;
  PageSource source;
};

const char* const kTables[] = {"api",           "ranges", "jobs",   "commands", "host",
                               "device_events", "losses", "pieces", "recorder", "path"};

}  // namespace

TEST_CASE("tracks hold each event once, and in a lane none lies upon another") {
  const Served served(400);
  const PageTracks& tracks = served.source.tracks();
  std::map<PageKind, std::set<uint32_t>> seen;
  size_t deepest = 0;
  for (const PageTrack& track : tracks.tracks()) {
    std::map<uint8_t, std::vector<std::pair<int64_t, int64_t>>> lanes;
    uint64_t events = 0;
    for (const PageLane& lane : track.parts) {
      for (uint32_t row : lane.events.rows()) {
        CHECK(seen[lane.kind].insert(row).second);
        CHECK(tracks.LaneOf(lane.kind, row) == lane.lane);
        CHECK(tracks.TrackOf(lane.kind, row) == track.id);
        lanes[lane.lane].push_back(served.Span({lane.kind, row}));
        ++events;
      }
    }
    CHECK(events == track.events);
    CHECK(lanes.size() == track.lanes);
    deepest = std::max(deepest, lanes.size());
    for (auto& [lane, spans] : lanes) {
      std::sort(spans.begin(), spans.end());
      for (size_t i = 1; i < spans.size(); ++i) CHECK(spans[i - 1].second <= spans[i].first);
    }
  }
  CHECK(deepest > 3);
  CHECK(seen[kApiEvent].size() == served.model->api.size());
  CHECK(seen[kCommandEvent].size() == served.model->commands.size());
  CHECK(seen[kJobEvent].size() == served.model->jobs.size());
  CHECK(seen[kRangeEvent].size() == served.model->ranges.size());
  CHECK(seen[kLossEvent].size() == served.model->losses.size());
}

TEST_CASE("a window holds what lies in it, each lane's longest of every stretch, and every loss") {
  const Served served(9'000);
  std::mt19937_64 random(3);
  const int64_t end = served.model->end_ns - served.model->begin_ns;
  for (int w = 0; w < 8; ++w) {
    const int64_t width = std::max<int64_t>(2'000, end >> (w * 2));
    const int64_t from = w == 0 ? -10 : static_cast<int64_t>(random() % static_cast<uint64_t>(end));
    const Json window = served.Window(from, from + width, 700);
    std::map<std::string, std::set<int64_t>> rows;
    for (const char* table : kTables) {
      const auto ids = readback::Column(window, table, "id");
      rows[table] = std::set<int64_t>(ids.begin(), ids.end());
      REQUIRE(rows[table].size() == window["tables"][table]["rows"].get<size_t>());
    }
    CHECK(window.dump().size() < 2'000'000);
    const double stretch_ns = window["bucket_ns"];
    bool all = true;
    for (const PageTrack& track : served.source.tracks().tracks()) {
      bool thinned = false;
      for (const PageEvent& event : served.EventsOf(track)) {
        const auto [begin, until] = served.Span(event);
        if (begin >= from + width || (until <= from && begin < from)) continue;
        const char* table = kTables[AboutKind(event.kind).table];
        const bool here = rows[table].count(event.row) != 0;
        thinned |= !here;
        // Events that are longer than an interval are never omitted.
        if (static_cast<double>(until - begin) > stretch_ns + 1) CHECK(here);
        if (event.kind == kLossEvent) CHECK(here);
      }
      CHECK(thinned <= window["coverage"].contains(track.id));
      all = all && !thinned;
    }
    CHECK(window["whole"].get<bool>() <= all);
    if (w == 0) CHECK_FALSE(all);
    if (w > 5) CHECK(window["whole"].get<bool>());
  }
}

TEST_CASE("what a window says of a row is what the model holds") {
  const Served served(500);
  const Json window = served.Window(0, 2'000'000, 1000);
  const auto ids = readback::Column(window, "commands", "id");
  const auto start = readback::Column(window, "commands", "start");
  const auto raw = readback::Column(window, "commands", "end_raw");
  const auto bytes = readback::Column(window, "commands", "bytes");
  const model::Commands& commands = served.model->commands;
  REQUIRE(ids.size() > 100);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto row = static_cast<uint32_t>(ids[i]);
    CHECK(start[i] == commands.start.host[row].mid_ns - served.model->begin_ns);
    CHECK(static_cast<uint64_t>(raw[i]) == commands.end.RawTicks(row));
    CHECK(static_cast<uint64_t>(bytes[i]) == commands.bytes[row]);
  }
  const auto jobs = readback::Column(window, "jobs", "id");
  const auto lanes = readback::Column(window, "jobs", "lane_job");
  for (size_t i = 0; i < jobs.size(); ++i) {
    CHECK(lanes[i] == served.source.tracks().LaneOf(kJobEvent, static_cast<uint32_t>(jobs[i])));
  }
}

TEST_CASE("what is selected comes along with its job, its calls and its commands") {
  const Served served(3'000);
  PageView view;
  view.from = 0, view.to = 1000, view.pixels = 100, view.selected = PageEvent{kCommandEvent, 4001};
  const Json window = Json::parse(served.source.Window(view));
  const auto has = [&](const char* table, int64_t row) {
    const auto ids = readback::Column(window, table, "id");
    return std::count(ids.begin(), ids.end(), row) == 1;
  };
  const uint32_t job = served.model->commands.job_row[4001];
  REQUIRE(job != model::kNoRow);
  CHECK(has("commands", 4001));
  CHECK(has("jobs", job));
  CHECK(has("api", served.model->jobs.api_row[job]));
  CHECK(has("commands", served.model->jobs.first_command[job]));
}

TEST_CASE("steps go through all events of a track, there and back") {
  const Served served(300);
  for (const PageTrack& track : served.source.tracks().tracks()) {
    std::vector<std::pair<PageKind, uint32_t>> all;
    for (const PageEvent& event : served.EventsOf(track)) all.emplace_back(event.kind, event.row);
    // Begin with the first event.
    PageEvent at{all[0].first, all[0].second};
    for (Json before = Json::parse(served.source.Step(at, -1)); !before.is_null();
         before = Json::parse(served.source.Step(at, -1))) {
      at = *served.source.ParseEvent(before["kind"].get<std::string>() + "." +
                                     std::to_string(before["row"].get<uint32_t>()));
    }
    std::set<std::pair<PageKind, uint32_t>> seen{{at.kind, at.row}};
    int64_t last = served.Span(at).first;
    for (Json next = Json::parse(served.source.Step(at, 1)); !next.is_null();
         next = Json::parse(served.source.Step(at, 1))) {
      at = *served.source.ParseEvent(next["kind"].get<std::string>() + "." +
                                     std::to_string(next["row"].get<uint32_t>()));
      CHECK(next["begin"] >= last);
      last = next["begin"];
      REQUIRE(seen.emplace(at.kind, at.row).second);
    }
    CHECK(seen.size() == all.size());
  }
}

TEST_CASE("an area's sums and a search's hits are those of all events") {
  const Served served(2'000);
  const Json found = Json::parse(served.source.Search("LAUNCH", 5'000'000));
  CHECK(found["count"] == (2'000 + 2) / 3);
  REQUIRE_FALSE(found["hits"].empty());
  for (const Json& hit : found["hits"]) {
    CHECK(hit[0] == "api");
    CHECK(served.model->strings.Get(served.model->api.name[hit[1].get<size_t>()]) == "Launch");
  }
  CHECK(Json::parse(served.source.Search("no such thing", 0))["count"] == 0);
  const auto count = [&served](const char* text) {
    return Json::parse(served.source.Search(text, 0))["count"].get<int>();
  };
  // A folded name finds what it represents: the number must match as a whole, in its place, within
  // its range.
  CHECK(count("job [12-12]") == 1);
  CHECK(count("job [10-12]") == 3);
  CHECK(count("Job [0-2000]") == 2'000);
  CHECK(count("ob [7-7]") == 1);
  CHECK(count("job [3000-4000]") == 0);
  CHECK(count("job [12-") == 0);
  CHECK(count("[") == 0);
  CHECK(count("job [12-12] ") == 0);
  const int64_t from = 3'000'500, to = 27'123'456;
  std::vector<std::string> ids;
  for (const PageTrack& track : served.source.tracks().tracks()) ids.push_back(track.id);
  const Json area = Json::parse(served.source.Area(from, to, ids));
  std::map<std::string, Json> by_track;
  for (const Json& track : area["tracks"]) by_track[track["id"]] = track;
  for (const PageTrack& track : served.source.tracks().tracks()) {
    uint64_t events = 0, covered = 0;
    int64_t within = 0, until = from;
    std::vector<std::pair<int64_t, int64_t>> spans;
    for (const PageEvent& event : served.EventsOf(track)) {
      const auto [begin, end] = served.Span(event);
      if (begin > to || end < from) continue;
      ++events, within += std::min(to, end) - std::max(from, begin);
      spans.emplace_back(std::max(from, begin), std::min(to, end));
    }
    std::sort(spans.begin(), spans.end());
    for (const auto& [a, b] : spans) {
      if (b > until) covered += static_cast<uint64_t>(b - std::max(a, until)), until = b;
    }
    if (events == 0) {
      CHECK(by_track.count(track.id) == 0);
      continue;
    }
    CHECK(by_track[track.id]["events"] == events);
    CHECK(by_track[track.id]["within"] == within);
    CHECK(by_track[track.id]["covered"] == covered);
  }
}

TEST_CASE("an empty trace has an answer for everything") {
  const auto model = TraceBuilder().Model();
  const analysis::Report report = analysis::ComputeReport(*model);
  const PageSource source(report);
  CHECK(Json::parse(source.Window({})).contains("tables"));
  CHECK(source.Html().find("\"served\":{") != std::string::npos);
  CHECK(Json::parse(source.Search("x", 0))["count"] == 0);
  CHECK(Json::parse(source.Area(0, 10, {"u0.0", "", "run"}))["tracks"].empty());
  CHECK_FALSE(source.ParseEvent("command.0"));
}

}  // namespace acceltrace::view
