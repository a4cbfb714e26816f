// SPDX-License-Identifier: Apache-2.0
//
// What changed from one trace to another, how certain is that, and why?
//
// Jobs are aligned, in order, by the call that submitted them and the ops of their commands; the
// commands of aligned jobs then form pairs. The change of a sum must exceed two kinds of noise: the
// bounds of both sums, and kSigmas standard errors. The standard error is that of the pairs'
// differences if all instances are paired, otherwise that of each side alone.
//
//   sum B - sum A  =  (nB - nA) * mean A          more or fewer of them
//                  +  nB * (mean B - mean A)      each takes longer or shorter
//
// The second part is split further by the time from the head of the queue to the end: busy, and
// each stall.
#ifndef LIBTRACE_ANALYSIS_REPORT_DIFF_H_
#define LIBTRACE_ANALYSIS_REPORT_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/report/report.h"

namespace acceltrace::analysis {

struct Change {
  enum class Certainty {
    kNone,    // nothing changed
    kBounds,  // within the error bounds
    kSpread,  // within the spread of the instances
    kOnce,    // outside of the bounds, but there is no spread to compare it with
    kSure,
  };
  struct Part {
    std::string what;  // "count", "busy", or the name of a stall
    double ns = 0;
  };

  // The place of an example on the host's clock: the pair that differs most, or the longest one
  // on either side.
  struct Place {
    enum class Kind { kNone, kCommand, kCall, kJob, kSubmission, kPiece };
    Kind kind = Kind::kNone;
    uint32_t row = 0;
    int64_t begin_ns = 0, end_ns = 0;
  };

  std::string name, unit;
  uint64_t count_a = 0, count_b = 0, bytes_a = 0, bytes_b = 0;
  Amount a, b, delta;
  double noise_ns = 0;  // standard error of delta; 0: not known
  uint64_t pairs = 0;   // number of instances that were compared pairwise
  Certainty certainty = Certainty::kNone;
  std::vector<Part> parts;  // the largest first; `each` is everything except for `count`
  double each_ns = 0;

  // The largest part of delta: "fewer", "more", "longer each", "shorter each", "more pcie stall",
  // "more bytes".
  std::string cause;
  Place at_a, at_b;
};
const char* PlaceName(Change::Place::Kind kind);         // as the page names events
const char* CertaintyName(Change::Certainty certainty);  // stable, for JSON

struct Diff {
  static constexpr double kSigmas = 3;

  bool comparable = true;
  std::string why_not;                     // one sentence
  std::vector<std::string> notes;          // how the recordings themselves differ
  int64_t begin_a_ns = 0, begin_b_ns = 0;  // the first event on each side
  uint64_t jobs_a = 0, jobs_b = 0, aligned = 0;
  std::string first_difference;  // where the sequences of jobs differ first, or empty

  Change run;
  // Sorted by change, the largest first. Stages are summed over all jobs; for units it is the time
  // in which they were busy.
  std::vector<Change> classes, ops, stages, units, calls, transfers;
};

Diff ComputeDiff(const Report& a, const Report& b);

// Returns the longest common subsequence of two sequences as pairs of indexes. Sequences with too
// many differences are aligned only as far as their beginnings and ends agree.
std::vector<std::pair<uint32_t, uint32_t>> Align(const std::vector<uint64_t>& a,
                                                 const std::vector<uint64_t>& b);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_DIFF_H_
