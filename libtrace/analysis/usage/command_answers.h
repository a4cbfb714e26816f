// SPDX-License-Identifier: Apache-2.0
//
// Computes everything that is summed up over commands in one pass.
#ifndef LIBTRACE_ANALYSIS_USAGE_COMMAND_ANSWERS_H_
#define LIBTRACE_ANALYSIS_USAGE_COMMAND_ANSWERS_H_

#include <vector>

#include "libtrace/analysis/usage/ops.h"
#include "libtrace/analysis/usage/transfers.h"
#include "libtrace/analysis/usage/utilisation.h"

namespace acceltrace::analysis {

struct CommandAnswers {
  std::vector<DeviceUse> utilisation;
  Ops ops;
  std::vector<DeviceTransfers> transfers;
};
// `groups` selects whether Ops::by_group is computed, too.
CommandAnswers ComputeOfCommands(const model::Model& model, bool groups);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_USAGE_COMMAND_ANSWERS_H_
