// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/call_sites.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "libtrace/analysis/names.h"

namespace acceltrace::analysis {
namespace {

void Add(const SiteUse& from, SiteUse* to) {
  to->calls += from.calls;
  to->failed += from.failed;
  to->bytes += from.bytes;
  to->jobs += from.jobs;
  to->time_ns += from.time_ns;
  to->device_ns += from.device_ns;
}

// Of the calls of each stack.
std::vector<SiteUse> UseOfStacks(const model::Model& model, uint64_t* without) {
  const model::ApiCalls& api = model.api;
  const model::Jobs& jobs = model.jobs;
  std::vector<SiteUse> uses(model.stacks.size());
  const auto of = [&](uint32_t call) -> SiteUse* {
    if (call == model::kNoRow) return nullptr;
    const uint32_t stack = model.stacks.of_call[call];
    return stack == model::Stacks::kNoStack ? nullptr : &uses[stack];
  };
  for (uint32_t call = 0; call < api.size(); ++call) {
    SiteUse* use = of(call);
    if (use == nullptr) {
      ++*without;
      continue;
    }
    ++use->calls;
    use->failed += api.result[call] != 0;
    use->bytes += api.bytes[call];
    if (!api.open[call] && !api.began_before[call]) {
      use->time_ns += api.end_ns[call] - api.begin_ns[call];
    }
  }
  for (size_t j = 0; j < jobs.size(); ++j) {
    SiteUse* use = of(jobs.api_row[j]);
    if (use == nullptr) continue;
    ++use->jobs;
    for (uint32_t c = jobs.first_command[j]; c < jobs.first_command[j] + jobs.num_commands[j];
         ++c) {
      const model::Device& device = model.devices[model.commands.device[c]];
      use->device_ns += static_cast<double>(
          device.Duration(model.commands.start.At(c), model.commands.end.At(c)).mid_ns);
    }
  }
  return uses;
}

template <typename Row>
void SortByTime(std::vector<Row>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) {
    return std::tie(a.use.time_ns, a.use.calls) > std::tie(b.use.time_ns, b.use.calls);
  });
}

}  // namespace

StackNames NameStacks(const model::Model& model, symbols::FrameNames* names) {
  const model::Stacks& stacks = model.stacks;
  using Key = std::tuple<uint32_t, uint32_t, uint64_t, bool>;
  std::map<Key, std::string> known;
  StackNames all(stacks.size());
  for (size_t stack = 0; stack < stacks.size(); ++stack) {
    for (uint32_t f = stacks.first[stack]; f < stacks.first[stack + 1]; ++f) {
      const model::Frame& frame = stacks.frames[f];
      const bool returns = f != stacks.first[stack];
      std::string& name = known[{frame.object, frame.build_id, frame.offset, returns}];
      if (name.empty()) {
        name = names->Name(model.strings.Get(frame.object), model.strings.Get(frame.build_id),
                           frame.offset, returns);
      }
      all[stack].push_back(name);
    }
  }
  return all;
}

size_t SiteOf(const model::Stacks& stacks, size_t stack) {
  const uint32_t first = stacks.first[stack], end = stacks.first[stack + 1];
  const auto file = [&](uint32_t f) {
    return std::pair(stacks.frames[f].object, stacks.frames[f].build_id);
  };
  for (uint32_t f = first; f < end; ++f) {
    if (file(f) != file(first)) return f - first;
  }
  return end - first > 1 ? 1 : 0;
}

CallSites ComputeCallSites(const model::Model& model, symbols::FrameNames* names) {
  CallSites result;
  if (model.stacks.of_call.empty()) return result;
  const model::Stacks& stacks = model.stacks;
  const std::vector<SiteUse> uses = UseOfStacks(model, &result.without);
  const StackNames frames = NameStacks(model, names);
  std::map<std::pair<std::string, std::string>, SiteUse> sites;
  std::map<std::vector<std::string>, SiteUse> by_frames;
  for (size_t stack = 0; stack < stacks.size(); ++stack) {
    if (uses[stack].calls == 0) continue;
    const size_t site = SiteOf(stacks, stack);
    std::pair key(frames[stack][site],
                  model.strings.Get(stacks.frames[stacks.first[stack] + site].object));
    if (sites.size() >= kMaxNamedRows && sites.count(key) == 0) key = {kOtherNames, ""};
    Add(uses[stack], &sites[key]);
    const bool full = by_frames.size() >= kMaxNamedRows && by_frames.count(frames[stack]) == 0;
    Add(uses[stack], &by_frames[full ? std::vector<std::string>{kOtherNames} : frames[stack]]);
  }
  for (const auto& [key, use] : sites) result.sites.push_back({key.first, key.second, use});
  for (const auto& [key, use] : by_frames) result.stacks.push_back({key, use});
  SortByTime(&result.sites);
  SortByTime(&result.stacks);
  return result;
}

}  // namespace acceltrace::analysis
