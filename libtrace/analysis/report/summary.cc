// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/report/summary.h"

#include <algorithm>
#include <map>

#include "libtrace/stream/columns/packet_decoder.h"
#include "libtrace/stream/file/index.h"

namespace acceltrace::analysis {
namespace {

using proto::Packet;

// Limits the packets of small kinds that are read from each end; any further ones are counters in
// the middle.
constexpr size_t kMaxRead = 512;

// The first and the last value of each counter of a device.
struct CounterEnds {
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> by_counter;

  void Add(const proto::CounterBatch& batch) {
    const auto columns = static_cast<size_t>(batch.counter_size());
    const auto rows = static_cast<size_t>(batch.time_ticks_delta_size());
    const auto entries = static_cast<size_t>(batch.value_delta_size());
    // A batch without values has only zeros.
    if (columns == 0 || rows == 0 || (entries != 0 && entries != columns * rows)) return;
    for (size_t c = 0; c < columns; ++c) {
      uint64_t value = 0, first = 0;
      for (size_t row = 0; row < rows; ++row) {
        if (entries > 0) {
          value += static_cast<uint64_t>(batch.value_delta(static_cast<int>(row * columns + c)));
        }
        if (row == 0) first = value;
      }
      auto& ends =
          by_counter.try_emplace(batch.counter(static_cast<int>(c)), first, value).first->second;
      // Sources alternate in the stream, but counters only increase.
      ends = {std::min(ends.first, first), std::max(ends.second, value)};
    }
  }
};

struct DeviceEnds {
  proto::Device about;
  CounterEnds counters;
};

void FindUnits(const std::map<uint32_t, DeviceEnds>& devices, Summary* summary) {
  for (const auto& entry : devices) {
    const auto& device = entry.second;  // clang 14 captures no structured binding
    const auto grown = [&](const std::string& name) -> std::optional<uint64_t> {
      for (int c = 0; c < device.about.counters_size(); ++c) {
        if (device.about.counters(c).name() != name) continue;
        const auto found = device.counters.by_counter.find(static_cast<uint32_t>(c));
        if (found == device.counters.by_counter.end()) return std::nullopt;
        return found->second.second - found->second.first;
      }
      return std::nullopt;
    };
    const auto elapsed = grown("elapsed_ticks");
    for (const proto::Unit& unit : device.about.units()) {
      const auto busy = grown(unit.name() + "_busy");
      if (!busy || !elapsed || *elapsed == 0 || *busy > *elapsed) continue;
      summary->units.push_back({device.about.name(), unit.name(),
                                static_cast<double>(*busy) / static_cast<double>(*elapsed)});
    }
  }
  std::stable_sort(summary->units.begin(), summary->units.end(),
                   [](const auto& a, const auto& b) { return a.busy_share > b.busy_share; });
}

const char* KindName(uint32_t body) {
  switch (body) {
    case Packet::kApi:
      return "api";
    case Packet::kRanges:
      return "ranges";
    case Packet::kHost:
      return "host_events";
    case Packet::kCommands:
      return "commands";
    case Packet::kJobs:
      return "jobs";
    case Packet::kCounters:
      return "counters";
    case Packet::kClocks:
      return "clock_samples";
    case Packet::kDeviceEvents:
      return "device_events";
    case Packet::kThreadRuns:
      return "thread_runs";
    case Packet::kInterrupts:
      return "interrupts";
    case Packet::kSystemSamples:
      return "system_samples";
    default:
      return nullptr;
  }
}

std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

void FromAccounts(const proto::Accounts& accounts, Summary* summary) {
  for (const auto& hop : accounts.hops()) {
    summary->lost += hop.lost(), summary->bad += hop.bad();
    if (hop.lost() + hop.bad() > 0) {
      summary->losing.emplace_back(hop.name(), hop.lost() + hop.bad());
    }
  }
}

void SetLength(const proto::TraceInfo& info, const proto::Accounts& accounts, Summary* summary) {
  const int64_t from_ns = std::max(info.start_ns(), accounts.whole_since_ns());
  if (accounts.stop_ns() > from_ns) summary->length_ns = accounts.stop_ns() - from_ns;
}

}  // namespace

std::optional<Summary> SummariseFile(const std::string& path) {
  const std::unique_ptr<stream::FileIndex> file = stream::FileIndex::Open(path);
  if (file == nullptr) return std::nullopt;
  Summary summary;
  summary.bytes = file->bytes();
  summary.events = file->events();
  std::map<std::string, uint64_t> tables;
  std::map<uint32_t, std::vector<size_t>> small;  // indexes of packets by body
  const std::vector<stream::PacketPlace>& packets = file->packets();
  for (size_t i = 0; i < packets.size(); ++i) {
    const uint32_t body = packets[i].body;
    if (const char* kind = KindName(body); kind != nullptr) tables[kind] += packets[i].events;
    if (body == Packet::kInfo || body == Packet::kDevice || body == Packet::kCounters ||
        body == Packet::kAccounts || body == Packet::kLosses) {
      small[body].push_back(i);
    }
  }
  summary.packets = packets.size();
  summary.tables.assign(tables.begin(), tables.end());
  proto::TraceInfo info;
  proto::Accounts accounts;
  std::map<uint32_t, DeviceEnds> devices;
  stream::PacketDecoder decoder;
  uint64_t recorded = 0;  // by loss records, which repeat what the accounts sum up
  for (const auto& [body, places] : small) {
    for (size_t i = 0; i < places.size(); ++i) {
      if (i >= kMaxRead && i + kMaxRead < places.size()) continue;
      Packet packet;
      if (!file->Read(places[i], &decoder, &packet)) return std::nullopt;
      if (packet.has_info()) info = packet.info();
      if (packet.has_accounts()) accounts = packet.accounts();
      if (packet.has_device()) devices[packet.device().device()].about = packet.device();
      for (const uint64_t count : packet.losses().count()) recorded += count;
      if (packet.has_counters()) {
        devices[packet.counters().device()].counters.Add(packet.counters());
      }
    }
  }
  // These are needed; without them the whole file has to be read to find out what is wrong.
  if (small[Packet::kInfo].empty() || small[Packet::kAccounts].empty()) return std::nullopt;
  summary.command = Joined(info.command());
  summary.host = info.host();
  SetLength(info, accounts, &summary);
  FromAccounts(accounts, &summary);
  summary.lost = std::max(summary.lost, recorded);
  FindUnits(devices, &summary);
  return summary;
}

Summary SummariseReport(const Report& report) {
  const model::Model& model = *report.model;
  Summary summary;
  summary.from_index = false;
  summary.command = Joined(model.info.command());
  summary.host = model.info.host();
  summary.bytes = model.read.bytes, summary.packets = model.read.packets;
  const Counts& counts = report.counts;
  summary.tables = {{"api", counts.api_calls},
                    {"clock_samples", counts.clock_samples},
                    {"commands", counts.commands},
                    {"counters", counts.counter_samples},
                    {"device_events", counts.device_events},
                    {"host_events", counts.host_events},
                    {"jobs", counts.jobs},
                    {"ranges", counts.ranges + counts.marks}};
  for (const auto& [kind, count] : summary.tables) summary.events += count;
  SetLength(model.info, model.accounts, &summary);
  FromAccounts(model.accounts, &summary);
  summary.lost = report.losses.lost, summary.bad = report.losses.bad;
  for (const DeviceUse& use : report.utilisation) {
    for (const UnitUse& unit : use.units) {
      summary.units.push_back(
          {model.devices[use.device].about.name(), unit.name, unit.busy_share.mid});
    }
  }
  std::stable_sort(summary.units.begin(), summary.units.end(),
                   [](const auto& a, const auto& b) { return a.busy_share > b.busy_share; });
  return summary;
}

}  // namespace acceltrace::analysis
