// SPDX-License-Identifier: Apache-2.0
//
// Collects the inputs of a map.
#include "libtrace/clock/estimator.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::clock {

MapBuilder::MapBuilder(const ClockInfo& info, const Options& options)
    : info_(info), options_(options) {}

void AppendSamples(const proto::ClockBatch& batch, std::vector<Sample>* samples) {
  const auto rows = static_cast<size_t>(batch.host_before_ns_delta_size());
  stream::DeltaDecoder before(batch.host_before_ns_delta());
  stream::DeltaDecoder ticks(batch.device_ticks_delta());
  stream::DeltaDecoder tsc(batch.tsc_before_delta());
  stream::DeltaDecoder ptm_ticks(batch.ptm_device_ticks_delta());
  stream::DeltaDecoder ptm_host(batch.ptm_host_ns_delta());
  for (size_t i = 0; i < rows; ++i) {
    Sample sample;
    sample.host_before_ns = before.Next();
    sample.host_after_ns = static_cast<int64_t>(static_cast<uint64_t>(sample.host_before_ns) +
                                                stream::ColumnAt(batch.host_width_ns(), i));
    sample.device_ticks = ticks.NextUnsigned();
    sample.tsc_before = tsc.NextUnsigned();
    sample.tsc_after = sample.tsc_before + stream::ColumnAt(batch.tsc_width(), i);
    sample.has_ptm = stream::ColumnAt(batch.has_ptm(), i) != 0;
    sample.ptm_device_ticks = ptm_ticks.NextUnsigned();
    sample.ptm_host_ns = ptm_host.Next();
    samples->push_back(sample);
  }
}

void MapBuilder::Thin() {
  const size_t size = samples_.size();
  size_t kept = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % 2 == 0 || i + 1 == size) samples_[kept++] = samples_[i];
  }
  samples_.resize(kept);
}

void MapBuilder::AddCut(uint64_t ticks, Cut cut, int64_t near_ns, double hz) {
  Change change{cut, ticks, 0, hz, {}};
  change.when.near_ns = near_ns;
  changes_.push_back(change);
}

void MapBuilder::AddConstraints(Constraints&& constraints) {
  if (constraints_.empty()) {
    constraints_ = std::move(constraints);
    return;
  }
  constraints.Each([this](const Constraint& constraint) { constraints_.Add(constraint); });
  if (constraints.source() != nullptr) constraints_.SetSource(constraints.source());
}

void MapBuilder::AddConstraints(std::span<const Constraint> constraints) {
  for (const Constraint& constraint : constraints) constraints_.Add(constraint);
}

}  // namespace acceltrace::clock
