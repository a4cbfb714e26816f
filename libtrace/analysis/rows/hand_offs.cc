// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/rows/hand_offs.h"

#include <algorithm>
#include <tuple>

namespace acceltrace::analysis {
namespace {

// More threads than this would not be hand-offs of one run.
constexpr size_t kMaxThreads = 4096;

}  // namespace

HandOffs::HandOffs(const OffCpu& off_cpu, std::unordered_set<uint32_t>* threads) {
  std::vector<uint32_t> ask(threads->begin(), threads->end());
  while (!ask.empty()) {
    const uint32_t to = ask.back();
    ask.pop_back();
    const auto* asleep = off_cpu.Of(OffCpu::kAsleep, to);
    if (asleep == nullptr) continue;
    for (const OffCpu::Stretch& stretch : *asleep) {
      const uint32_t from = stretch.woken_by;
      // It is not known what other threads did until then.
      if (from == 0 || from == to || off_cpu.Of(OffCpu::kAsleep, from) == nullptr) continue;
      if (!threads->contains(from)) {
        if (threads->size() >= kMaxThreads) continue;
        threads->insert(from);
        ask.push_back(from);
      }
      all_.push_back({stretch.end_ns, from, to, stretch.end_ns - stretch.begin_ns});
    }
  }
  std::sort(all_.begin(), all_.end(), [](const HandOff& a, const HandOff& b) {
    return std::tie(a.to, a.at_ns) < std::tie(b.to, b.at_ns);
  });
}

std::pair<uint32_t, uint32_t> HandOffs::Between(uint32_t to, int64_t from_ns, int64_t to_ns) const {
  const auto after = [&](int64_t at_ns) {
    const auto place = std::upper_bound(
        all_.begin(), all_.end(), std::pair(to, at_ns),
        [](const auto& key, const HandOff& h) { return key < std::pair(h.to, h.at_ns); });
    return static_cast<uint32_t>(place - all_.begin());
  };
  return {after(from_ns), after(to_ns)};
}

}  // namespace acceltrace::analysis
