// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/slow_ranges.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "libtrace/analysis/rows/names.h"
#include "libtrace/analysis/rows/off_cpu.h"

namespace acceltrace::analysis {
namespace {

// Number of ranges of each kind that are examined, evenly distributed.
constexpr size_t kLookedAt = 512;
// A part is named if it explains this share of the additional time.
constexpr double kWorthNaming = 0.05;
constexpr char kComputes[] = "computing between calls";
constexpr char kSleeps[] = "waiting outside between calls";
constexpr char kWaitsForCpu[] = "waiting for a CPU";

// Avoids overflow, since an untrusted file may have any times.
double Apart(int64_t from_ns, int64_t to_ns) {
  return static_cast<double>(to_ns) - static_cast<double>(from_ns);
}

struct Sum {
  double ns = 0, count = 0, bytes = 0;
};
using Sums = std::map<std::string, Sum>;

class Finding {
 public:
  explicit Finding(const model::Model& model) : model_(model), off_cpu_(model.system.runs) {
    const model::ApiCalls& api = model.api;
    for (uint32_t call = 0; call < api.size(); ++call) {
      if (!api.open[call]) calls_[api.tid[call]].push_back(call);
    }
    for (auto& [tid, calls] : calls_) {
      std::stable_sort(calls.begin(), calls.end(),
                       [&](uint32_t a, uint32_t b) { return api.begin_ns[a] < api.begin_ns[b]; });
    }
    for (uint32_t job = 0; job < model.jobs.size(); ++job) {
      if (model.jobs.api_row[job] != model::kNoRow) jobs_[model.jobs.api_row[job]].push_back(job);
    }
  }

  // Returns false if none of them is slow.
  bool Compare(std::vector<uint32_t> ranges, SlowRanges* found) {
    std::sort(ranges.begin(), ranges.end(),
              [this](uint32_t a, uint32_t b) { return Length(a) < Length(b); });
    const size_t half = ranges.size() / 2, slow = std::max<size_t>(1, ranges.size() / 20);
    const std::vector<uint32_t> usual(ranges.begin(),
                                      ranges.begin() + static_cast<ptrdiff_t>(half));
    const std::vector<uint32_t> slowest(ranges.end() - static_cast<ptrdiff_t>(slow), ranges.end());
    found->count = ranges.size(), found->slow = slow;
    found->median_ns = Length(ranges[half]), found->slow_ns = Length(slowest.front());
    found->longest_ns = Length(ranges.back());
    if (static_cast<double>(found->slow_ns) <
        SlowRanges::kSlow * static_cast<double>(found->median_ns)) {
      return false;
    }
    Sums host[2], device[2];
    const double longer_ns = Add(slowest, &host[0], &device[0]) - Add(usual, &host[1], &device[1]);
    found->host = Parts(host, longer_ns), found->device = Parts(device, longer_ns);
    return true;
  }

 private:
  int64_t Length(uint32_t range) const {
    int64_t length_ns;
    return __builtin_sub_overflow(model_.ranges.end_ns[range], model_.ranges.begin_ns[range],
                                  &length_ns)
               ? INT64_MAX
               : length_ns;
  }

  // Computes averages; returns that of the lengths.
  double Add(const std::vector<uint32_t>& ranges, Sums* host, Sums* device) const {
    const size_t step = (ranges.size() + kLookedAt - 1) / kLookedAt;
    double count = 0, all_ns = 0;
    for (size_t i = 0; i < ranges.size(); i += step, ++count) {
      AddRange(ranges[i], host, device);
      all_ns += static_cast<double>(Length(ranges[i]));
    }
    for (Sums* sums : {host, device}) {
      for (auto& [name, sum] : *sums) sum.ns /= count, sum.count /= count, sum.bytes /= count;
    }
    return all_ns / count;
  }

