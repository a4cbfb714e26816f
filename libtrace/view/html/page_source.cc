// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/page_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "libtrace/view/common/page_columns.h"
#include "libtrace/view/html/page_bins.h"
#include "libtrace/view/html/page_head.h"

namespace acceltrace::view {
namespace {

// The approximate limit for the tables of an answer.
constexpr uint64_t kMostTableBytes = 600'000;
constexpr size_t kMostNameBytes = 400'000;
constexpr size_t kFewestStretches = 16;
constexpr size_t kMostCommandsOfAJob = 512, kMostBefore = 16, kMostJobsOfACall = 16;
constexpr size_t kMostUnplaced = 1000;
constexpr size_t kMostNodes = 120;  // of the dependency graph

// The approximate size of a row of each table.
constexpr std::array<uint64_t, kNumPageTables> kRowBytes = {16, 14, 115, 75, 24,
                                                            22, 18, 11,  14, 16};

std::vector<uint32_t>* RowsOf(PageTableId table, PageRows* rows) {
  switch (table) {
    case kApiTable:
      return &rows->api;
    case kRangesTable:
      return &rows->ranges;
    case kJobsTable:
      return &rows->jobs;
    case kCommandsTable:
      return &rows->commands;
    case kHostTable:
      return &rows->host;
    case kDeviceEventsTable:
      return &rows->device_events;
    case kLossesTable:
      return &rows->losses;
    case kPiecesTable:
      return &rows->pieces;
    case kRecorderTable:
      return &rows->recorder;
    default:
      return &rows->path;
  }
}

size_t EventsIn(const Pyramid& events, int64_t from_ns, int64_t to_ns) {
  return events.Before(to_ns) - events.Before(from_ns);
}

}  // namespace

PageSource::PageSource(const analysis::Report& report, uint64_t live)
    : report_(report),
      live_(live),
      model_(*report.model),
      work_(model_),
      path_(ComputePagePath(report, work_)),
      tracks_(report, work_, path_) {}

int64_t PageSource::At(int64_t time) const { return Less(model_.begin_ns, Less(0, time)); }

// Returns the number of intervals for the window: that of its pixels, or fewer if there would be
// too many rows, or 0 if all events fit.
size_t PageSource::Stretches(const PageView& view) const {
  const int64_t from_ns = At(view.from), to_ns = At(view.to);
  std::vector<std::pair<uint64_t, uint64_t>> lanes;  // number and size of the events in each lane
  for (const PageTrack& track : tracks_.tracks()) {
    for (const PageLane& lane : track.parts) {
      const size_t events = EventsIn(lane.events, from_ns, to_ns);
      if (events > 0) lanes.emplace_back(events, kRowBytes[AboutKind(lane.kind).table]);
    }
  }
  uint64_t all_bytes = 0;
  for (const auto& [events, each] : lanes) all_bytes += events * each;
  if (all_bytes <= kMostTableBytes) return 0;
  size_t stretches = std::clamp<size_t>(view.pixels, kFewestStretches, kMostPixels);
  while (stretches > kFewestStretches) {
    uint64_t bytes = 0;
    for (const auto& [events, each] : lanes) bytes += std::min<uint64_t>(events, stretches) * each;
    if (bytes <= kMostTableBytes) break;
    stretches = std::max(kFewestStretches, stretches * 3 / 4);
  }
  return stretches;
}

bool PageSource::SelectTracks(const PageView& view, size_t stretches, PageRows* rows,
                              std::string* coverage) const {
  const int64_t from_ns = At(view.from), to_ns = At(view.to);
  const double width_ns =
      LengthNs(from_ns, to_ns) / static_cast<double>(std::max<size_t>(1, stretches));
  bool left_out = false;
  std::vector<double> busy_ns;
  for (const PageTrack& track : tracks_.tracks()) {
    busy_ns.clear();
    for (const PageLane& lane : track.parts) {
      std::vector<uint32_t>* mine = RowsOf(AboutKind(lane.kind).table, rows);
      const size_t first = lane.events.Before(from_ns), end = lane.events.Before(to_ns);
      bool all = true;
      const std::vector<uint32_t> carried = lane.events.Carried(from_ns, &all);
      mine->insert(mine->end(), carried.begin(), carried.end());
      left_out |= !all;
      if (stretches == 0 || end - first <= stretches) {
        const auto begin = lane.events.rows().begin();
        mine->insert(mine->end(), begin + static_cast<ptrdiff_t>(first),
                     begin + static_cast<ptrdiff_t>(end));
        continue;
      }
      const PyramidWindow window = lane.events.Window(from_ns, to_ns, stretches);
      busy_ns.resize(stretches), left_out = true;
      for (size_t p = 0; p < stretches; ++p) {
        if (window.longest[p] != PyramidWindow::kNone) mine->push_back(window.longest[p]);
        busy_ns[p] += static_cast<double>(window.busy_ns[p]);
      }
    }
    if (busy_ns.empty()) continue;
    // Lanes whose events are all sent need no coverage.
    *coverage += fmt::format("{}\"{}\":[{{\"from\":{},\"to\":{},\"shares\":\"{}\"}}]",
                             coverage->empty() ? "" : ",", track.id, view.from, view.to,
                             SharesText(busy_ns, width_ns));
  }
  return left_out;
}

// Adds what an event waited for and what waited for it, according to the dependency graph.
void PageSource::BringGraph(const PageEvent& event, PageRows* rows) const {
  const PageGraph& graph = path_.graph;
  const auto of = [](const std::vector<uint32_t>& nodes, uint32_t row) {
    return row < nodes.size() ? nodes[row] : PageGraph::kNone;
  };
  uint32_t node = PageGraph::kNone;
  switch (AboutKind(event.kind).table) {
    case kApiTable:
      node = of(graph.of_api, event.row);
      break;
    case kCommandsTable:
      node = of(graph.of_command, event.row);
      break;
    case kJobsTable: {
      const model::Jobs& jobs = model_.jobs;
      node = event.kind == kSubmitEvent ? of(graph.of_api, jobs.api_row[event.row])
             : event.kind == kWaitEvent || event.kind == kWakeEvent
                 ? of(graph.of_api, jobs.wait_api_row[event.row])
                 : of(graph.of_job, event.row);
      break;
    }
    case kPathTable: {
      const PathStep& step = path_.steps[event.row];
      if (step.event == PathStep::kCommand) node = of(graph.of_command, step.row);
      if (step.event == PathStep::kApi) node = of(graph.of_api, step.row);
      if (step.event == PathStep::kJob) node = of(graph.of_job, step.row);
      break;
    }
    default:
      break;
  }
  rows->graph = graph.Around(node, kMostNodes);
  std::sort(rows->graph.begin(), rows->graph.end());
  for (const uint32_t n : rows->graph) {
    const uint32_t row = graph.row[n];
    if (row == model::kNoRow) continue;
    (graph.kind[n] == PageGraph::kThread    ? rows->api
     : graph.kind[n] == PageGraph::kCommand ? rows->commands
                                            : rows->jobs)
        .push_back(row);
  }
}

void PageSource::BringDependencies(uint32_t command, PageRows* rows) const {
  for (size_t n = 0; n < kMostBefore && command != model::kNoRow; ++n) {
    rows->commands.push_back(command);
    command = path_.after[command];
  }
}

void PageSource::BringJob(uint32_t job, PageRows* rows) const {
  const model::Jobs& jobs = model_.jobs;
  if (job >= jobs.size()) return;
  rows->jobs.push_back(job);
  for (uint32_t row : {jobs.api_row[job], jobs.wait_api_row[job]}) {
    if (row != model::kNoRow) rows->api.push_back(row);
  }
  if (jobs.num_commands[job] == 0) return;
  const model::Commands& commands = model_.commands;
  uint32_t first = jobs.first_command[job], last = first;
  for (uint32_t c = first; c < jobs.first_command[job] + jobs.num_commands[job]; ++c) {
    if (c - jobs.first_command[job] < kMostCommandsOfAJob) rows->commands.push_back(c);
    if (commands.start.ticks[c] < commands.start.ticks[first]) first = c;
    if (commands.end.ticks[c] > commands.end.ticks[last]) last = c;
  }
  rows->commands.push_back(first), rows->commands.push_back(last);
  BringDependencies(last, rows);
}

// Adds what is related to an event: its job with the calls and commands, and what these waited for.
void PageSource::BringAlong(const PageEvent& event, PageRows* rows) const {
  const uint32_t row = event.row;
  if (row >= tracks_.Rows(AboutKind(event.kind).table)) return;
  RowsOf(AboutKind(event.kind).table, rows)->push_back(row);
  switch (AboutKind(event.kind).table) {
    case kJobsTable:
      return BringJob(row, rows);
    case kCommandsTable:
      BringJob(model_.commands.job_row[row], rows);
      return BringDependencies(row, rows);
    case kApiTable: {
      const model::Jobs& jobs = model_.jobs;
      size_t found = 0;
      for (uint32_t j = 0; j < jobs.size() && found < kMostJobsOfACall; ++j) {
        if (jobs.api_row[j] != row && jobs.wait_api_row[j] != row) continue;
        BringJob(j, rows), ++found;
      }
      return;
    }
    case kPathTable: {
      const PathStep& step = path_.steps[row];
      if (step.event == PathStep::kApi) return BringAlong({kApiEvent, step.row}, rows);
      if (step.event == PathStep::kCommand) return BringAlong({kCommandEvent, step.row}, rows);
      if (step.event != PathStep::kNothing) return BringJob(step.row, rows);
      return;
    }
    default:
      return;
  }
}

std::string PageSource::Window(const PageView& view) const {
  PageRows rows;
  std::string coverage;
  const size_t stretches = Stretches(view);
  const bool left_out = SelectTracks(view, stretches, &rows, &coverage);
  if (view.selected) {
    BringAlong(*view.selected, &rows);
    BringGraph(*view.selected, &rows);
  }
  // Losses at unknown times are in every window.
  size_t unplaced = 0;
  for (uint32_t i = 0; i < model_.losses.size() && unplaced < kMostUnplaced; ++i) {
    if (model_.losses[i].first_ns == model::kNoTime) rows.losses.push_back(i), ++unplaced;
  }
  for (int t = 0; t < kNumPageTables; ++t) {
    std::vector<uint32_t>* mine = RowsOf(static_cast<PageTableId>(t), &rows);
    std::sort(mine->begin(), mine->end());
    mine->erase(std::unique(mine->begin(), mine->end()), mine->end());
  }
  PageNames names(model_);
  const std::string tables =
      PageTablesJson(report_, rows, work_, path_, model_.begin_ns, &names, &tracks_);
  return fmt::format(
      "{{\"from\":{},\"to\":{},\"bucket_ns\":{},\"whole\":{},\"names\":{},\"coverage\":{{{}}},"
      "\"tables\":{}}}",
      view.from, view.to,
      LengthNs(view.from, view.to) / static_cast<double>(stretches == 0 ? view.pixels : stretches),
      !left_out, names.Json(kMostNameBytes), coverage, tables);
}

// Lists the tracks, so that they can be drawn before their events are known.
std::string PageSource::Served() const {
  std::string json;
  for (const PageTrack& track : tracks_.tracks()) {
    json += fmt::format("{}[\"{}\",{},{}]", json.empty() ? "" : ",", track.id, track.lanes,
                        track.events);
  }
  return fmt::format("{{\"tracks\":[{}],\"left_out\":{},\"live\":{}}}", json,
                     tracks_.tracks_left_out(), live_);
}

std::string PageSource::Head() const {
  return PageHead(report_, path_) + "\"served\":" + Served() + "}";
}

std::string PageSource::Html() const {
  PageView view;
  const auto& run = report_.breakdown;
  const bool used = run.end_ns > run.begin_ns;
  view.from = used ? Less(run.begin_ns, model_.begin_ns) : 0;
  view.to = used ? Less(run.end_ns, model_.begin_ns) : Less(model_.end_ns, model_.begin_ns);
  // Add a margin on both sides, as the page does.
  const int64_t more = std::max<int64_t>(1, Less(view.to, view.from) / 16);
  view.from = Less(view.from, more), view.to = Less(view.to, -more);
  if (view.to <= view.from) view.to = view.from + 1;
  std::string before(PageBegin());
  // Allow requests to the same origin only.
  const std::string_view all = "default-src 'none';";
  const size_t policy = before.find(all);
  if (policy != before.npos) before.insert(policy + all.size(), " connect-src 'self';");
  std::string window = Window(view);
  return before + PageHead(report_, path_) + "\"served\":" + Served() + "," + window.substr(1) +
         std::string(PageEnd());
}

}  // namespace acceltrace::view
