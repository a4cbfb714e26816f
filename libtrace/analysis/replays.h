// SPDX-License-Identifier: Apache-2.0
//
// Many replays of one graph (whatif.h). Internal.
//
// What replays of a graph have in common is made once: which edge leads where, how many each node
// waits for, room for their state. A replay notes what would change it, so that one that cannot
// differ from an earlier one is not made: a reading of something that this graph does not have, or
// that holds nothing up. The graph may be edited (edit.h) between replays.
#ifndef LIBTRACE_ANALYSIS_REPLAYS_H_
#define LIBTRACE_ANALYSIS_REPLAYS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "libtrace/analysis/whatif.h"

namespace acceltrace::analysis {

struct Graph;
class ReplayEngine;

class Replays {
 public:
  // The graph must outlive it.
  explicit Replays(const Graph& graph);
  ~Replays();
  Replays(const Replays&) = delete;
  Replays& operator=(const Replays&) = delete;

  const Graph& graph() const { return graph_; }
  // As Replay().
  double Run(const Scales& scales, const Reading& reading = {});
  // Of the likeliest reading, and when each node comes. Always made, and known from then on.
  double Times(const Scales& scales, std::vector<double>* at_ns);
  // By reading, as Readings().
  std::vector<double> RunAll(const Scales& scales);
  // Whether the graph as it is spends any time on a resource: else no speed of it changes a replay.
  bool Uses(Resource resource);

  // How many were asked for, and how many of them were made.
  uint64_t asked() const { return asked_; }
  uint64_t made() const { return made_; }

 private:
  struct Known {
    uint64_t edition;
    Scales scales;
    Reading reading;
    double ns;
    uint8_t open;  // readings that could differ from it, see ReplayEngine
  };
  void FindUses();
  // Where the graph has nothing of the tracer's, a run without it is the run as it is.
  void LeaveOutTracer(Scales* scales, Reading* reading) const;
  double Make(const Scales& scales, const Reading& reading, std::vector<double>* at_ns);
  const Known* Find(const Scales& scales, const Reading& reading) const;

  const Graph& graph_;
  const bool traced_;
  std::unique_ptr<ReplayEngine> engine_;
  std::vector<Known> known_;
  std::array<bool, kNumResources> uses_{};
  uint64_t uses_edition_ = UINT64_MAX;
  uint64_t asked_ = 0, made_ = 0;
};

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPLAYS_H_
