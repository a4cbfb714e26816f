// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/usage/demand.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_map>

#include "libtrace/analysis/rows/cursor.h"
#include "libtrace/analysis/rows/durations.h"
#include "libtrace/analysis/rows/radix.h"

namespace acceltrace::analysis {
namespace {

// Hardly any device memory takes longer than this for its first access or for opening a row. A
// longer stall has another cause, unless the command is so small that nothing else takes as long.
constexpr double kMaxMemoryLatencyNs = 500, kMaxRowNs = 120;
constexpr double kMostLatencyNs = 20'000;
// Well above the time of the slowest on-chip memory.
constexpr double kSlowestNsPerByte = 1;
// If opening a row takes longer than this, all of them are in one bank and are opened sequentially.
constexpr double kOneBankNs = 12;
// Bytes on the wire for each packet in addition to its payload: header, framing and
// acknowledgement.
constexpr double kPacketBytes = 17;
constexpr uint32_t kUsualReadBytes = 512;

// A command's times in ns, by the kind of stall.
struct Times {
  double took = 0, busy = 0, memory = 0, link = 0, tags = 0, dispatch = 0, throttle = 0;
};

class Demands {
 public:
  Demands(const model::Model& model, const std::vector<double>& link_latency_ns,
          std::vector<DeviceRates>* rates)
      : model_(model), at_(model), rates_(*rates) {
    const size_t n = model.devices.size();
    rates_.assign(n, {});
    kinds_.resize(n);
    for (size_t d = 0; d < n; ++d) {
      const proto::Device& about = model.devices[d].about;
      for (int s = 0; s < about.stalls_size(); ++s) kinds_[d].push_back(StallKindOf(about, s));
      for (const proto::Unit& unit : about.units()) rates_[d].units.push_back(unit.kind());
      if (about.memory_bytes_per_s() > 0) {
        rates_[d].memory_ns_per_byte = 1e9 / static_cast<double>(about.memory_bytes_per_s());
      }
      if (d < link_latency_ns.size()) rates_[d].link_latency_ns = link_latency_ns[d];
      if (about.clock().nominal_hz() > 0) {
        rates_[d].ns_per_tick = 1e9 / static_cast<double>(about.clock().nominal_hz());
      }
    }
  }

  std::vector<Demand> Run() {
    const size_t n = model_.commands.size();
    FindMemoryLatency();
    FindBeside();
    FindMemoryRate();
    FindAlone();
    std::vector<Demand> demands(n);
    for (size_t i = 0; i < n; ++i) demands[i] = Of(i);
    FindLinkRates(demands);
    for (size_t i = 0; i < n; ++i) FillLink(i, &demands[i]);
    FindTags(demands);
    for (size_t i = 0; i < n; ++i) FillTags(i, &demands[i]);
    return demands;
  }

 private:
  proto::Unit::Kind KindOf(size_t i) const {
    const auto& units = rates_[at_.device[i]].units;
    const uint32_t unit = at_.unit[i];
    return unit < units.size() ? units[unit] : proto::Unit::KIND_UNKNOWN;
  }

  Times TimesOf(size_t i) const {
    const uint32_t device = at_.device[i];
    const double tick = rates_[device].ns_per_tick;
    Times times;
    if (at_.start.epoch[i] != at_.end.epoch[i]) return times;
    times.took = static_cast<double>(at_.end.ticks[i] - at_.start.ticks[i]) * tick;
    const uint32_t first_stall = at_.first_stall[i];
    if (first_stall == model::kNoRow) {  // there are no stall ticks
      times.busy = std::max(0.0, times.took);
      return times;
    }
    double stalled = 0;
    for (size_t s = 0; s < kinds_[device].size(); ++s) {
      const double ns = static_cast<double>(at_.stall_ticks[first_stall + s]) * tick;
      switch (kinds_[device][s]) {
        case proto::Device::STALL_WAIT:
          continue;  // happened before its start
        case proto::Device::STALL_MEMORY:
          times.memory += ns;
          break;
        case proto::Device::STALL_LINK:
          times.link += ns;
          break;
        case proto::Device::STALL_TAGS:
          times.tags += ns;
          break;
        case proto::Device::STALL_DISPATCH:
          times.dispatch += ns;
          break;
        case proto::Device::STALL_THROTTLE:
          times.throttle += ns;
          break;
        default:
          break;
      }
      stalled += ns;
    }
    times.busy = std::max(0.0, times.took - stalled);
    return times;
  }

