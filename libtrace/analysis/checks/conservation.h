// SPDX-License-Identifier: Apache-2.0
//
// Do independent counts of the same thing agree?
//
// Each law compares what two observers report: driver and device, device records and device
// counters, counters among themselves, the tracer's accounts. A law that could not be checked (no
// counters, losses on the way) says why and is no finding. What began before the recording, ended
// after it or belongs to other processes is not checked (coverage.h).
#ifndef LIBTRACE_ANALYSIS_CHECKS_CONSERVATION_H_
#define LIBTRACE_ANALYSIS_CHECKS_CONSERVATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libtrace/analysis/checks/losses.h"
#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

class LawPass;

struct Law {
  enum class State { kHolds, kBroken, kUnknown };
  std::string name;  // stable, for JSON
  std::string text;  // left = right, for people
  std::string device;
  State state = State::kUnknown;
  uint64_t checked = 0, broken = 0;  // number of cases
  uint64_t left = 0, right = 0;      // sums of both sides, where they are meaningful
  std::string note;                  // why it is unknown, or the first broken case
};

class ConservationSum {
 public:
  virtual ~ConservationSum() = default;
  // Must be called after the pass has ended.
  virtual std::vector<Law> Finish() = 0;
};
// `losses` must be of the same model and outlive the result.
std::unique_ptr<ConservationSum> SumConservation(const Losses& losses, LawPass* pass);
std::vector<Law> ComputeConservation(const model::Model& model, const Losses& losses);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_CONSERVATION_H_
