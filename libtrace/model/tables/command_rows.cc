// SPDX-License-Identifier: Apache-2.0
#include "libtrace/model/tables/command_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "libtrace/model/tables/host_jobs.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::model {

uint64_t SortCommands(Commands* commands) {
  if (AllRise(commands->device, commands->job, commands->index)) return 0;
  const auto key = [&](uint32_t row) {
    return std::pair(JobKey(commands->device.At(row), commands->job.At(row)),
                     commands->index.At(row));
  };
  auto order = RowsByKey(commands->size(), key);
  const auto last = std::unique(order.begin(), order.end(),
                                [&](uint32_t a, uint32_t b) { return key(a) == key(b); });
  const auto duplicates = static_cast<uint64_t>(order.end() - last);
  order.erase(last, order.end());
  PermuteRows(order, commands);
  return duplicates;
}

}  // namespace acceltrace::model