  double BusNs(size_t i) const {
    return static_cast<double>(at_.memory_bytes[i]) * rates_[at_.device[i]].memory_ns_per_byte;
  }

  // Guesses why a command is stalled that does not use the device's memory. If the stall is a
  // sizeable part of the time that it computes, it is due to the on-chip memory's bandwidth. If the
  // command computes much longer than that or hardly at all, it is a first access, unless it is
  // longer than any first access.
  static bool MayStream(const Times& times) {
    if (times.memory > kMaxMemoryLatencyNs) return true;
    return times.memory > kHardly * times.busy && times.memory < times.busy;
  }
  static constexpr double kHardly = 0.1;

  // Returns true if its bytes (for on-chip memory, at most four per operation) and the rows that it
  // opened take less than half of that time.
  bool IsTooSmallFor(size_t i, double ns) const {
    if (at_.memory_bytes[i] == 0) return false;
    const auto bytes = static_cast<double>(
        std::max({uint64_t{at_.bytes[i]}, uint64_t{at_.memory_bytes[i]}, 4 * at_.work[i]}));
    return 2 * (bytes * kSlowestNsPerByte + at_.row_misses[i] * kMaxRowNs) < ns;
  }

  // Finds the shortest stall of a command for the memory, as far as its bytes leave time for it. If
  // no command shows a first access, the latency is not known and taken as 0.
  void FindMemoryLatency() {
    std::vector<double> least(rates_.size(), kMostLatencyNs);
    std::vector<bool> any(rates_.size()), small(rates_.size());
    for (size_t i = 0; i < model_.commands.size(); ++i) {
      if (KindOf(i) == proto::Unit::KIND_DMA_TO_DEVICE || at_.status[i] != 0) continue;
      const Times times = TimesOf(i);
      const double room = times.took - times.dispatch - std::max(times.busy, BusNs(i));
      const double latency = std::min(times.memory, room);
      if (latency <= 0 || (at_.memory_bytes[i] == 0 && MayStream(times))) continue;
      const uint32_t device = at_.device[i];
      least[device] = std::min(least[device], latency);
      any[device] = true;
      if (IsTooSmallFor(i, latency)) small[device] = true;
    }
    for (size_t d = 0; d < rates_.size(); ++d) {
      if (!small[d]) least[d] = std::min(least[d], kMaxMemoryLatencyNs);
      if (any[d]) rates_[d].memory_latency_ns = least[d];
    }
  }

  // The memory may be slower than reported: then no command was faster that streams through open
  // rows and was delayed only by the memory. Commands that run at the same time share it.
  void FindMemoryRate() {
    std::vector<double> least(rates_.size(), std::numeric_limits<double>::infinity());
    const model::Commands& commands = model_.commands;
    for (size_t i = 0; i < commands.size(); ++i) {
      const uint64_t bursts = uint64_t{at_.row_hits[i]} + at_.row_misses[i];
      const bool streams =
          at_.memory_bytes[i] >= kStreamBytes && at_.row_misses[i] * 16ull <= bursts;
      if (!streams || KindOf(i) == proto::Unit::KIND_DMA_TO_DEVICE) continue;
      const Times times = TimesOf(i);
      DeviceRates& rates = rates_[at_.device[i]];
      const double ns = times.took - times.dispatch - rates.memory_latency_ns;
      if (times.memory - rates.memory_latency_ns < 0.02 * ns) continue;
      if (times.link + times.tags > 0.02 * ns) continue;
      double& known = least[at_.device[i]];
      const double users = 1.0 + beside_[i];
      known = std::min(known, ns / users / static_cast<double>(at_.memory_bytes[i]));
    }
    for (size_t d = 0; d < rates_.size(); ++d) {
      if (least[d] > 1.02 * rates_[d].memory_ns_per_byte && std::isfinite(least[d])) {
        rates_[d].memory_ns_per_byte = least[d];
      }
    }
  }
  static constexpr uint64_t kStreamBytes = 4096;

