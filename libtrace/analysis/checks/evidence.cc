// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/checks/evidence.h"

#include <algorithm>
#include <memory>

#include "libtrace/analysis/checks/law_pass.h"
#include "libtrace/analysis/checks/overlaps.h"
#include "libtrace/stream/bytes/column_values.h"

namespace acceltrace::analysis {

namespace {

// Counts rows with a value other than 0.
template <typename T>
uint64_t CountSet(const model::Column<T>& column) {
  constexpr size_t kRows = model::Column<T>::kRows;
  T values[kRows];
  uint64_t count = 0;
  for (size_t first = 0; first < column.size(); first += kRows) {
    const size_t rows = std::min(kRows, column.size() - first);
    column.Read(first, rows, values);
    T low = 0, high = 0;
    stream::WidenTo(values, rows, &low, &high);
    if (low == high) continue;  // all are 0, the usual case
    count += rows - static_cast<uint64_t>(std::count(values, values + rows, T{0}));
  }
  return count;
}

}  // namespace

Counts ComputeCounts(const model::Model& model) {
  Counts counts;
  counts.api_calls = model.api.size();
  counts.api_failed = CountSet(model.api.result);
  counts.api_open = CountSet(model.api.open);
  counts.marks = CountSet(model.ranges.mark);
  counts.ranges = model.ranges.mark.size() - counts.marks;
  counts.host_events = model.host.size() + model.host.alone;
  counts.jobs = model.jobs.size();
  counts.jobs_failed = CountSet(model.jobs.status);
  counts.commands = model.commands.size();
  counts.commands_failed = CountSet(model.commands.status);
  for (const model::Device& device : model.devices) {
    counts.counter_samples += device.counters.size();
    counts.clock_samples += device.clock_samples;
  }
  counts.device_events = model.device_events.size();
  return counts;
}

void CollectEvidence(const model::Model& model, const std::vector<Law>* laws, Overlaps overlaps,
                     ClockParts clocks, Evidence* evidence) {
  evidence->model = &model;
  evidence->counts = ComputeCounts(model);
  evidence->clocks = ComputeClockQuality(model, clocks);
  evidence->clock_edges = ComputeClockEdges(model);
  evidence->losses = ComputeLosses(model);
  const auto pass = std::make_unique<LawPass>(model);
  const auto causality = SumCausality(pass.get());
  const auto conservation =
      laws != nullptr ? nullptr : SumConservation(evidence->losses, pass.get());
  const auto overlapping = overlaps == Overlaps::kCount ? SumOverlaps(pass.get()) : nullptr;
  pass->Run();
  evidence->causality = causality->Finish();
  evidence->laws = laws != nullptr ? *laws : conservation->Finish();
  if (overlapping != nullptr) evidence->overlaps = overlapping->Finish();
}

}  // namespace acceltrace::analysis
