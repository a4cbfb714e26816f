// SPDX-License-Identifier: Apache-2.0
//
// Which phases did the run have? From the jobs alone, whether the program names ranges or not.
//
// Jobs are alike that compute with the same opcodes, or copy in the same directions if they compute
// nothing; how much they do is not looked at. A train is the longest stretch of jobs, in order of
// submission, in which the same kinds follow each other at least kRepeats times, or kLongRepeats if
// once around is kLongRound jobs or more and has in it whatever else repeats; once around is a
// round. A round ends with what copies to the host, or is waited for, if anything does. Then
//
//   prefill  rounds of which the matrix work, all of it and of each command, is kLike times that of
//            the kRepeats smaller ones that follow (in a train of no more, the first round, if the
//            others are alike); or what is computed right before a train, if it does so with all of
//            the train's opcodes
//   decode   the other rounds of such a train
//   rounds   a train without any
//   load     copies to the device before something is computed, outside of trains
//   idle     no job anywhere and no API call for kIdleShare of the run, but not within a round
//   work     anything else
//
// Where a round of a train is itself made of a prefill and what it decodes, these are shown, of as
// many requests as can be looked at.
// Several processes or devices at once have no common order, and no phases are claimed (those of
// which one begins when the other has ended have one); nor where they would be more than kMost.
#ifndef LIBTRACE_ANALYSIS_PHASES_H_
#define LIBTRACE_ANALYSIS_PHASES_H_

#include <cstdint>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::analysis {

struct Phase {
  static constexpr double kLike = 1.5;
  static constexpr double kIdleShare = 0.05;
  static constexpr double kLeastShare = 0.01;  // of copies to the device amid the run
  static constexpr size_t kRepeats = 4;
  // Of so many jobs, a round need not follow as often.
  static constexpr size_t kLongRound = 4, kLongRepeats = 2;
  static constexpr size_t kMost = 256;

  enum class Kind { kLoad, kPrefill, kDecode, kRounds, kWork, kIdle };
  Kind kind = Kind::kWork;
  // From where the host had done what belongs to the phase before, or that was finished if it is
  // later; to its last completion.
  int64_t begin_ns = 0, end_ns = 0;
  uint64_t rounds = 0;  // 0: not in rounds
  uint64_t jobs = 0;
  uint64_t matrix_work = 0, matrix_commands = 0;
  uint64_t bytes_in = 0, bytes_out = 0;  // over the link
};
const char* PhaseName(Phase::Kind kind);  // stable, for JSON

struct Phases {
  std::vector<Phase> list;       // in order of time; empty: none can be claimed
  const char* why_none = "";     // then, unless there are no jobs
  std::vector<uint32_t> of_job;  // by row of the model's jobs: place in the list, or kNoRow
};

// Of the run from begin_ns to end_ns.
Phases FindPhases(const model::Model& model, int64_t begin_ns, int64_t end_ns);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_PHASES_H_
