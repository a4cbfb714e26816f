// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
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

// What distinguishes an op without its name: device, unit, op, opcode.
using Number = std::array<uint32_t, 4>;

// Ops that differ in that, in the order in which they are seen.
class OpPlaces {
 public:
  uint32_t Of(const Number& number) {
    // Those of one op come one after the other more often than not, or take turns.
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

// One of them, and a command of it.
struct PlacedOp {
  uint32_t device, unit, row;
};

// One command, as the tables take it.
struct Command {
  size_t row = 0;
  uint32_t op = 0;  // its place
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
  // ops: by their places.
  OpTable(const model::Model& model, const std::vector<Durations>& times,
          const std::vector<PlacedOp>& ops, bool fold)
      : model_(model), times_(times), sums_(ops.size()) {
    std::vector<std::string_view> names;
    for (const PlacedOp& op : ops) names.push_back(model.OpName(op.row));
    const NameGroups groups(fold, names);
    // Unit by unit, whatever the order in which they were seen: who comes late gets no row of its
    // own.
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
  OpSum& Find(const PlacedOp& op, const NameGroups& groups) {
    auto key = std::make_tuple(op.device, op.unit, groups.Of(model_.OpName(op.row)));
    if (by_key_.size() >= kMaxNamedRows && !by_key_.contains(key)) std::get<2>(key) = kOtherNames;
    return by_key_.try_emplace(key, OpSum{{}, UnitSum(&times_[op.device]), {}, {}}).first->second;
  }

  const model::Model& model_;
  const std::vector<Durations>& times_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, OpSum> by_key_;
  std::vector<OpSum*> sums_;  // by place
};

// All commands once to find the ops, and once for what they took.
class OpPass {
 public:
  explicit OpPass(const model::Model& model)
      : model_(model),
        times_(model.devices.begin(), model.devices.end()),
        rows_(RowsByStart(model)),
        rise_(RowsRise(model.commands, rows_)) {
    const model::Commands& commands = model.commands;
    Cursor<uint32_t> device(commands.device), unit(commands.unit), op(commands.op),
        opcode(commands.opcode);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint32_t row = RowAt(i);
      const Number number = {device[row], unit[row], op[row], opcode[row]};
      if (places_.Of(number) == ops_.size()) ops_.push_back({number[0], number[1], row});
    }
  }

  OpTable Table(bool fold) const { return {model_, times_, ops_, fold}; }
  void Fill(std::span<OpTable> tables);

 private:
  uint32_t RowAt(size_t i) const { return rise_ ? static_cast<uint32_t>(i) : rows_[i]; }

  const model::Model& model_;
  const std::vector<Durations> times_;
  const std::vector<uint32_t> rows_;
  const bool rise_;
  OpPlaces places_;
  std::vector<PlacedOp> ops_;
};

void OpPass::Fill(std::span<OpTable> tables) {
  const Waits waits(model_, rows_, times_);
  const auto columns = std::make_unique<Columns>(model_);
  Command command;
  for (size_t n = 0; n < rows_.size(); ++n) {
    const uint32_t i = RowAt(n), device = columns->device[i];
    const Durations& time = times_[device];
    const Mark head = columns->head[i];
    command.row = i;
    command.op = places_.Of({device, columns->unit[i], columns->op[i], columns->opcode[i]});
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
    for (OpTable& table : tables) table.Add(command);
  }
}

}  // namespace

Ops ComputeOps(const model::Model& model) {
  OpPass pass(model);
  OpTable tables[] = {pass.Table(false), pass.Table(true)};
  pass.Fill(tables);
  return {tables[0].Finish(), tables[1].Finish()};
}

std::vector<OpUse> ComputeOpsByName(const model::Model& model) {
  OpPass pass(model);
  OpTable table = pass.Table(false);
  pass.Fill({&table, 1});
  return table.Finish();
}

}  // namespace acceltrace::analysis
