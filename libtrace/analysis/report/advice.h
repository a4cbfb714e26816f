// SPDX-License-Identifier: Apache-2.0
//
// What should the programmer change first, and how much faster would the run be?
//
// Each kind of advice is an edit of the run's dependency graph (edit.h). Its gain is what the
// replay of the edited graph saves in a run without the tracer, with the interval of the replay's
// other readings (whatif.h). No threshold decides what is bad: advice that gains less than kLeast
// of the run is omitted, and the rest is sorted by its least gain.
#ifndef LIBTRACE_ANALYSIS_REPORT_ADVICE_H_
#define LIBTRACE_ANALYSIS_REPORT_ADVICE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libtrace/analysis/report/verdict.h"

namespace acceltrace::analysis {

struct Graph;
struct Edited;
class Editor;
class Replays;

struct Advice {
  static constexpr double kLeast = 0.02;  // of the run
  static constexpr size_t kMaxNames = 8;

  std::string kind;    // stable: copies, waits, overlap, allocation, pageable, host, batch, ...
  std::string text;    // what was found, one sentence with its numbers
  std::string change;  // what to try
  std::string whatif;  // options of `acceltrace whatif` with the same prediction; may be empty
  std::vector<std::string> ops, calls, ranges;  // the most frequent ones, at most kMaxNames of each
  uint64_t count = 0, bytes = 0;
  double ns = 0;                                 // their recorded time
  double gain_ns = 0, lo_ns = 0, hi_ns = 0;      // how much shorter the run would be
  double share = 0, lo_share = 0, hi_share = 0;  // ... of the run
};

// Returns advice with the largest least gain first, or none if the verdict is withheld. The graph
// is edited temporarily. `replays` must be of the same graph.
std::vector<Advice> ComputeAdvice(const model::Model& model, const Verdict& verdict, Graph* graph,
                                  Replays* replays);

// The edits that `acceltrace whatif` offers, with their options.
struct EditOption {
  const char* option;
  const char* text;
  Edited (Editor::*edit)();
};
std::span<const EditOption> EditOptions();

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_ADVICE_H_
