// SPDX-License-Identifier: Apache-2.0
//
// Decodes what the kernel reports about threads and the machine.
#include <algorithm>
#include <tuple>

#include "libtrace/model/columns/decode_columns.h"
#include "libtrace/model/load/decode.h"
#include "libtrace/model/tables/permute.h"

namespace acceltrace::model {
namespace {

// Flight recorders repeat base packets; the first one counts.
void SortCounters(std::vector<SystemCounter>* counters) {
  const auto less = [](const auto& a, const auto& b) { return a.counter < b.counter; };
  std::stable_sort(counters->begin(), counters->end(), less);
  const auto same = [](const auto& a, const auto& b) { return a.counter == b.counter; };
  counters->erase(std::unique(counters->begin(), counters->end(), same), counters->end());
}

void SortGroups(std::vector<ProcessGroup>* groups) {
  const auto key = [](const ProcessGroup& g) { return std::tie(g.pid, g.time_ns, g.group); };
  std::stable_sort(groups->begin(), groups->end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto last = std::unique(groups->begin(), groups->end(),
                                [&](const auto& a, const auto& b) { return key(a) == key(b); });
  groups->erase(last, groups->end());
}

void SortRuns(ThreadRuns* runs) {
  const auto key = [&](uint32_t i) {
    return std::make_tuple(runs->pid[i], runs->tid[i], runs->end_ns[i], runs->begin_ns[i]);
  };
  const auto order =
      SortedRows(runs->size(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  PermuteRows(order, runs);
}

void SortInterrupts(Interrupts* rows) {
  const auto key = [&](uint32_t i) {
    return std::make_tuple(rows->kind[i], rows->number[i], rows->cpu[i], rows->end_ns[i]);
  };
  const auto order =
      SortedRows(rows->size(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  PermuteRows(order, rows);
}

}  // namespace

void Decoder::AddThreadRuns(const proto::ThreadRunBatch& batch, size_t rows) {
  ThreadRuns& runs = model_->system.runs;
  AppendDeltas(&runs.begin_ns, batch.begin_ns_delta(), rows);
  AppendEnds(&runs.end_ns, runs.begin_ns, batch.run_ns(), rows);
  Append(&runs.pid, batch.pid(), rows);
  Append(&runs.tid, batch.tid(), rows);
  Append(&runs.cpu, batch.cpu(), rows);
  Append(&runs.away, batch.away(), rows);
  Append(&runs.left, batch.left(), rows);
  Append(&runs.away_ns, batch.away_ns(), rows);
  Append(&runs.ready_ns, batch.ready_ns(), rows);
  Append(&runs.waker_pid, batch.waker_pid(), rows);
  Append(&runs.waker_tid, batch.waker_tid(), rows);
  Append(&runs.wait, batch.wait(), rows);
  Append(&runs.waker_irq, batch.waker_irq(), rows);
  Append(&runs.began_before, batch.began_before(), rows);
  Append(&runs.charged_ns, batch.charged_ns(), rows);
  Append(&runs.minor_faults, batch.minor_faults(), rows);
  Append(&runs.major_faults, batch.major_faults(), rows);
  Append(&runs.migrations, batch.migrations(), rows);
  Append(&runs.voluntary, batch.voluntary(), rows);
  Append(&runs.involuntary, batch.involuntary(), rows);
}

void Decoder::AddInterrupts(const proto::InterruptBatch& batch, size_t rows) {
  Interrupts& to = model_->system.interrupts;
  AppendDeltas(&to.end_ns, batch.end_ns_delta(), rows);
  for (size_t i = 0; i < rows; ++i) {
    const auto stretch_ns = static_cast<int64_t>(stream::ColumnAt(batch.stretch_ns(), i));
    to.begin_ns.push_back(to.end_ns[to.begin_ns.size()] - stretch_ns);
    to.device.push_back(RowOfOther(stream::ColumnAt(batch.device(), i)));
  }
  Append(&to.kind, batch.kind(), rows);
  Append(&to.cpu, batch.cpu(), rows);
  Append(&to.number, batch.number(), rows);
  Append(&to.name, batch.name(), rows);
  Append(&to.count, batch.count(), rows);
  Append(&to.total_ns, batch.total_ns(), rows);
  Append(&to.longest_ns, batch.longest_ns(), rows);
  Append(&to.hits, batch.hits(), rows);
  Append(&to.hit_ns, batch.hit_ns(), rows);
}

void Decoder::AddSystemCounters(const proto::SystemCounters& batch, size_t rows) {
  for (size_t i = 0; i < rows; ++i) {
    SystemCounter counter;
    counter.counter = stream::ColumnAt(batch.counter(), i);
    counter.source = stream::ColumnAt(batch.source(), i);
    counter.name = stream::ColumnAt(batch.name(), i);
    counter.object = stream::ColumnAt(batch.object(), i);
    counter.unit = stream::ColumnAt(batch.unit(), i);
    counter.total = stream::ColumnAt(batch.kind(), i) == proto::SystemCounters::KIND_TOTAL;
    counter.device = RowOfOther(stream::ColumnAt(batch.device(), i));
    model_->system.counters.push_back(counter);
  }
}

void Decoder::AddSystemSamples(const proto::SystemSamples& batch, size_t rows) {
  SystemSamples& samples = model_->system.samples;
  AppendDeltas(&samples.time_ns, batch.time_ns_delta(), rows);
  Append(&samples.counter, batch.counter(), rows);
  Append(&samples.value, batch.value(), rows);
}

void Decoder::AddProcessGroups(const proto::ProcessGroups& batch, size_t rows) {
  stream::DeltaDecoder times(batch.time_ns_delta());
  for (size_t i = 0; i < rows; ++i) {
    model_->system.groups.push_back(
        {times.Next(), stream::ColumnAt(batch.pid(), i), stream::ColumnAt(batch.group(), i)});
  }
}

void Decoder::FinishSystem() {
  SystemTables& system = model_->system;
  SortRuns(&system.runs);
  SortInterrupts(&system.interrupts);
  SortCounters(&system.counters);
  SortGroups(&system.groups);
  SystemSamples& samples = system.samples;
  std::vector<uint32_t> known;
  for (uint32_t i = 0; i < samples.size(); ++i) {
    const auto at = std::lower_bound(
        system.counters.begin(), system.counters.end(), samples.counter[i],
        [](const SystemCounter& counter, uint32_t wanted) { return counter.counter < wanted; });
    if (at == system.counters.end() || at->counter != samples.counter[i]) {
      ++model_->load.bad_rows;
      continue;
    }
    samples.counter.Set(i, static_cast<uint32_t>(at - system.counters.begin()));
    known.push_back(i);
  }
  const auto key = [&](uint32_t i) {
    return std::make_tuple(samples.counter[i], samples.time_ns[i]);
  };
  std::stable_sort(known.begin(), known.end(),
                   [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  PermuteRows(known, &samples);
}

}  // namespace acceltrace::model
