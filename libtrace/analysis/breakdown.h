// SPDX-License-Identifier: Apache-2.0
//
// Where did the time go?
//
// The run is the time in which devices were used: from the beginning of the
// first API call that submitted a job to the return of the last one that waited
// for one (the consumption of the last completion, if none did). What a program
// did before and after is kept apart.
//
// Every instant of the run belongs to exactly one class: the first of this list
// that is true for it, so that the classes add up to the run. What runs on a
// device hides what the host does meanwhile: the host's classes are the time in
// which every device was left without work.
#ifndef LIBTRACE_ANALYSIS_BREAKDOWN_H_
#define LIBTRACE_ANALYSIS_BREAKDOWN_H_

#include <array>
#include <string>
#include <vector>

#include "libtrace/analysis/span.h"

namespace acceltrace::analysis {

enum Class {
  kComputing,     // a unit that is no DMA engine runs a command
  kTransferring,  // only DMA engines run
  kHolding,       // a device has jobs, but nothing runs: fetch, dispatch, semaphores
  kUnseen,        // a device has jobs that only its driver's tracepoints tell of
  kNotifying,     // a job is done, its completion or its waiter on the way
  kRinging,       // a doorbell is on its way
  kDriver,        // a thread is in the driver's submit
  kRuntime,       // a thread is in an API call
  kApplication,   // none of these
  kNumClasses
};
// Whether the device writes records of what it does: else its jobs are nothing but their two ends.
bool HasInside(const model::Device& device);

const char* ClassName(Class c);  // stable, for JSON
const char* ClassText(Class c);  // for people

// A stretch of the run that belongs to one class, from the end of the one before it.
struct Piece {
  int64_t end_ns = 0;
  Class of = kApplication;
};

struct Breakdown {
  // Of one device's doing only its own clock's rate and its whole ticks are uncertain; where
  // hands change between host and device, and between devices, the clocks' offsets are as well.
  // Whatever the true order of the edges is, the bounds hold (sweep.h).
  int64_t begin_ns = 0, end_ns = 0;
  Span run;                             // exact if the host saw its first and its last event
  int64_t before_ns = 0, after_ns = 0;  // from the first event of all, to the last
  std::array<Span, kNumClasses> time{};
  std::vector<Piece> pieces;  // in order, as it seems; they cover the run
  // Time in which commands ran, by limiter name: what set their run time.
  std::vector<std::pair<std::string, Span>> limiters;

  // Units of any device, from the first command's start to the last one's end.
  Span overlap;       // transfers and computing at once
  uint64_t gaps = 0;  // nothing ran, as far as whole ticks show it
  uint64_t gaps_lo = 0, gaps_hi = 0;
  Span gap_total, gap_longest;

  Class largest = kApplication;
  bool certain = false;  // its lower bound is above every other's upper bound
  std::string verdict;   // one sentence, of what the trace holds: verdict.h says what that is worth

  int64_t RunNs() const { return end_ns - begin_ns; }
  Ratio Share(const Span& span) const { return ShareOf(ToAmount(span), ToAmount(run)); }
};

// kAnswer: the run, the time and the pieces of the classes, and the verdict; gaps and limiters are
// left out.
enum class BreakdownParts { kAll, kAnswer };
Breakdown ComputeBreakdown(const model::Model& model, BreakdownParts parts = BreakdownParts::kAll);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_BREAKDOWN_H_
