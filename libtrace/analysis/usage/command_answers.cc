// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/command_answers.h"

namespace acceltrace::analysis {

CommandAnswers ComputeOfCommands(const model::Model& model, bool groups) {
  const CommandPass pass(model);
  const auto utilisation = SumUtilisation(pass);
  const auto ops = SumOps(pass, groups);
  const auto transfers = SumTransfers(pass);
  CommandSum* const sums[] = {utilisation.get(), ops.get(), transfers.get()};
  pass.Run(sums);
  return {utilisation->Finish(), ops->Finish(), transfers->Finish()};
}

}  // namespace acceltrace::analysis
