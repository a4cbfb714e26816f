// SPDX-License-Identifier: Apache-2.0
//
// Determines how full each job found its queue.
#include <numeric>
#include <tuple>

#include "libtrace/analysis/whatif/graph_builder.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::analysis {

// The jobs of a queue complete in order.
std::vector<QueueDepth> FindDepths(const model::Jobs& jobs, const DeviceNodes& device,
                                   const GraphBuilder& builder) {
  std::vector<QueueDepth> depths(jobs.size());
  std::vector<uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](uint32_t j) {
    return std::make_tuple(jobs.device[j], jobs.queue[j], jobs.sequence[j]);
  };
  model::SortByKey(key, &order);
  size_t oldest = 0;
  QueueDepth depth;
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t job = order[i], before = order[i > 0 ? i - 1 : 0];
    if (jobs.device[job] != jobs.device[before] || jobs.queue[job] != jobs.queue[before]) {
      oldest = i, depth = {};
    }
    ++depth.jobs, depth.commands += jobs.commands_submitted[job];
    const double submit_ns = builder.Since(jobs.submit_ns[job]);
    for (; oldest < i && device.DoneNs(order[oldest], builder) <= submit_ns; ++oldest) {
      --depth.jobs, depth.commands -= jobs.commands_submitted[order[oldest]];
    }
    depths[job] = depth;
  }
  return depths;
}

}  // namespace acceltrace::analysis
