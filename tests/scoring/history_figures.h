// SPDX-License-Identifier: Apache-2.0
//
// The figures of a loaded history's report against what truly happened.
#ifndef TESTS_SCORING_HISTORY_FIGURES_H_
#define TESTS_SCORING_HISTORY_FIGURES_H_

#include "tests/scoring/figures.h"
#include "tests/scoring/history.h"

namespace acceltrace::scoring {

// Utilisation, idle, bandwidth, breakdown and the rest, each against its bounds. Of histories
// whose records are all there: figures == 0 where the truth of a row is not known.
FigureScore CheckFigures(const model::Model& model, const History& history);

}  // namespace acceltrace::scoring

#endif  // TESTS_SCORING_HISTORY_FIGURES_H_
