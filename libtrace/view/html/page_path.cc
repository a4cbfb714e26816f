// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/html/page_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "libtrace/analysis/report/verdict.h"
#include "libtrace/analysis/rows/names.h"
#include "libtrace/view/common/page_columns.h"

namespace acceltrace::view {
namespace {

using analysis::Graph;
using analysis::PathShare;
using Kind = Graph::Kind;

constexpr size_t kMostShares = 200;

class Walker {
 public:
  Walker(const model::Model& model, const Graph& graph, PagePath* path)
      : model_(model), graph_(graph), path_(*path) {
    path_.api.resize(model.api.size());
    path_.jobs.resize(model.jobs.size());
    path_.commands.resize(model.commands.size());
    for (uint32_t j = 0; j < model.jobs.size(); ++j) {
      if (model.jobs.submit_ns[j] != model::kNoTime) submits_.push_back(j);
    }
    std::sort(submits_.begin(), submits_.end(),
              [this](uint32_t a, uint32_t b) { return SubmitKey(a) < SubmitKey(b); });
  }

  void FindBefore() {
    path_.after.assign(model_.commands.size(), model::kNoRow);
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (graph_.kind[node] != Kind::kStart) continue;
      const uint32_t edge = analysis::LastEdge(graph_, node);
      if (edge == Graph::kNone) continue;
      const uint32_t from = graph_.from[edge];
      const bool of_command = graph_.kind[from] == Kind::kEnd || graph_.kind[from] == Kind::kStart;
      if (of_command && graph_.row[from] != graph_.row[node]) {
        path_.after[graph_.row[node]] = graph_.row[from];
      }
    }
  }

  void Run() {
    FindBefore();
    for (const analysis::PathNode& at : analysis::WalkPath(graph_)) {
      Add(at.node, at.from, graph_.cause[at.node], at.middle_ns, at.end_ns);
      if (at.edge == Graph::kNone) continue;
      Add(at.node, at.from, graph_.edge_cause[at.edge], at.begin_ns, at.middle_ns);
    }
    std::reverse(path_.steps.begin(), path_.steps.end());
  }

 private:
  std::pair<uint32_t, int64_t> SubmitKey(uint32_t job) const {
    return {model_.jobs.tid[job], model_.jobs.submit_ns[job]};
  }

  // Returns the submission that a thread had under way at a time, or model::kNoRow if there is
  // none.
  uint32_t SubmissionAt(uint32_t tid, int64_t at_ns) const {
    const auto after =
        std::upper_bound(submits_.begin(), submits_.end(), std::pair{tid, at_ns},
                         [this](const auto& key, uint32_t job) { return key < SubmitKey(job); });
    if (after == submits_.begin() || model_.jobs.tid[*(after - 1)] != tid) return model::kNoRow;
    return *(after - 1);
  }

  void Add(uint32_t node, uint32_t from, analysis::Cause cause, double begin_ns, double end_ns) {
    if (std::llround(end_ns) <= std::llround(begin_ns)) return;
    PathStep step;
    step.begin_ns = graph_.begin_ns + std::llround(begin_ns);
    step.end_ns = graph_.begin_ns + std::llround(end_ns);
    step.name = analysis::PathCauseName(cause);
    Place(node, from, cause, &step);
    if (!path_.steps.empty()) {
      PathStep& later = path_.steps.back();
      if (later.event == step.event && later.row == step.row && later.name == step.name) {
        later.begin_ns = step.begin_ns;
        return;
      }
    }
    path_.steps.push_back(std::move(step));
  }

  void Place(uint32_t node, uint32_t from, analysis::Cause cause, PathStep* step) {
    const uint32_t row = graph_.row[node];
    switch (graph_.kind[node]) {
      case Kind::kEnd:
        step->name = model_.OpName(row);
        [[fallthrough]];
      case Kind::kStart:
        Mark(PathStep::kCommand, row, 1, &path_.commands, step);
        break;
      case Kind::kFetch:
        Mark(PathStep::kJob, model_.commands.job_row[row], PagePath::kDevicePart, &path_.jobs,
             step);
        break;
      case Kind::kCompletion:
        Mark(PathStep::kJob, row, PagePath::kDevicePart, &path_.jobs, step);
        break;
      case Kind::kHost:
        PlaceOnHost(graph_.points[row], from, cause, step);
        break;
    }
  }

