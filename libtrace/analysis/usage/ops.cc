// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/names.h"

namespace acceltrace::analysis {
namespace {

// The commands of one op on one unit.
struct OpSum {
  OpUse use;
  UnitSum time;
  Amount busy;
  std::map<uint32_t, Amount> limiters;  // head to end
};

// Identifies an op without its name: device, unit, op and opcode.
using Number = std::array<uint32_t, 4>;

// Numbers the ops in the order in which they occur.
class OpPlaces {
 public:
  uint32_t Of(const Number& number) {
    // Commands of the same op tend to follow each other or alternate, so a small cache suffices.
    Recent& recent = recent_[(37 * number[1] + (number[2] ^ number[3])) % recent_.size()];
    if (!recent.any || recent.number != number) {
      const auto next = static_cast<uint32_t>(places_.size());
      recent = {number, places_.try_emplace(number, next).first->second, true};
    }
    return recent.place;
  }

 private:
  struct Recent {
    Number number{};
    uint32_t place = 0;
    bool any = false;
  };
  std::map<Number, uint32_t> places_;
  std::array<Recent, 256> recent_;
};

// An op, and one of its commands.
struct PlacedOp {
  uint32_t device, unit, row;
};

// Returns how much of the time since its start it was busy.
Amount BusyOf(const PassedCommand& command) {
  // The clock was set anew meanwhile, so that the ticks without stalls are meaningless.
  if (!command.busy_ticks || !command.start.SameEpoch(command.end)) return {0, 0, command.ran.hi};
  const auto ticks = static_cast<double>(*command.busy_ticks);
  return Durations::Of(ticks - kPartOverTicks, ticks, ticks + kPartUnderTicks, command.ran_rate)
      .Within(command.ran);
}

// A command, as the tables need it.
struct Command {
  const PassedCommand& of;
  uint32_t op;  // number of the op
  Span one;
  Amount held, busy;
};

// Selects what limited most of the time of the op's commands, which need not be most of the
// commands.
void SetLimiter(const model::Device& device, const OpSum& sum, OpUse* use) {
  const auto most =
      std::max_element(sum.limiters.begin(), sum.limiters.end(),
                       [](const auto& a, const auto& b) { return a.second.mid < b.second.mid; });
  use->limiter = device.LimiterName(most->first);
  use->limiter_time = most->second;
}

// Sums up ops by name, or by the names of their groups.
class OpTable {
 public:
  // `ops` are indexed by their numbers.
  OpTable(const model::Model& model, const std::vector<Durations>& times,
          const std::vector<PlacedOp>& ops, bool fold)
      : model_(model), times_(times), sums_(ops.size()) {
    std::vector<std::string_view> names;
    for (const PlacedOp& op : ops) names.push_back(model.OpName(op.row));
    const NameGroups groups(fold, names);
    // Process them unit by unit, since ops beyond the limit share a row.
    std::vector<uint32_t> order(ops.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::tie(ops[a].device, ops[a].unit) < std::tie(ops[b].device, ops[b].unit);
    });
    for (const uint32_t i : order) sums_[i] = &Find(ops[i], groups);
  }

  void Add(const Command& command) {
    OpSum& sum = *sums_[command.op];
    OpUse& use = sum.use;
    const PassedCommand& of = command.of;
    ++use.count;
    use.failed += of.status != 0;
    use.work += of.work;
    use.bytes += of.bytes;
    use.memory_bytes += of.memory_bytes;
    sum.time.Add(of.start, of.end, of.ran_rate);
    const Span& one = command.one;
    if (one.mid_ns >= use.longest.mid_ns) use.longest.mid_ns = one.mid_ns;
    use.longest.lo_ns = std::max(use.longest.lo_ns, one.lo_ns);
    use.longest.hi_ns = std::max(use.longest.hi_ns, one.hi_ns);
    use.held += command.held;
    sum.busy += command.busy;
    sum.limiters[of.limiter] += command.held;
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
  OpSum& Find(const PlacedOp& op, const NameGroups& groups) {
    auto key = std::make_tuple(op.device, op.unit, groups.Of(model_.OpName(op.row)));
    if (by_key_.size() >= kMaxNamedRows && !by_key_.contains(key)) std::get<2>(key) = kOtherNames;
    return by_key_.try_emplace(key, OpSum{{}, UnitSum(&times_[op.device]), {}, {}}).first->second;
  }

  const model::Model& model_;
  const std::vector<Durations>& times_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, OpSum> by_key_;
  std::vector<OpSum*> sums_;  // by number of the op
};

// A first pass finds the ops, since their names must be known before they are summed up.
class Sums : public OpsSum {
 public:
  Sums(const CommandPass& pass, bool groups) {
    const model::Commands& commands = pass.model().commands;
    Cursor<uint32_t> device(commands.device), unit(commands.unit), op(commands.op),
        opcode(commands.opcode);
    std::vector<PlacedOp> ops;
    for (size_t i = 0; i < pass.size(); ++i) {
      const uint32_t row = pass.RowAt(i);
      const Number number = {device[row], unit[row], op[row], opcode[row]};
      if (places_.Of(number) == ops.size()) ops.push_back({number[0], number[1], row});
    }
    tables_.emplace_back(pass.model(), pass.times(), ops, false);
    if (groups) tables_.emplace_back(pass.model(), pass.times(), ops, true);
  }

  void Add(const PassedCommand& of) override {
    Command command{of, places_.Of({of.device, of.unit, of.op, of.opcode}), of.ran.Round(), of.ran,
                    BusyOf(of)};
    command.held += of.waited;
    for (OpTable& table : tables_) table.Add(command);
  }

  Ops Finish() override {
    return {tables_[0].Finish(), tables_.size() > 1 ? tables_[1].Finish() : std::vector<OpUse>()};
  }

 private:
  OpPlaces places_;
  std::vector<OpTable> tables_;
};

Ops Compute(const model::Model& model, bool groups) {
  const CommandPass pass(model);
  const std::unique_ptr<OpsSum> sum = SumOps(pass, groups);
  CommandSum* const sums[] = {sum.get()};
  pass.Run(sums);
  return sum->Finish();
}

}  // namespace

std::unique_ptr<OpsSum> SumOps(const CommandPass& pass, bool groups) {
  return std::make_unique<Sums>(pass, groups);
}

Ops ComputeOps(const model::Model& model) { return Compute(model, true); }
std::vector<OpUse> ComputeOpsByName(const model::Model& model) {
  return Compute(model, false).by_name;
}

}  // namespace acceltrace::analysis
