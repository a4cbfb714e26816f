// SPDX-License-Identifier: Apache-2.0
//
// Which rows may be missing from a trace, and when? Internal: verdict.h draws the conclusions.
#ifndef LIBTRACE_ANALYSIS_REPORT_DOUBTS_H_
#define LIBTRACE_ANALYSIS_REPORT_DOUBTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/report/verdict.h"

namespace acceltrace::analysis {

// The kinds of rows that determine where time went, as bits.
enum Rows : uint32_t {
  kCommandRows = 1,
  kJobRows = 2,
  kHostRows = 4,
  kCallRows = 8,
  kAllRows = 15,
};

struct Doubts {
  std::vector<Caveat> caveats;
  // The trace contradicts itself, or its device times are useless.
  bool outside_only = false;  // as in Verdict
  bool contradiction = false;
  // A source that should have been recorded could not be attached.
  bool unattached = false;
  uint32_t unplaced = 0;  // kinds of rows that are missing at unknown times
  // Rows of these kinds are missing between these times. Unsorted.
  struct Place {
    uint32_t rows = 0;
    int64_t from_ns = 0, to_ns = 0;
  };
  std::vector<Place> places;
  // Calls are missing that may have begun or ended the run.
  bool begin_open = false, end_open = false;

  bool none() const { return !contradiction && unplaced == 0 && places.empty(); }
};

// Returns the caveat that the recorded times differ from those of an undisturbed run, or nullptr if
// there is none.
const Caveat* DisturbedTime(const Verdict& verdict);

Doubts FindDoubts(const Evidence& evidence);

// Computes the least and the greatest time of each class. Returns false if it cannot be bounded.
bool BoundClasses(const Evidence& evidence, const Doubts& doubts,
                  std::array<Span, kNumClasses>* possible);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_DOUBTS_H_
