// SPDX-License-Identifier: Apache-2.0
//
// The dependency graph of a run as a page draws it around one event. Internal.
//
// analysis/graph.h has an instant for each thing that waits; here a node is what people see:
//
//   thread      consecutive points of one thread in one API call (or outside of all), up to the
//               next one that waits for something outside of the thread
//   fetch       commands that were fetched at once
//   command     from its start to its end
//   completion  of a job
//
// An edge is binding if it was the last to let its node come. Its slack is by how much the
// other end could have been later without holding its node up.
#ifndef LIBTRACE_VIEW_PAGE_GRAPH_H_
#define LIBTRACE_VIEW_PAGE_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/graph.h"
#include "libtrace/model/model.h"

namespace acceltrace::view {

struct PageGraph {
  static constexpr uint32_t kNone = UINT32_MAX;
  enum Kind : uint8_t { kThread, kFetch, kCommand, kCompletion };
  // Beyond analysis::Cause: fetched before it starts, commands on one unit, and any other order
  // between commands.
  enum : uint8_t { kFetched = analysis::kNumCauses, kSameUnit, kDepends, kNumReasons };

  // Nodes. row: API call (model::kNoRow: outside of all), job, command, job.
  std::vector<Kind> kind;
  std::vector<uint32_t> row;
  std::vector<int64_t> begin_ns, end_ns;  // host
  std::vector<uint8_t> resumes;           // of a thread: it went on after something else

  // Edges, sorted by the node that they lead to, and [first_next[n], first_next[n + 1]) of `next`
  // by the node that they come from.
  std::vector<uint32_t> first_edge, from, to, first_next, next;
  std::vector<uint8_t> reason;
  std::vector<float> gap_ns, slack_ns;  // gap: between the end of the one and the other's begin
  std::vector<uint8_t> binding;

  std::vector<uint32_t> of_api, of_job, of_command;  // the node of a row; kNone

  size_t size() const { return kind.size(); }
  // At most `most` nodes around one, itself included: those before and after it, nearest and
  // least slack first.
  std::vector<uint32_t> Around(uint32_t node, size_t most) const;
};

PageGraph MakePageGraph(const model::Model& model, const analysis::Graph& graph);
// ["order", ...]: what a reason is called.
std::string PageReasonsJson();

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_PAGE_GRAPH_H_
