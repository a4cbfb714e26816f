// SPDX-License-Identifier: Apache-2.0
//
// Which phases did the run have? They are found from the jobs alone, whether or not the program
// names ranges.
//
// Two jobs are alike if they compute with the same opcodes or, if they compute nothing, copy in the
// same directions; the amount of work does not matter. A train is the longest sequence of jobs, in
// order of submission, in which the same kinds repeat at least kRepeats times, or kLongRepeats
// times if a round has kLongRound jobs or more and includes everything else that repeats. A round
// is one repetition. It ends with a copy to the host, or with a job that is waited for, if there is
// one. The phases are:
//
//   prefill  rounds whose matrix work, in total and per command, is kLike times that of the
//            kRepeats smaller ones that follow (in a train that has no more, the first round, if
//            the others are alike); or computing right before a train with all of its opcodes
//   decode   the other rounds of such a train
//   rounds   a train without prefill
//   load     copies to the device before anything is computed, outside of trains
//   idle     no job and no API call for kIdleShare of the run, unless within a round
//   work     anything else
//
// If the rounds of a train consist of a prefill and what it decodes, these are shown for as many
// requests as can be examined. Several concurrent processes or devices have no common order, so no
// phases are reported, unless each begins after the other has ended; nor are more than kMost phases
// reported.
#ifndef LIBTRACE_ANALYSIS_USAGE_PHASES_H_
#define LIBTRACE_ANALYSIS_USAGE_PHASES_H_

#include <cstdint>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

struct Phase {
  static constexpr double kLike = 1.5;
  static constexpr double kIdleShare = 0.05;
  static constexpr double kLeastShare = 0.01;  // of copies to the device in the middle of the run
  static constexpr size_t kRepeats = 4;
  // A round with this many jobs needs fewer repetitions.
  static constexpr size_t kLongRound = 4, kLongRepeats = 2;
  static constexpr size_t kMost = 256;

  enum class Kind { kLoad, kPrefill, kDecode, kRounds, kWork, kIdle };
  Kind kind = Kind::kWork;
  // Begins when the host had finished its work for the previous phase, or when that phase was
  // finished if this is later. Ends with its last completion.
  int64_t begin_ns = 0, end_ns = 0;
  uint64_t rounds = 0;  // 0: not in rounds
  uint64_t jobs = 0;
  uint64_t matrix_work = 0, matrix_commands = 0;
  uint64_t bytes_in = 0, bytes_out = 0;  // over the link
};
const char* PhaseName(Phase::Kind kind);  // stable, for JSON

struct Phases {
  std::vector<Phase> list;       // sorted by time; empty if none can be reported
  const char* why_none = "";     // the reason for that, unless there are no jobs
  std::vector<uint32_t> of_job;  // for each row of the model's jobs, an index in the list or kNoRow
};

// Covers the run from begin_ns to end_ns.
Phases FindPhases(const model::Model& model, int64_t begin_ns, int64_t end_ns);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_PHASES_H_
