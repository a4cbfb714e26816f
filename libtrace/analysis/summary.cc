// SPDX-License-Identifier: Apache-2.0
#include "libtrace/analysis/summary.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "libtrace/stream/framing.h"
#include "libtrace/stream/packed.h"

namespace acceltrace::analysis {
namespace {

using proto::Packet;

constexpr uint64_t kMaxTail = stream::kMaxPacketBytes + 64;
// Packets of the small kinds that are read from each end; more of them are counters' middles.
constexpr size_t kMaxRead = 512;

class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat about {};
    if (fd_ < 0 || fstat(fd_, &about) != 0 || !S_ISREG(about.st_mode)) return;
    bytes_ = static_cast<uint64_t>(about.st_size);
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  uint64_t bytes() const { return bytes_; }
  std::string Read(uint64_t offset, uint64_t size) const {
    std::string data(std::min(size, bytes_ - std::min(bytes_, offset)), '\0');
    size_t done = 0;
    while (done < data.size()) {
      const ssize_t got =
          pread(fd_, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
      if (got <= 0) break;
      done += static_cast<size_t>(got);
    }
    data.resize(done);
    return data;
  }

 private:
  int fd_;
  uint64_t bytes_ = 0;
};

bool ParsePacket(std::string_view bytes, bool to_end, Packet* packet) {
  const stream::Frame frame = stream::ParseFrame(bytes);
  if (frame.state != stream::Frame::State::kWhole) return false;
  if (to_end && frame.total_bytes != bytes.size()) return false;
  return packet->ParseFromArray(frame.packet.data(), static_cast<int>(frame.packet.size()));
}

// The last packet, if it is a footer.
bool FindFooter(const File& file, Packet* packet) {
  for (uint64_t size = 1 << 16;; size *= 16) {
    const std::string tail = file.Read(file.bytes() - std::min(file.bytes(), size), size);
    size_t sync = tail.rfind(stream::kSyncField);
    // Few places look like a packet's begin without being one.
    for (int tries = 0; sync != std::string::npos && tries < 64; ++tries) {
      for (size_t length = 1; length <= stream::kMaxLengthBytes && length + 1 <= sync; ++length) {
        const size_t begin = sync - length - 1;
        if (tail[begin] != stream::kPacketTag) continue;
        if (ParsePacket(std::string_view(tail).substr(begin), true, packet)) {
          return packet->has_footer();
        }
      }
      if (sync == 0) break;
      sync = tail.rfind(stream::kSyncField, sync - 1);
    }
    if (size >= file.bytes() || size > kMaxTail) return false;
  }
}

// All parts of the index, from the first packets to the footer; empty if one is not where the next
// one says.
std::vector<proto::Footer> ReadIndex(const File& file, const proto::Footer& footer) {
  std::vector<proto::Footer> parts = {footer};
  for (uint64_t before = file.bytes(); parts.back().index_offset() != 0;) {
    const uint64_t offset = parts.back().index_offset();
    Packet packet;
    if (offset >= before || !ParsePacket(file.Read(offset, kMaxTail), false, &packet) ||
        !packet.has_index()) {
      return {};
    }
    before = offset;
    parts.push_back(std::move(*packet.mutable_index()));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// The first and the last value of each counter of a device.
struct CounterEnds {
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> by_counter;

  void Add(const proto::CounterBatch& batch) {
    const auto columns = static_cast<size_t>(batch.counter_size());
    const auto rows = static_cast<size_t>(batch.time_ticks_delta_size());
    const auto entries = static_cast<size_t>(batch.value_delta_size());
    // A batch without values: all of them are zero.
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
      // Sources take turns in the stream; counters only rise.
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

const char* KindName(uint32_t body, uint32_t table) {
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
    case Packet::kPacked:
      return KindName(table, 0);
    case Packet::kBlock:
    case Packet::kPackedBlock:
      return table == proto::Block::TABLE_COMMANDS      ? "commands"
             : table == proto::Block::TABLE_DEVICE_JOBS ? "jobs"
             : table == proto::Block::TABLE_API_CALLS   ? "api"
                                                        : "host_events";
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
  const File file(path);
  Packet last;
  if (file.bytes() == 0 || !FindFooter(file, &last)) return std::nullopt;
  const proto::Footer& footer = last.footer();
  Summary summary;
  summary.bytes = file.bytes();
  summary.events = footer.total_events();
  std::map<std::string, uint64_t> tables;
  struct Place {
    uint64_t offset, end;
  };
  std::map<uint32_t, std::vector<Place>> small;  // by body
  const std::vector<proto::Footer> parts = ReadIndex(file, footer);
  if (parts.empty()) return std::nullopt;
  for (const proto::Footer& part : parts) {
    const int listed = part.offset_delta_size();
    if (part.body_size() != listed) return std::nullopt;
    uint64_t offset = 0;
    for (int i = 0; i < listed; ++i) {
      offset += part.offset_delta(i);
      const uint64_t end = i + 1 < listed ? offset + part.offset_delta(i + 1) : file.bytes();
      if (offset >= file.bytes() || end <= offset) return std::nullopt;
      const uint32_t table = i < part.table_size() ? part.table(i) : 0;
      const char* kind = KindName(part.body(i), table);
      if (kind != nullptr && i < part.events_size()) tables[kind] += part.events(i);
      const uint32_t body = part.body(i) == Packet::kPacked ? table : part.body(i);
      if (body == Packet::kInfo || body == Packet::kDevice || body == Packet::kCounters ||
          body == Packet::kAccounts || body == Packet::kLosses) {
        small[body].push_back({offset, end});
      }
    }
    summary.packets += static_cast<uint64_t>(listed);
  }
  summary.tables.assign(tables.begin(), tables.end());
  proto::TraceInfo info;
  proto::Accounts accounts;
  std::map<uint32_t, DeviceEnds> devices;
  uint64_t recorded = 0;  // by the records of losses: they repeat what the accounts sum up
  for (const auto& [body, places] : small) {
    for (size_t i = 0; i < places.size(); ++i) {
      if (i >= kMaxRead && i + kMaxRead < places.size()) continue;
      Packet packet;
      const uint64_t size = std::min<uint64_t>(places[i].end - places[i].offset, kMaxTail);
      if (!ParsePacket(file.Read(places[i].offset, size), false, &packet)) return std::nullopt;
      uint64_t rows = 0;
      if (!stream::Expand(&packet, &rows).ok() ||
          static_cast<uint32_t>(packet.body_case()) != body) {
        return std::nullopt;
      }
      if (packet.has_info()) info = packet.info();
      if (packet.has_accounts()) accounts = packet.accounts();
      if (packet.has_device()) devices[packet.device().device()].about = packet.device();
      for (const uint64_t count : packet.losses().count()) recorded += count;
      if (packet.has_counters()) {
        devices[packet.counters().device()].counters.Add(packet.counters());
      }
    }
  }
  // What these say decides; without them the file has to be read to say what is wrong.
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