  void PlaceOnHost(const Graph::Point& point, uint32_t from, analysis::Cause cause,
                   PathStep* step) {
    if (cause == analysis::kByProgram) return;
    if (point.api_row != model::kNoRow) Mark(PathStep::kApi, point.api_row, 1, &path_.api, step);
    if (cause == analysis::kByDriver) {
      const uint32_t job = SubmissionAt(point.tid, step->end_ns - 1);
      Mark(PathStep::kSubmit, job, PagePath::kSubmitPart, &path_.jobs, step);
    } else if (cause == analysis::kByWake && from != Graph::kNone &&
               graph_.kind[from] == Kind::kCompletion) {
      Mark(PathStep::kWake, graph_.row[from], PagePath::kWakePart, &path_.jobs, step);
    }
  }

  static void Mark(PathStep::Event event, uint32_t row, uint8_t flag, std::vector<uint8_t>* marks,
                   PathStep* step) {
    if (row >= marks->size()) return;
    (*marks)[row] |= flag;
    step->event = event, step->row = row;
  }

  const model::Model& model_;
  const Graph& graph_;
  PagePath& path_;
  std::vector<uint32_t> submits_;  // jobs sorted by thread and time
};

// Merges names that only differ in a running number.
void Fold(std::vector<PathShare>* shares) {
  std::vector<std::string_view> names;
  for (const PathShare& share : *shares) names.push_back(share.name);
  const analysis::NameGroups groups(true, names);
  std::map<std::pair<std::string, std::string>, PathShare> sums;
  for (const PathShare& share : *shares) {
    const std::string name = groups.Of(share.name);
    PathShare& sum = sums[{name, share.where}];
    sum.name = name, sum.where = share.where;
    sum.count += share.count, sum.ns += share.ns, sum.tracer_ns += share.tracer_ns;
  }
  shares->clear();
  for (auto& [key, sum] : sums) shares->push_back(std::move(sum));
  std::stable_sort(shares->begin(), shares->end(),
                   [](const PathShare& a, const PathShare& b) { return a.ns > b.ns; });
}

std::string SharesJson(const std::vector<PathShare>& shares, double run_ns) {
  std::string json = "[";
  for (size_t i = 0; i < std::min(kMostShares, shares.size()); ++i) {
    const PathShare& share = shares[i];
    json += fmt::format("{}{{\"name\":{},\"where\":{},\"count\":{},\"ns\":{},\"share\":{:.6f}}}",
                        i == 0 ? "" : ",", PageString(share.name), PageString(share.where),
                        share.count, std::llround(share.ns), run_ns > 0 ? share.ns / run_ns : 0);
  }
  return json + "]";
}

}  // namespace

std::string PagePath::Json() const {
  if (!sums.valid) return fmt::format("{{\"valid\":false,\"error\":{}}}", PageString(sums.error));
  return fmt::format(
      "{{\"valid\":true,\"run_ns\":{},\"events\":{},\"on_path\":{},\"causes\":{},\"ops\":{},"
      "\"layers\":{},\"calls\":{}}}",
      std::llround(sums.run_ns), sums.nodes, sums.on_path, SharesJson(sums.causes, sums.run_ns),
      SharesJson(sums.ops, sums.run_ns), SharesJson(sums.layers, sums.run_ns),
      SharesJson(sums.calls, sums.run_ns));
}

PagePath ComputePagePath(const analysis::Report& report, const analysis::TracerWork& work) {
  const model::Model& model = *report.model;
  PagePath path;
  if (!report.verdict.predicts()) {
    path.sums.error = analysis::CaveatsText(report.verdict.caveats);
  } else {
    const Graph graph =
        analysis::BuildGraph(model, work, report.breakdown.begin_ns, report.breakdown.end_ns);
    path.sums = analysis::ComputeCriticalPath(model, graph);
    if (path.sums.valid) {
      Walker(model, graph, &path).Run();
      path.graph = MakePageGraph(model, graph);
    }
    Fold(&path.sums.ops);
  }
  path.api.resize(model.api.size());
  path.jobs.resize(model.jobs.size());
  path.commands.resize(model.commands.size());
  path.after.resize(model.commands.size(), model::kNoRow);
  return path;
}

}  // namespace acceltrace::view
