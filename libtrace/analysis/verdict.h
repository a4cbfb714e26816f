// SPDX-License-Identifier: Apache-2.0
//
// What set the pace of the run, and does the trace hold enough to say so?
//
// The breakdown says which class of time is the largest in what the trace holds. What the
// trace does not hold (damage to the file, events that were dropped, sources that were not
// attached) could belong to other classes. Of each kind of row that is missing it is known
// which classes more of it can make of an instant:
//
//   commands          computing, transferring
//   jobs              holding, notifying, ringing
//   host events       unseen, notifying, ringing, driver
//   API calls         runtime
//
// and only of an instant whose class comes later in the list of classes. Where and how long
// rows are missing is bounded by what is there: jobs that the driver saw begin and end bound
// their own missing commands. That gives each class a least and a greatest time. A verdict
// stands if its class is the largest whatever the missing rows were; else it is withheld.
// A trace that contradicts itself (orders of events that are impossible, laws of
// conservation that are broken) bounds nothing: the verdict is withheld.
#ifndef LIBTRACE_ANALYSIS_VERDICT_H_
#define LIBTRACE_ANALYSIS_VERDICT_H_

#include <array>
#include <string>
#include <vector>

#include "libtrace/analysis/breakdown.h"

namespace acceltrace::analysis {

struct Report;

// Why the trace is not the whole story.
struct Caveat {
  std::string kind;  // stable: damage, rows, loss, order, law, clock, source, time
  std::string text;
  // The trace is damaged, lossy, cut short or contradicts itself; false: it was recorded
  // with fewer sources.
  bool fault = true;
};

struct Verdict {
  enum class Standing {
    kCertain,       // nothing is missing, and the class is above all others' bounds
    kClose,         // nothing is missing, but another class is within the clocks' bounds
    kHolds,         // something is missing that could not change it
    kInconclusive,  // withheld
  };
  Standing standing = Standing::kCertain;
  std::string text;  // one sentence
  std::vector<Caveat> caveats;
  // Of each class, whatever is missing; mid as in the breakdown.
  std::array<Span, kNumClasses> possible{};

  // Of all devices nothing but their jobs' ends is known: what would help nobody can say.
  bool outside_only = false;

  // Withheld for nothing but sources that were not to be recorded, or do not exist for a device:
  // what was recorded cannot show more.
  bool beyond_sources = false;

  bool withheld() const { return standing == Standing::kInconclusive; }
  // Something is wrong with the trace, or it should have had an answer: exit status 1.
  bool fails() const { return !whole() || (withheld() && !beyond_sources); }
  // A critical path and predictions can be had.
  bool predicts() const { return !withheld() && !outside_only; }
  // Nothing is wrong with the trace.
  bool whole() const {
    for (const Caveat& caveat : caveats) {
      if (caveat.fault) return false;
    }
    return true;
  }
};
const char* StandingName(Verdict::Standing standing);  // stable, for JSON

// Of a report that is complete but for its verdict.
Verdict ComputeVerdict(const Report& report);

// All caveats in a line: the first ones, and how many more.
std::string CaveatsText(const std::vector<Caveat>& caveats);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_VERDICT_H_