  void AddRange(uint32_t range, Sums* host, Sums* device) const {
    const model::ApiCalls& api = model_.api;
    const uint32_t tid = model_.ranges.tid[range];
    int64_t at_ns = model_.ranges.begin_ns[range];
    const int64_t end_ns = model_.ranges.end_ns[range];
    if (const auto calls = calls_.find(tid); calls != calls_.end()) {
      auto call = std::lower_bound(calls->second.begin(), calls->second.end(), at_ns,
                                   [&](uint32_t c, int64_t ns) { return api.begin_ns[c] < ns; });
      for (; call != calls->second.end() && api.end_ns[*call] <= end_ns; ++call) {
        if (api.begin_ns[*call] < at_ns) continue;  // within the previous one
        AddBetween(tid, at_ns, api.begin_ns[*call], host);
        Sum& sum = (*host)[model_.strings.Get(api.name[*call])];
        sum.ns += Apart(api.begin_ns[*call], api.end_ns[*call]), ++sum.count;
        at_ns = api.end_ns[*call];
        AddJobs(*call, device);
      }
    }
    AddBetween(tid, at_ns, end_ns, host);
  }

  void AddBetween(uint32_t tid, int64_t from_ns, int64_t to_ns, Sums* host) const {
    if (to_ns <= from_ns) return;
    const auto slept = static_cast<double>(off_cpu_.Between(OffCpu::kAsleep, tid, from_ns, to_ns));
    const auto waited =
        static_cast<double>(off_cpu_.Between(OffCpu::kWaiting, tid, from_ns, to_ns));
    if (slept > 0) (*host)[kSleeps].ns += slept;
    if (waited > 0) (*host)[kWaitsForCpu].ns += waited;
    (*host)[kComputes].ns += Apart(from_ns, to_ns) - slept - waited;
  }

  void AddJobs(uint32_t call, Sums* device) const {
    const auto jobs = jobs_.find(call);
    if (jobs == jobs_.end()) return;
    const model::Commands& commands = model_.commands;
    for (const uint32_t job : jobs->second) {
      const uint32_t first = model_.jobs.first_command[job];
      for (uint32_t c = first; c < first + model_.jobs.num_commands[job]; ++c) {
        Sum& sum = (*device)[model_.OpName(c)];
        sum.ns += Apart(commands.start.host[c].mid_ns, commands.end.host[c].mid_ns);
        sum.bytes += static_cast<double>(commands.bytes[c]), ++sum.count;
      }
    }
  }

  static std::vector<SlowRangePart> Parts(const Sums (&sums)[2], double longer_ns) {
    std::vector<SlowRangePart> parts;
    for (const auto& [name, slow] : sums[0]) {
      const auto found = sums[1].find(name);
      const Sum usual = found == sums[1].end() ? Sum{} : found->second;
      SlowRangePart part = {name,        slow.ns,    usual.ns,   slow.count,
                            usual.count, slow.bytes, usual.bytes};
      if (part.MoreNs() > kWorthNaming * longer_ns) parts.push_back(std::move(part));
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.MoreNs() > b.MoreNs(); });
    if (parts.size() > SlowRanges::kMostParts) parts.resize(SlowRanges::kMostParts);
    return parts;
  }

  const model::Model& model_;
  const OffCpu off_cpu_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> calls_;  // by thread, in order of time
  std::unordered_map<uint32_t, std::vector<uint32_t>> jobs_;   // by call
};

}  // namespace

std::vector<SlowRanges> FindSlowRanges(const model::Model& model) {
  const model::Ranges& ranges = model.ranges;
  std::vector<std::string_view> names;
  std::vector<uint32_t> whole;
  for (uint32_t r = 0; r < ranges.size(); ++r) {
    if (ranges.mark[r] || ranges.open[r] || ranges.began_before[r]) continue;
    whole.push_back(r);
    names.push_back(model.strings.Get(ranges.name[r]));
  }
  if (whole.size() < SlowRanges::kFewest) return {};
  const NameGroups groups(true, names);
  std::map<std::string, std::vector<uint32_t>> by_name;
  for (const uint32_t r : whole) {
    std::string name = groups.Of(model.strings.Get(ranges.name[r]));
    if (by_name.size() < kMaxNamedRows || by_name.contains(name)) by_name[name].push_back(r);
  }
  std::vector<SlowRanges> all;
  Finding finding(model);
  for (auto& [name, rows] : by_name) {
    if (rows.size() < SlowRanges::kFewest) continue;
    SlowRanges found;
    found.name = name;
    if (finding.Compare(std::move(rows), &found)) all.push_back(std::move(found));
  }
  const auto cost = [](const SlowRanges& of) {
    return static_cast<double>(of.slow) * Apart(of.median_ns, of.slow_ns);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return cost(a) > cost(b); });
  return all;
}

}  // namespace acceltrace::analysis
