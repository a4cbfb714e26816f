// SPDX-License-Identifier: Apache-2.0
//
// Where did the time go?
//
// The run is the time in which devices were used: from the begin of the first API call that
// submitted a job to the return of the last call that waited for one (or the consumption of the
// last completion, if there is no such call). What a program did before and after is reported
// separately.
//
// Every instant of the run belongs to exactly one class, the first one in the list that is true, so
// that the classes add up to the run. Work on a device hides what the host does meanwhile: the
// host's classes are the time in which no device had work.
#ifndef LIBTRACE_ANALYSIS_USAGE_BREAKDOWN_H_
#define LIBTRACE_ANALYSIS_USAGE_BREAKDOWN_H_

#include <array>
#include <string>
#include <vector>

#include "libtrace/analysis/rows/span.h"

namespace acceltrace::analysis {

enum Class {
  kComputing,     // a unit other than a DMA engine runs a command
  kTransferring,  // only DMA engines run commands
  kHolding,       // a device has jobs, but runs nothing: fetch, dispatch, semaphores
  kUnseen,        // a device has jobs that are only known from its driver's tracepoints
  kNotifying,     // a job is done, but its completion or the waiter's wake-up is still under way
  kRinging,       // a doorbell write is under way
  kDriver,        // a thread is in the driver's submit call
  kRuntime,       // a thread is in an API call
  kApplication,   // none of the above
  kNumClasses
};
// Returns true if the device records what it executes; otherwise only the begin and the end of its
// jobs are known.
bool HasInside(const model::Device& device);

const char* ClassName(Class c);  // stable, for JSON
const char* ClassText(Class c);  // for people

// An interval of the run that belongs to one class; it begins at the end of the previous one.
struct Piece {
  int64_t end_ns = 0;
  Class of = kApplication;
};

struct Breakdown {
  // While a single device works, only its own clock's rate and whole ticks are uncertain. At
  // transitions between host and device and between devices, the clocks' offsets are uncertain as
  // well. The bounds hold whatever the true order of the edges is (sweep.h).
  int64_t begin_ns = 0, end_ns = 0;
  Span run;                             // exact if the host recorded its first and last event
  int64_t before_ns = 0, after_ns = 0;  // from the first event, and to the last one
  std::array<Span, kNumClasses> time{};
  std::vector<Piece> pieces;  // in their likely order; they cover the run
  // For each limiter, by name, the time in which it limited the commands that ran.
  std::vector<std::pair<std::string, Span>> limiters;

  // Summed over all units of all devices, between the first command's start and the last one's end.
  Span overlap;       // transfers and computing at once
  uint64_t gaps = 0;  // times without commands, as far as whole ticks show them
  uint64_t gaps_lo = 0, gaps_hi = 0;
  Span gap_total, gap_longest;

  Class largest = kApplication;
  bool certain = false;  // its lower bound is above the upper bounds of all other classes
  std::string verdict;   // one sentence on what is in the trace; see verdict.h

  int64_t RunNs() const { return end_ns - begin_ns; }
  Ratio Share(const Span& span) const { return ShareOf(ToAmount(span), ToAmount(run)); }
};

// kAnswer computes the run, the time and the pieces of the classes, and the verdict, but no gaps
// and limiters.
enum class BreakdownParts { kAll, kAnswer };
Breakdown ComputeBreakdown(const model::Model& model, BreakdownParts parts = BreakdownParts::kAll);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_BREAKDOWN_H_
