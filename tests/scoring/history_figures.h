// SPDX-License-Identifier: Apache-2.0
//
// Compares the figures of a loaded history's report with the truth.
#ifndef TESTS_SCORING_HISTORY_FIGURES_H_
#define TESTS_SCORING_HISTORY_FIGURES_H_

#include "tests/scoring/figures.h"
#include "tests/scoring/history.h"

namespace acceltrace::scoring {

// Checks utilisation, idle, bandwidth, breakdown and the rest against their bounds. Only for
// histories with all records: figures == 0 if the truth of a row is unknown.
FigureScore CheckFigures(const model::Model& model, const History& history);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_HISTORY_FIGURES_H_
