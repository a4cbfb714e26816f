// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/overhead.h"

namespace acceltrace::analysis {

Overhead ComputeOverhead(const model::Model& model) {
  Overhead cost;
  cost.known = model.has_accounts;
  if (!cost.known) return cost;
  cost.cpu_ns = model.accounts.cpu_ns();
  cost.probe_ns = model.accounts.bpf_ns();
  cost.probe_runs = model.accounts.bpf_runs();
  cost.bytes_written = model.accounts.bytes_written();
  cost.rows = model.api.size() + model.ranges.size() + model.host.size() + model.commands.size() +
              model.device_events.size();
  for (const model::Device& device : model.devices) {
    cost.rows += device.counters.size() + device.clock_samples;
  }
  for (size_t i = 0; i < model.jobs.size(); ++i) cost.rows += model.jobs.on_device[i];
  if (model.accounts.stop_ns() > model.info.start_ns()) {
    cost.recorded_ns = model.accounts.stop_ns() - model.info.start_ns();
    const double recorded = static_cast<double>(cost.recorded_ns);
    cost.cpu_share = static_cast<double>(cost.cpu_ns) / recorded;
    cost.probe_share = static_cast<double>(cost.probe_ns) / recorded;
  }
  if (cost.rows > 0) {
    cost.bytes_per_row = static_cast<double>(cost.bytes_written) / static_cast<double>(cost.rows);
  }
  return cost;
}

}  // namespace acceltrace::analysis
