// SPDX-License-Identifier: Apache-2.0
//
// What is in a trace, in a moment?
//
// A file with a footer is not read but for its beginning, its end, and what the index says holds
// descriptions, accounts, losses and counter snapshots: as long for a large trace as for a small
// one.
#ifndef LIBTRACE_ANALYSIS_SUMMARY_H_
#define LIBTRACE_ANALYSIS_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/report.h"
#include "libtrace/stream/result.h"

namespace acceltrace::analysis {

struct Summary {
  std::string command, host;
  uint64_t bytes = 0, packets = 0, events = 0;
  std::vector<std::pair<std::string, uint64_t>> tables;  // events by kind, as they were written
  std::optional<int64_t> length_ns;                      // from the recording's begin to its end
  uint64_t lost = 0, bad = 0;
  std::vector<std::pair<std::string, uint64_t>> losing;  // hops with losses
  struct Unit {
    std::string device, unit;
    double busy_share = 0;  // of the time between the first and the last counter snapshot
  };
  std::vector<Unit> units;  // the busiest first; none without counters
  bool from_index = true;   // else all of it was read
};

// Nothing if the file has no footer, or one that does not fit: then it has to be read.
std::optional<Summary> SummariseFile(const std::string& path);
Summary SummariseReport(const Report& report);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_SUMMARY_H_
