// SPDX-License-Identifier: Apache-2.0
//
// Which rows may be missing from a trace, and when? Internal: verdict.h says what follows from it.
#ifndef LIBTRACE_ANALYSIS_DOUBTS_H_
#define LIBTRACE_ANALYSIS_DOUBTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "libtrace/analysis/verdict.h"

namespace acceltrace::analysis {

// Kinds of rows, as bits: those that decide where time went.
enum Rows : uint32_t {
  kCommandRows = 1,
  kJobRows = 2,
  kHostRows = 4,
  kCallRows = 8,
  kAllRows = 15,
};

struct Doubts {
  std::vector<Caveat> caveats;
  // The trace contradicts itself, or its device times are worth nothing.
  bool outside_only = false;  // as in Verdict
  bool contradiction = false;
  // A source that was to be recorded could not be attached.
  bool unattached = false;
  uint32_t unplaced = 0;  // rows of these kinds are missing, nobody knows where
  // Rows of these kinds are missing within these times. Not sorted.
  struct Place {
    uint32_t rows = 0;
    int64_t from_ns = 0, to_ns = 0;
  };
  std::vector<Place> places;
  // Calls are missing that may have begun the run, or ended it.
  bool begin_open = false, end_open = false;

  bool none() const { return !contradiction && unplaced == 0 && places.empty(); }
};

// The caveat that the recorded times are not those of a run by itself; null if there is none.
const Caveat* DisturbedTime(const Verdict& verdict);

Doubts FindDoubts(const Report& report);

// The least and the greatest time of each class; false when it cannot be bounded.
bool BoundClasses(const Report& report, const Doubts& doubts,
                  std::array<Span, kNumClasses>* possible);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_DOUBTS_H_
