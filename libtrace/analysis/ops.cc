// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/ops.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "libtrace/analysis/durations.h"
#include "libtrace/analysis/names.h"

namespace acceltrace::analysis {
namespace {

// The commands of one op on one unit.
struct OpSum {
  OpUse use;
  UnitSum time;
  Amount busy;
  std::map<uint32_t, Amount> limiters;  // head to end
};

Amount BusyOf(const model::Model& model, const Durations& time, size_t command) {
  const Mark start = MarkOf(model.commands.start, command);
  const Mark end = MarkOf(model.commands.end, command);
  const Amount ran = time.Elapsed(start, end);
  const auto busy = model.BusyTicks(command);
  // The clock was set anew meanwhile: what the stalls leave is anything.
  if (!busy || !start.SameEpoch(end)) return {0, 0, ran.hi};
  const auto ticks = static_cast<double>(*busy);
  return time.Of(ticks - kPartOverTicks, ticks, ticks + kPartUnderTicks, start, end).Within(ran);
}

// What set the pace of most of the time that the op's commands took: not of most of them.
void TellLimiter(const model::Device& device, const OpSum& sum, OpUse* use) {
  const auto most =
      std::max_element(sum.limiters.begin(), sum.limiters.end(),
                       [](const auto& a, const auto& b) { return a.second.mid < b.second.mid; });
  use->limiter = device.LimiterName(most->first);
  use->limiter_time = most->second;
}

}  // namespace

std::vector<OpUse> ComputeOps(const model::Model& model, bool fold) {
  const model::Commands& commands = model.commands;
  std::set<std::string> names;
  for (size_t i = 0; i < commands.size(); ++i) names.insert(model.OpName(i));
  const NameGroups groups(fold, {names.begin(), names.end()});
  const std::vector<Durations> times(model.devices.begin(), model.devices.end());
  std::map<std::tuple<uint32_t, uint32_t, std::string>, OpSum> by_key;
  const std::vector<size_t> rows = RowsByStart(model);
  const Waits waits(model, rows, times);
  for (size_t i : rows) {
    const Durations& time = times[commands.device[i]];
    auto key = std::make_tuple(commands.device[i], commands.unit[i], groups.Of(model.OpName(i)));
    if (by_key.size() >= kMaxNamedRows && !by_key.contains(key)) std::get<2>(key) = kOtherNames;
    OpSum& sum = by_key.try_emplace(key, OpSum{{}, UnitSum(&time), {}, {}}).first->second;
    OpUse& use = sum.use;
    const Mark start = MarkOf(commands.start, i), end = MarkOf(commands.end, i);
    ++use.count;
    use.failed += commands.status[i] != 0;
    use.work += commands.work[i];
    use.bytes += commands.bytes[i];
    use.memory_bytes += commands.memory_bytes[i];
    sum.time.Add(start, end);
    const Span one = time.Between(start, end);
    if (one.mid_ns >= use.longest.mid_ns) use.longest.mid_ns = one.mid_ns;
    use.longest.lo_ns = std::max(use.longest.lo_ns, one.lo_ns);
    use.longest.hi_ns = std::max(use.longest.hi_ns, one.hi_ns);
    Amount held = time.Elapsed(start, end);
    held += waits.Of(i);
    use.held += held;
    sum.busy += BusyOf(model, time, i);
    sum.limiters[commands.limiter[i]] += held;
  }
  std::vector<Amount> device_time(model.devices.size());
  for (auto& [key, sum] : by_key) {
    sum.use.time = sum.time.sum();
    device_time[std::get<0>(key)] += sum.use.time;
  }
  std::vector<OpUse> ops;
  for (auto& [key, sum] : by_key) {
    const auto& [device_row, unit, name] = key;
    const model::Device& device = model.devices[device_row];
    OpUse& use = sum.use;
    use.device = device_row;
    use.name = name;
    use.unit = device.UnitName(unit);
    TellLimiter(device, sum, &use);
    use.share = ShareOfSum(use.time, device_time[device_row]);
    use.busy_share = ShareOf(sum.busy, use.held);
    use.work_per_s = PerSecond(static_cast<double>(use.work), use.time);
    use.peak_share =
        OfPeak(use.work_per_s, device.about.units(static_cast<int>(unit)).peak_work_per_s());
    ops.push_back(std::move(use));
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const OpUse& a, const OpUse& b) { return a.time.mid > b.time.mid; });
  return ops;
}

}  // namespace acceltrace::analysis
