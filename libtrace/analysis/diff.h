// SPDX-License-Identifier: Apache-2.0
//
// What changed from one trace to another, how sure is that, and why?
//
// Jobs are aligned by what they are (the call that submitted them, the ops of their commands), in
// their order; then the commands of aligned jobs are pairs. A change of a sum is distinguished from
// noise twice: it must be larger than the bounds of both sums, and than kSigmas standard errors of
// what the instances' spread makes of it: of the differences of pairs where all instances are
// pairs, of each side alone else.
//
//   sum B - sum A  =  (nB - nA) * mean A          more or fewer of them
//                  +  nB * (mean B - mean A)      each takes longer or shorter
//
// and the latter is split by the time from the head of the queue to the end: busy, each stall.
#ifndef LIBTRACE_ANALYSIS_DIFF_H_
#define LIBTRACE_ANALYSIS_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libtrace/analysis/report.h"

namespace acceltrace::analysis {

struct Change {
  enum class Certainty {
    kNone,    // nothing changed
    kBounds,  // within the error bounds
    kSpread,  // within the spread of the instances
    kOnce,    // beyond the bounds; there is no spread to compare it with
    kSure,
  };
  struct Part {
    std::string what;  // "count", "busy", or the name of a stall
    double ns = 0;
  };

  // Where one of those that make it up is, on the host's clock; a pair that differs most, or the
  // longest on either side.
  struct Place {
    enum class Kind { kNone, kCommand, kCall, kJob, kSubmission, kPiece };
    Kind kind = Kind::kNone;
    uint32_t row = 0;
    int64_t begin_ns = 0, end_ns = 0;
  };

  std::string name, unit;
  uint64_t count_a = 0, count_b = 0, bytes_a = 0, bytes_b = 0;
  Amount a, b, delta;
  double noise_ns = 0;  // a standard error of delta; 0: not known
  uint64_t pairs = 0;   // instances that were compared one by one
  Certainty certainty = Certainty::kNone;
  std::vector<Part> parts;  // of delta, the largest first; `each` = all of it that is not count
  double each_ns = 0;

  // Most of delta: "fewer", "more", "longer each", "shorter each", "more pcie stall", "more bytes".
  std::string cause;
  Place at_a, at_b;
};
const char* PlaceName(Change::Place::Kind kind);         // as events are called in a page
const char* CertaintyName(Change::Certainty certainty);  // stable, for JSON

struct Diff {
  static constexpr double kSigmas = 3;

  bool comparable = true;
  std::string why_not;                     // one sentence
  std::vector<std::string> notes;          // what differs between the recordings themselves
  int64_t begin_a_ns = 0, begin_b_ns = 0;  // the first event of either
  uint64_t jobs_a = 0, jobs_b = 0, aligned = 0;
  std::string first_difference;  // where the sequences of jobs part; empty: they do not

  Change run;
  // The largest change first. Of stages the sum over all jobs, of units the time that they were
  // busy.
  std::vector<Change> classes, ops, stages, units, calls, transfers;
};

Diff ComputeDiff(const Report& a, const Report& b);

// The longest common part of two sequences, as pairs of places. Sequences that differ in too much
// are aligned as far as their beginnings and ends agree.
std::vector<std::pair<uint32_t, uint32_t>> Align(const std::vector<uint64_t>& a,
                                                 const std::vector<uint64_t>& b);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_DIFF_H_
