// SPDX-License-Identifier: Apache-2.0
//
// The dependency graph of a run, as a page draws it around an event. Internal.
//
// analysis/whatif/graph.h has an instant for each thing that waits. Here, nodes are what users see:
//
//   thread      consecutive points of one thread in one API call (or outside of all), up to the
//               next one that waits for something outside of the thread
//   fetch       commands that were fetched together
//   command     from its start to its end
//   completion  of a job
//
// An edge is binding if it was the last one to let its node come. Its slack is by how much its
// origin could have been later without delaying its node.
#ifndef LIBTRACE_VIEW_HTML_PAGE_GRAPH_H_
#define LIBTRACE_VIEW_HTML_PAGE_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/whatif/graph.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::view {

struct PageGraph {
  static constexpr uint32_t kNone = UINT32_MAX;
  enum Kind : uint8_t { kThread, kFetch, kCommand, kCompletion };
  // Reasons in addition to analysis::Cause: a command's own fetch, commands on the same unit, and
  // any other order between commands.
  enum : uint8_t { kFetched = analysis::kNumCauses, kSameUnit, kDepends, kNumReasons };

  // Nodes. `row` is an API call (model::kNoRow if outside of all), a job, a command, or a job.
  std::vector<Kind> kind;
  std::vector<uint32_t> row;
  std::vector<int64_t> begin_ns, end_ns;  // host times
  std::vector<uint8_t> resumes;           // of a thread: it continued after something else

  // Edges, sorted by the node that they lead to; [first_next[n], first_next[n + 1]) of `next` has
  // those that come from a node.
  std::vector<uint32_t> first_edge, from, to, first_next, next;
  std::vector<uint8_t> reason;
  std::vector<float> gap_ns, slack_ns;  // gap: from the end of one node to the begin of the other
  std::vector<uint8_t> binding;

  std::vector<uint32_t> of_api, of_job, of_command;  // the node of each row, or kNone

  size_t size() const { return kind.size(); }
  // Returns at most `most` nodes around one, including itself: those before and after it, the
  // nearest and those with least slack first.
  std::vector<uint32_t> Around(uint32_t node, size_t most) const;
};

PageGraph MakePageGraph(const model::Model& model, const analysis::Graph& graph);
// Returns the names of the reasons: ["order", ...].
std::string PageReasonsJson();

}  // namespace acceltrace::view

#endif  // LIBTRACE_VIEW_HTML_PAGE_GRAPH_H_
