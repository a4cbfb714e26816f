// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/once.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "libtrace/analysis/laws.h"

namespace acceltrace::analysis {
namespace {

// Of rows 0 to n, those with a key that another one has, in the order of the keys' first part:
// the rows are sorted by time, so that alike ones are close to each other.
template <typename Key, typename Describe>
void CheckRows(size_t n, const Key& key, const Describe& describe, Tally* once) {
  size_t begin = 0;
  std::vector<uint32_t> rows;
  while (begin < n) {
    size_t end = begin + 1;
    while (end < n && std::get<0>(key(end)) == std::get<0>(key(begin))) ++end;
    // Row numbers: of a damaged trace all rows may be alike in time, and keys are large.
    rows.resize(end - begin);
    std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(begin));
    if (rows.size() > 1) {
      std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      once->Holds(i == 0 || key(rows[i]) != key(rows[i - 1]), [&] { return describe(begin); });
    }
    begin = end;
  }
}

}  // namespace

Law OnceLaw(const model::Model& model) {
  Tally once("rows_once", "each event is in the trace once");
  const model::ApiCalls& api = model.api;
  CheckRows(
      api.size(),
      [&](size_t i) {
        return std::make_tuple(api.begin_ns[i], api.end_ns[i], api.pid[i], api.tid[i],
                               api.correlation[i], api.name[i]);
      },
      [&](size_t i) { return fmt::format("a call at {} ns", api.begin_ns[i]); }, &once);
  const model::Ranges& ranges = model.ranges;
  CheckRows(
      ranges.size(),
      [&](size_t i) {
        return std::make_tuple(ranges.begin_ns[i], ranges.end_ns[i], ranges.pid[i], ranges.tid[i],
                               ranges.depth[i], ranges.mark[i], ranges.name[i]);
      },
      [&](size_t i) { return fmt::format("a range or mark at {} ns", ranges.begin_ns[i]); }, &once);
  const model::HostEvents& host = model.host;
  CheckRows(
      host.size(),
      [&](size_t i) {
        return std::make_tuple(host.time_ns[i], host.kind[i], host.cpu[i], host.tid[i],
                               host.device[i], host.context[i], host.queue[i], host.job[i],
                               host.sequence[i], host.correlation[i], host.arg0[i], host.arg1[i]);
      },
      [&](size_t i) { return fmt::format("an event of the host at {} ns", host.time_ns[i]); },
      &once);
  for (const model::Device& device : model.devices) {
    const model::CounterSamples& samples = device.counters;
    CheckRows(
        samples.size(),
        [&](size_t i) {
          return std::make_tuple(samples.time.ticks[i], samples.host_before_ns[i],
                                 samples.host_after_ns[i]);
        },
        [&](size_t i) {
          return fmt::format("a counter snapshot of {} at {} ticks", device.about.name(),
                             samples.time.ticks[i]);
        },
        &once);
  }
  return once.Done();
}

}  // namespace acceltrace::analysis
