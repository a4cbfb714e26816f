// SPDX-License-Identifier: Apache-2.0
//
// What should the programmer change first, and what would it bring?
//
// Each kind of advice is an edit of the run's dependency graph (edit.h); its gain is what the
// replay of the edited graph saves, of the run without the tracer, with the interval of the
// replay's other readings (whatif.h). No threshold decides what is bad: what gains less than
// kLeast of the run is not named, the others are ranked by what they gain at least.
#ifndef LIBTRACE_ANALYSIS_ADVICE_H_
#define LIBTRACE_ANALYSIS_ADVICE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libtrace/analysis/verdict.h"

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
  std::string whatif;  // options of `acceltrace whatif` that predict the same; may be empty
  std::vector<std::string> ops, calls, ranges;  // the most frequent, at most kMaxNames of each
  uint64_t count = 0, bytes = 0;
  double ns = 0;                                 // recorded time of them
  double gain_ns = 0, lo_ns = 0, hi_ns = 0;      // the run would be shorter by
  double share = 0, lo_share = 0, hi_share = 0;  // ... of the run
};

// By the least gain, the largest first. The graph is edited meanwhile, and as it was afterwards.
// None where the verdict is withheld. replays: of the same graph.
std::vector<Advice> ComputeAdvice(const model::Model& model, const Verdict& verdict, Graph* graph,
                                  Replays* replays);

// The edits by the options that `acceltrace whatif` has for them.
struct EditOption {
  const char* option;
  const char* text;
  Edited (Editor::*edit)();
};
std::span<const EditOption> EditOptions();

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_ADVICE_H_
