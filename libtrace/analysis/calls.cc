// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/calls.h"

#include <algorithm>
#include <map>

#include "libtrace/analysis/names.h"

namespace acceltrace::analysis {

std::vector<CallUse> ComputeCalls(const model::Model& model) {
  const model::ApiCalls& api = model.api;
  std::vector<uint32_t> jobs(api.size());
  for (uint32_t call : model.jobs.api_row) {
    if (call != model::kNoRow) ++jobs[call];
  }
  std::map<std::string, std::pair<CallUse, std::vector<Span>>> by_name;
  for (size_t i = 0; i < api.size(); ++i) {
    auto known = by_name.find(model.strings.Get(api.name[i]));
    if (known == by_name.end()) {
      const bool full = by_name.size() >= kMaxNamedRows;
      known = by_name.try_emplace(full ? kOtherNames : model.strings.Get(api.name[i])).first;
    }
    auto& [use, spans] = known->second;
    use.failed += api.result[i] != 0;
    use.open += api.open[i] != 0;
    use.bytes += api.bytes[i];
    use.jobs += jobs[i];
    if (api.open[i] || api.began_before[i]) continue;
    spans.push_back(Span::Exact(api.end_ns[i] - api.begin_ns[i]));
  }
  std::vector<CallUse> calls;
  for (auto& [name, collected] : by_name) {
    auto& [use, spans] = collected;
    use.name = name;
    use.time = Summarise(spans);
    calls.push_back(std::move(use));
  }
  std::stable_sort(calls.begin(), calls.end(), [](const CallUse& a, const CallUse& b) {
    return a.time.total.mid_ns > b.time.total.mid_ns;
  });
  return calls;
}

}  // namespace acceltrace::analysis
