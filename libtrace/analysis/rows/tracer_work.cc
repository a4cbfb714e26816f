// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/tracer_work.h"

#include <algorithm>

namespace acceltrace::analysis {
namespace {

constexpr uint64_t kMaxWorkNs = uint64_t{1} << 61;  // so that a sum cannot overflow
constexpr char kTracepoint[] = "tracepoint";
constexpr double kHardly = 0.01;  // of a time in which the lane slept

Cost FromPs(double cost_ps, double error_ps) {
  return {std::max(0.0, cost_ps - error_ps) / 1e3, cost_ps / 1e3, (cost_ps + error_ps) / 1e3};
}

// Returns the kinds of host events that each had one event of this kind, as bits by HostBatch.Kind;
// 0 for events of the library. Other host events were recorded along with one of these.
uint64_t KindsOf(const proto::Accounts::EventCost& cost) {
  static_assert(proto::HostBatch::Kind_MAX < TracerEvent::kApi);
  uint64_t kinds = 0;
  for (const uint32_t kind : cost.at_kinds()) {
    kinds |= kind < TracerEvent::kApi ? uint64_t{1} << kind : 0;
  }
  if (cost.at_kinds_size() == 0 && cost.kind() == kTracepoint) kinds = UINT32_MAX;
  return kinds;
}

}  // namespace

TracerWork::TracerWork(const model::Model& model) {
  if (!model.has_accounts) return;
  const proto::Accounts& accounts = model.accounts;
  known_ = accounts.event_costs_size() > 0;
  if (!known_) return;
  CollectEvents(model);
  ReadCosts(accounts);
  ReadRecorder(accounts);
}

// There may be more events than rows or fewer: one event may describe a whole job, and lost events
// cost time, too. Each row gets its share of the cost of all events of its kinds.
void TracerWork::ReadCosts(const proto::Accounts& accounts) {
  std::array<double, TracerEvent::kApi + 1> rows{};
  for (const TracerEvent& event : events_) ++rows[event.kind];
  for (const auto& cost : accounts.event_costs()) {
    uint64_t kinds = KindsOf(cost);
    if (kinds == 0) kinds = uint64_t{1} << TracerEvent::kApi;
    double all = 0;
    for (size_t kind = 0; kind < rows.size(); ++kind) all += kinds >> kind & 1 ? rows[kind] : 0;
    if (all == 0) continue;
    const double share = static_cast<double>(cost.events()) / all;
    const Cost each =
        FromPs(static_cast<double>(cost.cost_ps()), static_cast<double>(cost.error_ps()));
    for (size_t kind = 0; kind < rows.size(); ++kind) {
      if ((kinds >> kind & 1) == 0) continue;
      for (size_t i = 0; i < each.size(); ++i) cost_ns_[kind][i] += share * each[i];
    }
  }
}

void TracerWork::ReadRecorder(const proto::Accounts& accounts) {
  const double wake_ns = static_cast<double>(accounts.wake_ns());
  const double error_ns = static_cast<double>(accounts.wake_error_ns());
  int64_t begin_ns = 0, last_end_ns = 0;
  for (int i = 0; i < accounts.work_begin_ns_delta_size(); ++i) {
    begin_ns += accounts.work_begin_ns_delta(i);
    const int64_t end_ns =
        begin_ns + static_cast<int64_t>(std::min(accounts.work_ns(i), kMaxWorkNs));
    // The file is untrusted, so intervals that are out of order are ignored.
    if (begin_ns < last_end_ns || end_ns <= begin_ns) continue;
    last_end_ns = end_ns;
    const uint32_t wakes = accounts.work_wakes_size() > 0 ? accounts.work_wakes(i) : 1;
    const double cpu_ns =
        static_cast<double>(std::min(accounts.work_cpu_ns(i), accounts.work_ns(i)));
    const double woken = static_cast<double>(wakes);
    recorder_.push_back({begin_ns,
                         end_ns,
                         accounts.work_cpu_size() > 0 ? accounts.work_cpu(i) : 0,
                         {cpu_ns + woken * std::max(0.0, wake_ns - error_ns),
                          cpu_ns + woken * wake_ns, cpu_ns + woken * (wake_ns + error_ns)}});
    wakes_ += wakes;
  }
}

void TracerWork::CollectEvents(const model::Model& model) {
  const model::ApiCalls& api = model.api;
  for (size_t i = 0; i < api.size(); ++i) {
    events_.push_back({api.begin_ns[i], api.tid[i], TracerEvent::kApi});
    if (!api.open[i]) events_.push_back({api.end_ns[i], api.tid[i], TracerEvent::kApi});
  }
  const model::Ranges& ranges = model.ranges;
  for (size_t i = 0; i < ranges.size(); ++i) {
    events_.push_back({ranges.begin_ns[i], ranges.tid[i], TracerEvent::kApi});
    if (!ranges.mark[i] && !ranges.open[i]) {
      events_.push_back({ranges.end_ns[i], ranges.tid[i], TracerEvent::kApi});
    }
  }
  const model::HostEvents& host = model.host;
  uint64_t kinds = 0;
  for (const auto& cost : model.accounts.event_costs()) kinds |= KindsOf(cost);
  for (size_t i = 0; i < host.size(); ++i) {
    if (kinds >> host.kind[i] & 1) {
      events_.push_back({host.time_ns[i], host.tid[i], host.kind[i]});
    }
  }
  std::stable_sort(events_.begin(), events_.end(),
                   [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
  for (const TracerEvent& event : events_) by_thread_[event.tid].push_back(event);
}

const std::vector<TracerEvent>& TracerWork::EventsOf(uint32_t tid) const {
  static const std::vector<TracerEvent> none;
  const auto found = by_thread_.find(tid);
  return found == by_thread_.end() ? none : found->second;
}

WorkSum::WorkSum(const TracerWork& work, uint32_t tid, Estimate estimate, const Period& within,
                 const std::vector<Period>& asleep)
    : work_(work), asleep_(asleep) {
  int64_t slept_ns = 0;
  for (const Period& period : asleep_) {
    slept_ns_.push_back(slept_ns);
    slept_ns += period.end_ns - period.begin_ns;
  }
  const auto overlap = [](const RecorderWork& row, const Period& period) {
    return static_cast<double>(std::max<int64_t>(
        0, std::min(period.end_ns, row.end_ns) - std::max(period.begin_ns, row.begin_ns)));
  };
  size_t next = 0;
  for (const RecorderWork& row : work.recorder()) {
    while (next < asleep.size() && asleep[next].end_ns <= row.begin_ns) ++next;
    double slept_ns = 0;
    for (size_t i = next; i < asleep.size() && asleep[i].begin_ns < row.end_ns; ++i) {
      slept_ns += overlap(row, asleep[i]);
    }
    const double inside_ns = overlap(row, within), awake_ns = inside_ns - slept_ns;
    const double length_ns = static_cast<double>(row.end_ns - row.begin_ns);
    const double cpu_ns = row.cpu_ns[estimate];
    const double here_ns = slept_ns > kHardly * inside_ns
                               ? cpu_ns * inside_ns / length_ns
                               : std::max(0.0, cpu_ns - (length_ns - inside_ns));
    const double rest_ns = std::max(0.0, here_ns - slept_ns);
    density_.push_back(awake_ns > 0 ? rest_ns / awake_ns : 0);
  }
  sum_ns_.push_back(0);
  for (const TracerEvent& event : tid == kEvery ? work.events() : work.EventsOf(tid)) {
    at_ns_.push_back(event.at_ns);
    sum_ns_.push_back(sum_ns_.back() + work.CostOf(event)[estimate]);
  }
}

int64_t WorkSum::SleptUntil(int64_t at_ns) const {
  const auto next = std::partition_point(asleep_.begin(), asleep_.end(),
                                         [&](const Period& p) { return p.begin_ns < at_ns; });
  if (next == asleep_.begin()) return 0;
  const auto last = static_cast<size_t>(next - asleep_.begin()) - 1;
  return slept_ns_[last] + std::min(at_ns, asleep_[last].end_ns) - asleep_[last].begin_ns;
}

double WorkSum::Events(int64_t until_ns) const {
  const auto end = std::lower_bound(at_ns_.begin(), at_ns_.end(), until_ns);
  return sum_ns_[static_cast<size_t>(end - at_ns_.begin())];
}

double WorkSum::Recorder(int64_t from_ns, int64_t to_ns, uint32_t cpu) const {
  const auto& recorder = work_.recorder();
  auto row =
      std::lower_bound(recorder.begin(), recorder.end(), from_ns,
                       [](const RecorderWork& r, int64_t at_ns) { return r.end_ns <= at_ns; });
  double sum_ns = 0;
  for (; row != recorder.end() && row->begin_ns < to_ns; ++row) {
    if (cpu != kEvery && row->cpu != cpu) continue;
    const int64_t begin_ns = std::max(row->begin_ns, from_ns);
    const int64_t end_ns = std::min(row->end_ns, to_ns);
    const int64_t awake_ns = end_ns - begin_ns - (SleptUntil(end_ns) - SleptUntil(begin_ns));
    sum_ns += density_[static_cast<size_t>(row - recorder.begin())] * static_cast<double>(awake_ns);
  }
  return sum_ns;
}

double WorkSum::Between(int64_t from_ns, int64_t to_ns, uint32_t cpu) const {
  if (to_ns <= from_ns) return 0;
  return Events(to_ns) - Events(from_ns) + Recorder(from_ns, to_ns, cpu);
}

}  // namespace acceltrace::analysis
