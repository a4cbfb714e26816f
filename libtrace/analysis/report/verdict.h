// SPDX-License-Identifier: Apache-2.0
//
// What limited the run, and is the trace complete enough to tell?
//
// The breakdown tells which class of time is the largest in the trace. What the trace lacks (damage
// to the file, dropped events, sources that were not attached) could belong to other classes. For
// each kind of missing rows, these are the classes that more rows could turn an instant into:
//
//   commands          computing, transferring
//   jobs              holding, notifying, ringing
//   host events       unseen, notifying, ringing, driver
//   API calls         runtime
//
// and only if the instant's class comes later in the list of classes. Other rows bound where and
// how long rows are missing: jobs whose begin and end the driver recorded bound their own missing
// commands. This gives each class a least and a greatest time. A verdict stands if its class is the
// largest whatever the missing rows were; otherwise, it is withheld. A trace that contradicts
// itself (impossible orders of events, broken laws of conservation) bounds nothing, so the verdict
// is withheld.
#ifndef LIBTRACE_ANALYSIS_REPORT_VERDICT_H_
#define LIBTRACE_ANALYSIS_REPORT_VERDICT_H_

#include <array>
#include <string>
#include <vector>

#include "libtrace/analysis/checks/evidence.h"

namespace acceltrace::analysis {

// A reason why the trace may be incomplete.
struct Caveat {
  std::string kind;  // stable: damage, rows, loss, order, law, clock, source, time
  std::string text;
  // True if the trace is damaged, lossy, truncated or contradicts itself; false if it was merely
  // recorded with fewer sources.
  bool fault = true;
};

struct Verdict {
  enum class Standing {
    kCertain,       // nothing is missing, and the class exceeds the bounds of all others
    kClose,         // nothing is missing, but another class is within the clocks' bounds
    kHolds,         // what is missing could not change it
    kInconclusive,  // withheld
  };
  Standing standing = Standing::kCertain;
  std::string text;  // one sentence
  std::vector<Caveat> caveats;
  // The range of each class, given what may be missing; mid as in the breakdown.
  std::array<Span, kNumClasses> possible{};

  // Only the begin and end of jobs are known for all devices, so that nothing can be predicted.
  bool outside_only = false;

  // Withheld only because of sources that were not requested or do not exist for a device: what was
  // recorded cannot show more.
  bool beyond_sources = false;

  bool withheld() const { return standing == Standing::kInconclusive; }
  // The trace is faulty, or should have had an answer: exit status 1.
  bool fails() const { return !whole() || (withheld() && !beyond_sources); }
  // Returns true if there can be a critical path and predictions.
  bool predicts() const { return !withheld() && !outside_only; }
  // Returns true if nothing is wrong with the trace.
  bool whole() const {
    for (const Caveat& caveat : caveats) {
      if (caveat.fault) return false;
    }
    return true;
  }
};
const char* StandingName(Verdict::Standing standing);  // stable, for JSON

// The evidence must include the breakdown.
Verdict ComputeVerdict(const Evidence& evidence);

// Returns a line with the first caveats and the number of further ones.
std::string CaveatsText(const std::vector<Caveat>& caveats);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_VERDICT_H_
