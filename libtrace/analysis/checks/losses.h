// SPDX-License-Identifier: Apache-2.0
//
// What is missing from the trace, and where did it go?
//
// Every hop between an event and the file counts what came in, went out, was dropped and was
// rejected; loss records tell when. The reader counts damage to the file itself. A hop whose
// account does not balance lost something silently.
#ifndef LIBTRACE_ANALYSIS_CHECKS_LOSSES_H_
#define LIBTRACE_ANALYSIS_CHECKS_LOSSES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::analysis {

struct HopUse {
  std::string name;
  uint64_t in = 0, out = 0, lost = 0, bad = 0, waiting = 0;
  std::string into;  // the hop that receives what goes out
  bool Balanced() const { return in == out + lost + bad + waiting; }
};

struct LossSpan {
  std::string hop;
  uint64_t count = 0;
  int64_t first_ns = model::kNoTime, last_ns = model::kNoTime;
};

struct Losses {
  bool has_accounts = false;  // without them (after a crash) the hops are not known
  std::vector<HopUse> hops;
  static constexpr size_t kMaxSpans = 1000;
  std::vector<LossSpan> spans;  // one for each loss record, the first kMaxSpans
  uint64_t more_spans = 0;
  uint64_t lost = 0, bad = 0;  // summed over all hops, or over loss records if there are no hops
  // Damage to the file itself.
  uint64_t damaged_stretches = 0, damaged_bytes = 0, missing_packets = 0, bad_packets = 0;
  // Rows that were read but could not be used.
  uint64_t unusable_rows = 0;
  // Processes that used a device but have no API call in the trace, and the reason.
  std::vector<std::pair<uint32_t, std::string>> unseen;

  bool None() const {
    return lost == 0 && bad == 0 && damaged_stretches == 0 && bad_packets == 0 &&
           unusable_rows == 0;
  }
};

Losses ComputeLosses(const model::Model& model);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_CHECKS_LOSSES_H_
