// SPDX-License-Identifier: Apache-2.0
//
// The figures of a report against the truth.
//
// What a report says in JSON is computed a second time from true times, by the definitions of
// docs/analysis.md and by no code of libtrace/analysis, and each figure's [lo, hi] must contain it.
#ifndef TESTS_SCORING_FIGURES_H_
#define TESTS_SCORING_FIGURES_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libtrace/model/model.h"

namespace acceltrace::scoring {

// Host ns, with fractions.
struct CommandTruth {
  double fetched = 0, head = 0, start = 0, end = 0;
  double busy = 0;
  std::vector<double> stalls;  // by the device's causes
};
// Of its commands the first fetch and start and the last end, whether their records came or not;
// irq 0 = none.
struct JobTruth {
  double doorbell = 0, fetched = 0, start = 0, end = 0, completion = 0, irq = 0;
};

// By rows of the model's tables; jobs that the device did not report are not looked at.
struct RunTruth {
  std::vector<CommandTruth> commands;
  std::vector<JobTruth> jobs;
  // How well a true time is known on the host's scale, and a true duration alone: a part.
  double accuracy_ns = 0;
  double scale_error = 0;
};

struct FigureScore {
  uint64_t figures = 0, outside = 0;
  std::vector<std::string> worst;  // the first ones that miss: what, interval, truth
  // Median over figures of a kind of (hi - lo) / truth, for information.
  double window_width = 0;
};

// report: what JsonReport() says of the model.
FigureScore ScoreFigures(const model::Model& model, const nlohmann::json& report,
                         const RunTruth& truth);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_FIGURES_H_
