// SPDX-License-Identifier: Apache-2.0
//
// All that is summed up of commands, in one pass over them.
#ifndef LIBTRACE_ANALYSIS_COMMAND_ANSWERS_H_
#define LIBTRACE_ANALYSIS_COMMAND_ANSWERS_H_

#include <vector>

#include "libtrace/analysis/ops.h"
#include "libtrace/analysis/transfers.h"
#include "libtrace/analysis/utilisation.h"

namespace acceltrace::analysis {

struct CommandAnswers {
  std::vector<DeviceUse> utilisation;
  Ops ops;
  std::vector<DeviceTransfers> transfers;
};
// groups: Ops::by_group as well.
CommandAnswers ComputeOfCommands(const model::Model& model, bool groups);

}  // namespace acceltrace::analysis

#endif  // LIBTRACE_ANALYSIS_COMMAND_ANSWERS_H_
