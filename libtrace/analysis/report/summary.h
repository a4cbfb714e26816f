// SPDX-License-Identifier: Apache-2.0
//
// What is in a trace, at a glance?
//
// Of a file with a footer, only the beginning, the end, and the packets with descriptions,
// accounts, losses and counter snapshots are read, so that it takes the same time for large and
// small traces.
#ifndef LIBTRACE_ANALYSIS_REPORT_SUMMARY_H_
#define LIBTRACE_ANALYSIS_REPORT_SUMMARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/analysis/report/report.h"
#include "libtrace/base/result.h"

namespace acceltrace::analysis {

struct Summary {
  std::string command, host;
  uint64_t bytes = 0, packets = 0, events = 0;
  std::vector<std::pair<std::string, uint64_t>> tables;  // events by kind, as written
  std::optional<int64_t> length_ns;                      // length of the recording
  uint64_t lost = 0, bad = 0;
  std::vector<std::pair<std::string, uint64_t>> losing;  // hops with losses
  struct Unit {
    std::string device, unit;
    double busy_share = 0;  // of the time between the first and the last counter snapshot
  };
  std::vector<Unit> units;  // the busiest first; empty without counters
  bool from_index = true;   // otherwise, the whole file was read
};

// Returns nullopt if the file has no footer or one that does not match; the whole file has to be
// read then.
std::optional<Summary> SummariseFile(const std::string& path);
Summary SummariseReport(const Report& report);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_REPORT_SUMMARY_H_
