// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/calls.h"

#include <algorithm>
#include <map>

#include "libtrace/analysis/rows/names.h"

namespace acceltrace::analysis {

std::vector<CallUse> ComputeCalls(const model::Model& model) {
  const model::ApiCalls& api = model.api;
  std::vector<uint32_t> jobs(api.size());
  for (uint32_t call : model.jobs.api_row) {
    if (call != model::kNoRow) ++jobs[call];
  }
  // Counts the calls of each name first, so that no more memory is used than there are durations.
  std::vector<CallUse> calls;
  std::map<std::string, uint32_t, std::less<>> by_name;
  std::vector<uint32_t> of(api.size());
  std::vector<size_t> ended;
  for (size_t i = 0; i < api.size(); ++i) {
    const std::string& name = model.strings.Get(api.name[i]);
    auto known = by_name.find(name);
    if (known == by_name.end()) {
      const bool full = by_name.size() >= kMaxNamedRows;
      known =
          by_name.try_emplace(full ? kOtherNames : name, static_cast<uint32_t>(calls.size())).first;
      if (known->second == calls.size()) calls.emplace_back().name = known->first;
      ended.resize(calls.size());
    }
    of[i] = known->second;
    CallUse& use = calls[of[i]];
    use.failed += api.result[i] != 0;
    use.open += api.open[i] != 0;
    use.bytes += api.bytes[i];
    use.jobs += jobs[i];
    ended[of[i]] += !api.open[i] && !api.began_before[i];
  }
  std::vector<std::vector<int64_t>> durations_ns(calls.size());
  for (size_t c = 0; c < calls.size(); ++c) durations_ns[c].reserve(ended[c]);
  for (size_t i = 0; i < api.size(); ++i) {
    if (api.open[i] || api.began_before[i]) continue;
    durations_ns[of[i]].push_back(api.end_ns[i] - api.begin_ns[i]);
  }
  for (size_t c = 0; c < calls.size(); ++c)
    calls[c].time = SummariseExact(std::move(durations_ns[c]));
  std::sort(calls.begin(), calls.end(),
            [](const CallUse& a, const CallUse& b) { return a.name < b.name; });
  std::stable_sort(calls.begin(), calls.end(), [](const CallUse& a, const CallUse& b) {
    return a.time.total.mid_ns > b.time.total.mid_ns;
  });
  return calls;
}

}  // namespace acceltrace::analysis
