// SPDX-License-Identifier: Apache-2.0
//
// Compares the figures of a report with the truth.
//
// The values of a report in JSON are computed again from true times, by the definitions of
// docs/analysis.md and without code of libtrace/analysis, and each figure's [lo, hi] must contain
// them.
#ifndef TESTS_SCORING_FIGURES_H_
#define TESTS_SCORING_FIGURES_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libtrace/model/tables/model.h"

namespace acceltrace::scoring {

// Host times in ns, with fractions.
struct CommandTruth {
  double fetched = 0, head = 0, start = 0, end = 0;
  double busy = 0;
  std::vector<double> stalls;  // by the device's causes
};
// The first fetch and start and the last end of its commands, whether or not they were recorded;
// irq 0 = none.
struct JobTruth {
  double doorbell = 0, fetched = 0, start = 0, end = 0, completion = 0, irq = 0;
};

// By rows of the model's tables; jobs that the device did not report are ignored.
struct RunTruth {
  std::vector<CommandTruth> commands;
  std::vector<JobTruth> jobs;
  // The accuracy of a true time on the host's scale; a true duration alone is more accurate.
  double accuracy_ns = 0;
  double scale_error = 0;
};

struct FigureScore {
  uint64_t figures = 0, outside = 0;
  std::vector<std::string> worst;  // the first ones that miss: what, interval, truth
  // Median over figures of a kind of (hi - lo) / truth, for information.
  double window_width = 0;
};

// report is the JsonReport() of the model.
FigureScore ScoreFigures(const model::Model& model, const nlohmann::json& report,
                         const RunTruth& truth);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_FIGURES_H_
