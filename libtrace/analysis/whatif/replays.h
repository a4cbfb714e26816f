// SPDX-License-Identifier: Apache-2.0
//
// Makes many replays of one graph (whatif.h). Internal.
//
// What replays have in common is computed once: the edges by their origin, how many nodes each one
// waits for, and memory for their state. Each replay notes what it depends on, so that replays that
// cannot differ from an earlier one are not made, such as readings of something that the graph does
// not have or that delays nothing. The graph may be edited (edit.h) between replays.
#ifndef LIBTRACE_ANALYSIS_WHATIF_REPLAYS_H_
#define LIBTRACE_ANALYSIS_WHATIF_REPLAYS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "libtrace/analysis/whatif/whatif.h"

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
  // Same as Replay().
  double Run(const Scales& scales, const Reading& reading = {});
  // Replays the most likely reading and returns when each node comes. It is always made, and its
  // length is kept.
  double Times(const Scales& scales, std::vector<double>* at_ns);
  // Returns the results of all Readings().
  std::vector<double> RunAll(const Scales& scales);
  // Returns true if the graph spends any time on a resource; otherwise, its speed does not change a
  // replay.
  bool Uses(Resource resource);

  // How many replays were requested, and how many of them were made.
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
  // If the graph has no work of the tracer, a run without the tracer is the run as it is.
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

#endif  // LIBTRACE_ANALYSIS_WHATIF_REPLAYS_H_
