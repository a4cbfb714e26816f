// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/call_sites.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "libtrace/analysis/rows/names.h"

namespace acceltrace::analysis {
namespace {

// Limits the places whose names are in memory at a time.
constexpr size_t kMaxPlaces = 1 << 17;
constexpr size_t kMaxNameBytes = 64 << 20;

void Add(const SiteUse& from, SiteUse* to) {
  to->calls += from.calls;
  to->failed += from.failed;
  to->bytes += from.bytes;
  to->jobs += from.jobs;
  to->time_ns += from.time_ns;
  to->device_ns += from.device_ns;
}

// Sums up the calls of each stack. A stack without calls takes no more than an index.
class StackUses {
 public:
  explicit StackUses(size_t stacks) : places_(stacks, model::kNoRow) {}

  SiteUse& operator[](uint32_t stack) {
    if (places_[stack] == model::kNoRow) {
      places_[stack] = static_cast<uint32_t>(uses_.size());
      uses_.emplace_back();
    }
    return uses_[places_[stack]];
  }

  const SiteUse* Find(size_t stack) const {
    return places_[stack] == model::kNoRow ? nullptr : &uses_[places_[stack]];
  }

 private:
  std::vector<uint32_t> places_;
  std::vector<SiteUse> uses_;
};

StackUses UseOfStacks(const model::Model& model, uint64_t* without) {
  const model::ApiCalls& api = model.api;
  const model::Jobs& jobs = model.jobs;
  StackUses uses(model.stacks.size());
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

// Sorts by time, the longest first. Rows after the first `most` are merged to the row `others`.
template <typename Row>
void Rank(size_t most, Row others, std::vector<Row>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) {
    return std::tie(a.use.time_ns, a.use.calls) > std::tie(b.use.time_ns, b.use.calls);
  });
  if (rows->size() <= most) return;
  for (size_t row = most; row < rows->size(); ++row) Add((*rows)[row].use, &others.use);
  rows->resize(most);
  rows->push_back(std::move(others));
}

// Keeps each text once.
class Names {
 public:
  explicit Names(std::vector<std::string>* names) : names_(names) {}
  uint32_t Number(const std::string& name) {
    const auto [known, fresh] = numbers_.try_emplace(name, static_cast<uint32_t>(names_->size()));
    if (fresh) {
      names_->push_back(name);
      bytes_ += name.size();
    }
    return known->second;
  }
  size_t bytes() const { return bytes_; }

 private:
  std::vector<std::string>* names_;
  std::map<std::string, uint32_t> numbers_;
  size_t bytes_ = 0;
};

}  // namespace

StackNames NameStacks(const model::Model& model, symbols::FrameNames* names) {
  const model::Stacks& stacks = model.stacks;
  using Place = std::tuple<uint32_t, uint32_t, uint64_t, bool>;
  std::map<Place, uint32_t> known;
  StackNames all;
  Names numbers(&all.names);
  for (size_t stack = 0; stack < stacks.size(); ++stack) {
    for (uint32_t f = stacks.first[stack]; f < stacks.first[stack + 1]; ++f) {
      const model::Frame& frame = stacks.frames[f];
      const bool returns = f != stacks.first[stack];
      const Place place = {frame.object, frame.build_id, frame.offset, returns};
      const auto found = known.find(place);
      if (found != known.end()) {
        all.of_frame.push_back(found->second);
        continue;
      }
      const bool full = known.size() >= kMaxPlaces || numbers.bytes() >= kMaxNameBytes;
      const uint32_t number = numbers.Number(full ? kOtherNames
                                                  : names->Name(model.strings.Get(frame.object),
                                                                model.strings.Get(frame.build_id),
                                                                frame.offset, returns));
      if (!full) known.emplace(place, number);
      all.of_frame.push_back(number);
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
    if (file(f) != file(first)) return f;
  }
  return end - first > 1 ? first + 1 : first;
}

CallSites ComputeCallSites(const model::Model& model, symbols::FrameNames* names) {
  CallSites result;
  if (model.stacks.of_call.empty()) return result;
  const model::Stacks& stacks = model.stacks;
  const StackUses uses = UseOfStacks(model, &result.without);
  StackNames frames = NameStacks(model, names);
  std::map<std::pair<uint32_t, uint32_t>, SiteUse> sites;  // name, object
  std::map<std::vector<uint32_t>, StackUse> by_frames;
  for (size_t stack = 0; stack < stacks.size(); ++stack) {
    const SiteUse* use = uses.Find(stack);
    if (use == nullptr || use->calls == 0) continue;
    const size_t site = SiteOf(stacks, stack);
    Add(*use, &sites[{frames.of_frame[site], stacks.frames[site].object}]);
    const auto begin = frames.of_frame.begin();
    const std::vector<uint32_t> whole(begin + stacks.first[stack], begin + stacks.first[stack + 1]);
    // Stacks with equal names may be in different files, so that their call sites differ; the first
    // one counts.
    const StackUse fresh = {whole, static_cast<uint32_t>(site - stacks.first[stack]), {}};
    Add(*use, &by_frames.try_emplace(whole, fresh).first->second.use);
  }
  for (const auto& [key, use] : sites) {
    result.sites.push_back({frames.names[key.first], model.strings.Get(key.second), use});
  }
  for (auto& [key, stack] : by_frames) result.stacks.push_back(std::move(stack));
  const uint32_t others = Names(&frames.names).Number(kOtherNames);
  Rank(kMaxNamedRows, {kOtherNames, "", {}}, &result.sites);
  Rank(kMaxStackRows, {{others}, 0, {}}, &result.stacks);
  result.names = std::move(frames.names);
  return result;
}

}  // namespace acceltrace::analysis
