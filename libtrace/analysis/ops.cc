// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "libtrace/analysis/command_cursor.h"
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

// Columns of commands, read in order.
struct Columns : CommandCursor {
  explicit Columns(const model::Model& model)
      : CommandCursor(model),
        unit(model.commands.unit),
        op(model.commands.op),
        opcode(model.commands.opcode),
        status(model.commands.status),
        limiter(model.commands.limiter),
        work(model.commands.work),
        bytes(model.commands.bytes),
        memory_bytes(model.commands.memory_bytes) {}
  Cursor<uint32_t> unit, op, opcode, status, limiter;
  Cursor<uint64_t> work, bytes, memory_bytes;
};

// One command, as the tables take it.
struct Command {
  size_t row = 0;
  std::array<uint32_t, 4> number{};  // what distinguishes its op, but for the name
  uint32_t status = 0, limiter = 0;
  uint64_t work = 0, bytes = 0, memory_bytes = 0;
  Mark start, end;
  Rate rate;  // between them
  Span one;
  Amount held, busy;
};

// ran: from the command's start to its end.
Amount BusyOf(Columns* columns, const Command& command, const Mark& head, const Amount& ran) {
  const auto busy = columns->BusyTicks(command.row, head, command.end);
  // The clock was set anew meanwhile: what the stalls leave is anything.
  if (!busy || !command.start.SameEpoch(command.end)) return {0, 0, ran.hi};
  const auto ticks = static_cast<double>(*busy);
  return Durations::Of(ticks - kPartOverTicks, ticks, ticks + kPartUnderTicks, command.rate)
      .Within(ran);
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

  void Add(const Command& command) {
    OpSum& sum = SumOf(command);
    OpUse& use = sum.use;
    ++use.count;
    use.failed += command.status != 0;
    use.work += command.work;
    use.bytes += command.bytes;
    use.memory_bytes += command.memory_bytes;
    sum.time.Add(command.start, command.end, command.rate);
    const Span& one = command.one;
    if (one.mid_ns >= use.longest.mid_ns) use.longest.mid_ns = one.mid_ns;
    use.longest.lo_ns = std::max(use.longest.lo_ns, one.lo_ns);
    use.longest.hi_ns = std::max(use.longest.hi_ns, one.hi_ns);
    use.held += command.held;
    sum.busy += command.busy;
    sum.limiters[command.limiter] += command.held;
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

  OpSum& SumOf(const Command& command) {
    // Those of one op come one after the other more often than not, or take turns.
    const auto& [device, unit, op, opcode] = command.number;
    Recent& recent = recent_[(op ^ opcode) % recent_.size()];
    if (recent.sum != nullptr && recent.number == command.number) return *recent.sum;
    OpSum*& known = by_number_[command.number];
    if (known == nullptr) known = &Find(device, unit, command.row);
    recent = {command.number, known};
    return *known;
  }

  OpSum& Find(uint32_t device, uint32_t unit, size_t row) {
    auto key = std::make_tuple(device, unit, groups_.Of(model_.OpName(row)));
    if (by_key_.size() >= kMaxNamedRows && !by_key_.contains(key)) std::get<2>(key) = kOtherNames;
    return by_key_.try_emplace(key, OpSum{{}, UnitSum(&times_[device]), {}, {}}).first->second;
  }

  struct Recent {
    Number number{};
    OpSum* sum = nullptr;
  };
  const model::Model& model_;
  const std::vector<Durations>& times_;
  const NameGroups groups_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, OpSum> by_key_;
  std::map<Number, OpSum*> by_number_;
  std::array<Recent, 64> recent_;
};

}  // namespace

Ops ComputeOps(const model::Model& model) {
  const std::vector<Durations> times(model.devices.begin(), model.devices.end());
  OpTable by_name(model, times, false), by_group(model, times, true);
  const std::vector<uint32_t> rows = RowsByStart(model);
  const Waits waits(model, rows, times);
  const auto columns = std::make_unique<Columns>(model);
  Command command;
  for (const uint32_t i : rows) {
    const uint32_t device = columns->device[i];
    const Durations& time = times[device];
    const Mark head = columns->head[i];
    command.row = i;
    command.number = {device, columns->unit[i], columns->op[i], columns->opcode[i]};
    command.status = columns->status[i], command.limiter = columns->limiter[i];
    command.work = columns->work[i], command.bytes = columns->bytes[i];
    command.memory_bytes = columns->memory_bytes[i];
    command.start = columns->start[i], command.end = columns->end[i];
    command.rate = time.RateBetween(command.start, command.end);
    const Amount ran = time.Elapsed(command.start, command.end, command.rate);
    command.one = ran.Round();
    command.held = ran;
    command.held += waits.Of(i, head, command.start);
    command.busy = BusyOf(columns.get(), command, head, ran);
    by_name.Add(command);
    by_group.Add(command);
  }
  return {by_name.Finish(), by_group.Finish()};
}

}  // namespace acceltrace::analysis