  // A command takes longer if others run beside it: the shortest time of similar commands is what
  // it takes alone.
  uint64_t LikeOf(size_t i) const {
    uint64_t hash = 0;
    for (const uint64_t part :
         {uint64_t{at_.device[i]}, uint64_t{at_.unit[i]}, uint64_t{at_.opcode[i]}, at_.bytes[i],
          at_.memory_bytes[i], at_.work[i], uint64_t{at_.row_misses[i]}}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
  void FindAlone() {
    for (size_t i = 0; i < model_.commands.size(); ++i) {
      const Times times = TimesOf(i);
      if (times.took <= 0) continue;
      const auto [like, added] = alone_ns_.try_emplace(LikeOf(i), times.took);
      if (!added) like->second = std::min(like->second, times.took);
    }
  }

  // Finds how many other commands used the memory at the same time as each command, on any unit.
  void FindBeside() {
    const size_t n = model_.commands.size();
    beside_.assign(n, 0);
    std::vector<std::vector<uint32_t>> running(rates_.size());
    for (const uint32_t i : UsersByStart()) {
      std::vector<uint32_t>& others = running[at_.device[i]];
      const uint64_t start = at_.start.ticks[i];
      std::erase_if(others, [&](uint32_t other) { return at_.end.ticks[other] <= start; });
      const auto now = static_cast<uint8_t>(std::min<size_t>(others.size(), kManyBeside));
      for (const uint32_t other : others) beside_[other] = std::max(beside_[other], now);
      beside_[i] = now;
      if (others.size() < kManyBeside) others.push_back(i);
    }
  }
  // Returns commands that use the memory, sorted by device and start; those of the same tick are in
  // the order of RowsByStart().
  std::vector<uint32_t> UsersByStart() const {
    std::vector<uint32_t> rows = RowsByStart(model_);
    std::erase_if(rows, [&](uint32_t i) { return at_.memory_bytes[i] == 0; });
    SortByNumber([&](uint32_t i) { return at_.start.ticks[i]; }, &rows);
    SortByNumber([&](uint32_t i) { return uint64_t{at_.device[i]} << 32 | at_.start.epoch[i]; },
                 &rows);
    return rows;
  }
  static constexpr size_t kManyBeside = 32;

  Demand Of(size_t i) const {
    const DeviceRates& rates = rates_[at_.device[i]];
    const Times times = TimesOf(i);
    const proto::Unit::Kind kind = KindOf(i);
    Demand demand;
    demand.unit = static_cast<uint8_t>(std::min<uint32_t>(at_.unit[i], 255));
    demand.queue = static_cast<uint16_t>(at_.queue[i]);
    demand.to_device = kind == proto::Unit::KIND_DMA_TO_DEVICE;
    demand.from_device = kind == proto::Unit::KIND_DMA_FROM_DEVICE;
    demand.dispatch = static_cast<float>(std::min(times.dispatch, times.took));
    double left = times.took - demand.dispatch;
    const double tolerance = std::max(2.5 * rates.ns_per_tick, 0.01 * left);
    if (demand.to_device) {
      demand.link_latency =
          static_cast<float>(std::min({left, times.link, LinkLatency(i, times, left)}));
    } else {
      demand.memory_latency = static_cast<float>(
          std::min({left, times.memory + rates.ns_per_tick, rates.memory_latency_ns}));
    }
    left -= demand.link_latency + demand.memory_latency;
    demand.own = static_cast<float>(std::min(left, times.busy));
    demand.throttled = static_cast<float>(std::min(left - demand.own, times.throttle));
    const double memory_stall = times.memory - demand.memory_latency;
    const double link_stall = times.link - demand.link_latency;
    demand.memory = static_cast<float>(std::min(BusNs(i), std::max(left, 0.0)));
    if (times.tags > tolerance && times.tags >= std::max(memory_stall, link_stall)) {
      demand.bound = Demand::kByTags;
      demand.tag_latency = static_cast<float>(left);  // FillTags splits it
    } else if (link_stall > tolerance && link_stall >= memory_stall) {
      demand.bound = Demand::kByLink;
      demand.link = static_cast<float>(left);
    } else if (memory_stall > tolerance) {
      demand.bound = Demand::kByMemory;
      SplitMemory(i, left, &demand);
    }
    return demand;
  }

  // Returns which part of the stall on the link is round trips: one, and another one for each list
  // of places that the copy had to read. Any excess is due to the link's bandwidth.
  double LinkLatency(size_t i, const Times& times, double left) const {
    const DeviceRates& rates = rates_[at_.device[i]];
    const double one = rates.link_latency_ns;
    if (one <= 0) return 0;
    const double bytes = static_cast<double>(at_.bytes[i]);
    const double wire = std::max(times.busy, bytes * NominalNsPerByte(at_.device[i]));
    const double rest = (left - wire * 1.2) / one;
    // A list has 64 places of a page each.
    const double most = 2 + std::floor(bytes / (64 * 4096.0));
    return one * std::clamp(std::round(rest), 1.0, most);
  }

  double NominalNsPerByte(uint32_t device) const {
    const proto::Pci& pci = model_.devices[device].about.pci();
    static constexpr double kGts[] = {
        0, 2.5 * 0.8, 5 * 0.8, 8 * 128 / 130., 16 * 128 / 130., 32 * 128 / 130., 64 * 236 / 256.};
    const size_t speed = std::min<size_t>(pci.link_speed(), 6);
    const double bytes_per_ns = kGts[speed] * pci.link_width() / 8;
    return bytes_per_ns > 0 ? 1 / bytes_per_ns : 0;
  }

  void SplitMemory(size_t i, double left, Demand* demand) const {
    const auto like = alone_ns_.find(LikeOf(i));
    const double took = demand->dispatch + demand->link_latency + demand->memory_latency + left;
    // Other commands made it longer than it is alone.
    const double alone =
        like == alone_ns_.end() ? left : std::max(0.0, left - std::max(0.0, took - like->second));
    const double bus = demand->memory;
    if (alone <= 1.05 * bus * (1 + beside_[i])) return;  // its share of the bus
    if (alone <= 1.03 * bus + 3) {
      demand->memory = static_cast<float>(std::max(bus, std::min(alone, 1.03 * bus + 3)));
      return;
    }
    const double misses = at_.row_misses[i];
    if (misses > 0 && alone <= bus + misses * kMaxRowNs) {
      demand->rows = static_cast<float>(alone);
      demand->bus_in_rows = alone / misses > kOneBankNs ? 1 : 0;
    } else if (bus > 0 && left > 1.03 * alone) {
      demand->memory = static_cast<float>(bus);
    } else {
      demand->scratch = static_cast<float>(alone);
    }
  }

  double WireBytes(size_t i) const {
    return static_cast<double>(at_.bytes[i]) + kPacketBytes * static_cast<double>(at_.work[i]);
  }

  // Determines the link's rates from the copies that it delayed, or otherwise from its description.
  void FindLinkRates(const std::vector<Demand>& demands) {
    std::vector<double> to(rates_.size()), to_bytes(to), from(to), from_bytes(to);
    for (size_t i = 0; i < demands.size(); ++i) {
      if (demands[i].bound != Demand::kByLink) continue;
      const uint32_t device = at_.device[i];
      (demands[i].to_device ? to : from)[device] += demands[i].link;
      (demands[i].to_device ? to_bytes : from_bytes)[device] += WireBytes(i);
    }
    for (uint32_t d = 0; d < rates_.size(); ++d) {
      const double nominal = NominalNsPerByte(d);
      rates_[d].to_device_ns_per_byte = to_bytes[d] > 0 ? to[d] / to_bytes[d] : nominal;
      rates_[d].from_device_ns_per_byte = from_bytes[d] > 0 ? from[d] / from_bytes[d] : nominal;
    }
  }

  void FillLink(size_t i, Demand* demand) const {
    if ((!demand->to_device && !demand->from_device) || demand->bound == Demand::kByLink) return;
    const DeviceRates& rates = rates_[at_.device[i]];
    const double per_byte =
        demand->to_device ? rates.to_device_ns_per_byte : rates.from_device_ns_per_byte;
    const double stream = std::max({demand->own + demand->throttled, demand->tag_latency,
                                    demand->memory, demand->rows, demand->scratch});
    demand->link = static_cast<float>(std::min<double>(stream, WireBytes(i) * per_byte));
  }

  // Returns how many reads of host memory a copy makes.
  double ReadsOf(size_t i) const {
    const uint32_t request = model_.devices[at_.device[i]].about.pci().max_read_request_bytes();
    return std::ceil(static_cast<double>(at_.bytes[i]) / (request > 0 ? request : kUsualReadBytes));
  }

  // With T tags, R reads take R / T rounds, each with a round trip and the bytes of one read.
  void FindTags(const std::vector<Demand>& demands) {
    for (size_t i = 0; i < demands.size(); ++i) {
      const Demand& demand = demands[i];
      DeviceRates& rates = rates_[at_.device[i]];
      const double reads = ReadsOf(i);
      if (!demand.to_device || reads < 2 || demand.link <= 0) continue;
      const double round = rates.link_latency_ns + demand.link / reads;
      if (demand.bound == Demand::kByTags) {
        rates.tags = std::max(rates.tags, reads * round / demand.tag_latency);
      } else if (demand.bound == Demand::kByLink) {
        rates.least_tags = std::max(rates.least_tags, std::min(reads, reads * round / demand.link));
      }
    }
  }
  void FillTags(size_t i, Demand* demand) const {
    const DeviceRates& rates = rates_[at_.device[i]];
    if (!demand->to_device) return;
    const double reads = ReadsOf(i);
    demand->link_reads = static_cast<float>(reads);
    if (demand->bound == Demand::kByTags) {
      const double each = demand->link / reads, whole = demand->tag_latency;
      const double latency = whole * rates.link_latency_ns / (rates.link_latency_ns + each);
      demand->tag_latency = static_cast<float>(latency);
      demand->tag_wire = static_cast<float>(whole - latency);
    } else if (rates.tags > 0 && reads > rates.tags) {
      demand->tag_latency = static_cast<float>(reads / rates.tags * rates.link_latency_ns);
      demand->tag_wire = static_cast<float>(demand->link / rates.tags);
    }
  }

  // The columns of commands that are read.
  struct Columns {
    explicit Columns(const model::Model& model)
        : device(model.commands.device),
          unit(model.commands.unit),
          status(model.commands.status),
          opcode(model.commands.opcode),
          queue(model.commands.queue),
          first_stall(model.commands.first_stall),
          row_hits(model.commands.row_hits),
          row_misses(model.commands.row_misses),
          memory_bytes(model.commands.memory_bytes),
          bytes(model.commands.bytes),
          work(model.commands.work),
          stall_ticks(model.stall_ticks),
          start(model.commands.start),
          end(model.commands.end) {}
    Cursor<uint32_t> device, unit, status, opcode, queue, first_stall, row_hits, row_misses;
    Cursor<uint64_t> memory_bytes, bytes, work, stall_ticks;
    TickCursor start, end;
  };

  const model::Model& model_;
  mutable Columns at_;
  std::vector<DeviceRates>& rates_;
  std::vector<std::vector<StallKind>> kinds_;  // by device and stall
  std::unordered_map<uint64_t, double> alone_ns_;
  std::vector<uint8_t> beside_;  // by command
};

}  // namespace

std::vector<Demand> ComputeDemands(const model::Model& model,
                                   const std::vector<double>& link_latency_ns,
                                   std::vector<DeviceRates>* rates) {
  return std::make_unique<Demands>(model, link_latency_ns, rates)->Run();
}

}  // namespace acceltrace::analysis
