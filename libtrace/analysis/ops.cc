// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/ops.h"

#include <algorithm>
#include <array>
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
void SetLimiter(const model::Device& device, const OpSum& sum, OpUse* use) {
  const auto most =
      std::max_element(sum.limiters.begin(), sum.limiters.end(),
                       [](const auto& a, const auto& b) { return a.second.mid < b.second.mid; });
  use->limiter = device.LimiterName(most->first);
  use->limiter_time = most->second;
}

// By name, or by the names of their groups.
class OpTable {
 public:
  OpTable(const model::Model& model, const std::vector<Durations>& times, bool fold)
      : model_(model),
        times_(times),
        groups_(fold, fold ? Names() : std::vector<std::string_view>()) {}

  void Add(size_t i, const Mark& start, const Mark& end, const Span& one, const Amount& held,
           const Amount& busy) {
    const model::Commands& commands = model_.commands;
    OpSum& sum = SumOf(i);
    OpUse& use = sum.use;
    ++use.count;
    use.failed += commands.status[i] != 0;
    use.work += commands.work[i];
    use.bytes += commands.bytes[i];
    use.memory_bytes += commands.memory_bytes[i];
    sum.time.Add(start, end);
    if (one.mid_ns >= use.longest.mid_ns) use.longest.mid_ns = one.mid_ns;
    use.longest.lo_ns = std::max(use.longest.lo_ns, one.lo_ns);
    use.longest.hi_ns = std::max(use.longest.hi_ns, one.hi_ns);
    use.held += held;
    sum.busy += busy;
    sum.limiters[commands.limiter[i]] += held;
  }

  std::vector<OpUse> Finish() {
    std::vector<Amount> device_time(model_.devices.size());
    for (auto& [key, sum] : by_key_) {
      sum.use.time = sum.time.sum();
      device_time[std::get<0>(key)] += sum.use.time;
    }
    std::vector<OpUse> ops;
    for (auto& [key, sum] : by_key_) {
      const auto& [device_row, unit, name] = key;
      const model::Device& device = model_.devices[device_row];
      OpUse& use = sum.use;
      use.device = device_row;
      use.name = name;
      use.unit = device.UnitName(unit);
      SetLimiter(device, sum, &use);
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

 private:
  // What distinguishes an op without its name.
  using Number = std::array<uint32_t, 4>;
  Number NumberOf(size_t i) const {
    const model::Commands& commands = model_.commands;
    return {commands.device[i], commands.unit[i], commands.op[i], commands.opcode[i]};
  }

  std::vector<std::string_view> Names() const {
    std::map<Number, size_t> rows;
    for (size_t i = 0; i < model_.commands.size(); ++i) rows.try_emplace(NumberOf(i), i);
    std::vector<std::string_view> names;
    for (const auto& [number, row] : rows) names.push_back(model_.OpName(row));
    return names;
  }

  OpSum& SumOf(size_t i) {
    OpSum*& known = by_number_[NumberOf(i)];
    if (known != nullptr) return *known;
    const model::Commands& commands = model_.commands;
    auto key = std::make_tuple(commands.device[i], commands.unit[i], groups_.Of(model_.OpName(i)));
    if (by_key_.size() >= kMaxNamedRows && !by_key_.contains(key)) std::get<2>(key) = kOtherNames;
    const Durations& time = times_[commands.device[i]];
    known = &by_key_.try_emplace(key, OpSum{{}, UnitSum(&time), {}, {}}).first->second;
    return *known;
  }

  const model::Model& model_;
  const std::vector<Durations>& times_;
  const NameGroups groups_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, OpSum> by_key_;
  std::map<Number, OpSum*> by_number_;
};

}  // namespace

Ops ComputeOps(const model::Model& model) {
  const model::Commands& commands = model.commands;
  const std::vector<Durations> times(model.devices.begin(), model.devices.end());
  OpTable by_name(model, times, false), by_group(model, times, true);
  const std::vector<uint32_t> rows = RowsByStart(model);
  const Waits waits(model, rows, times);
  for (size_t i : rows) {
    const Durations& time = times[commands.device[i]];
    const Mark start = MarkOf(commands.start, i), end = MarkOf(commands.end, i);
    const Span one = time.Between(start, end);
    Amount held = time.Elapsed(start, end);
    held += waits.Of(i);
    const Amount busy = BusyOf(model, time, i);
    by_name.Add(i, start, end, one, held, busy);
    by_group.Add(i, start, end, one, held, busy);
  }
  return {by_name.Finish(), by_group.Finish()};
}

}  // namespace acceltrace::analysis
