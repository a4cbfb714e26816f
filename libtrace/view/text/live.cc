// SPDX-License-Identifier: Apache-2.0
#include "libtrace/view/text/live.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "libtrace/analysis/rows/resources.h"
#include "libtrace/analysis/usage/transfers.h"
#include "libtrace/model/tables/container.h"
#include "libtrace/stream/columns/columns.h"

namespace acceltrace::view {
namespace {

using proto::Block;
using stream::ColumnAt;
using stream::DeltaDecoder;

// Limits of the memory that a stream can use.
constexpr size_t kMostDevices = 64, kMostQueues = 4096, kMostContexts = 4096;
constexpr size_t kMostStrings = 65'536, kMostNames = 16'384, kMostHops = 64, kMostNameBytes = 128;

std::string Head(const std::string& text) { return text.substr(0, kMostNameBytes); }

// Makes space for another element by removing the one with the lowest number.
template <typename Map>
void MakeRoom(Map* map, size_t most) {
  while (map->size() >= most) map->erase(map->begin());
}

template <typename Map>
auto* Find(Map* map, const typename Map::key_type& key) {
  const auto found = map->find(key);
  return found == map->end() ? nullptr : &found->second;
}

// Stores nothing for keys without a container.
void Put(uint32_t key, const std::string& container, std::map<uint32_t, std::string>* containers) {
  if (container.empty()) {
    containers->erase(key);
    return;
  }
  if (!containers->contains(key)) MakeRoom(containers, kMostNames);
  (*containers)[key] = Head(container);
}

}  // namespace

void LiveState::Sums::Clear() {
  busy_ns = 0, commands = 0, bytes = 0;
  std::fill(stall_ns.begin(), stall_ns.end(), 0);
}

void LiveState::See(int64_t time_ns) {
  if (time_ns <= 0) return;
  if (first_ns_ == 0) first_ns_ = cut_ns_ = time_ns;
  now_ns_ = std::max(now_ns_, time_ns);
}

void LiveState::Add(const proto::Packet& packet, const stream::TableRows* rows) {
  if (rows != nullptr) rows_ += rows->rows();
  switch (packet.body_case()) {
    case proto::Packet::kInfo:
      info_ = packet.info();
      See(info_.start_ns());
      break;
    case proto::Packet::kDevice:
      AddDevice(packet.device());
      break;
    case proto::Packet::kStrings:
      AddStrings(packet.strings());
      break;
    case proto::Packet::kProcesses:
      AddProcesses(packet.processes());
      break;
    case proto::Packet::kProcessGroups:
      AddGroups(packet.process_groups());
      break;
    case proto::Packet::kApi:
      if (rows != nullptr) EachTime(*rows, Block::COLUMN_BEGIN_NS);
      break;
    case proto::Packet::kRanges:
      rows_ += packet.ranges().begin_ns_delta_size();
      break;
    case proto::Packet::kHost:
      if (rows != nullptr) AddHost(*rows);
      break;
    case proto::Packet::kCommands:
      if (rows != nullptr) AddCommands(packet.commands().device(), *rows);
      break;
    case proto::Packet::kClocks:
      AddClocks(packet.clocks());
      break;
    case proto::Packet::kLosses:
      AddLosses(packet.losses());
      break;
    case proto::Packet::kAccounts:
      accounts_ = packet.accounts();
      See(accounts_.stop_ns());
      break;
    case proto::Packet::kFooter:
      ended_ = true;
      break;
    default:
      break;
  }
}

void LiveState::AddDevice(const proto::Device& about) {
  if (devices_.size() >= kMostDevices && !devices_.contains(about.device())) return;
  Device& device = devices_[about.device()];
  device.about = about;
  device.units.resize(about.units_size());
  for (Unit& unit : device.units) {
    unit.now.stall_ns.resize(about.stalls_size());
    unit.all.stall_ns.resize(about.stalls_size());
  }
  if (about.clock().nominal_hz() > 0) {
    device.ns_per_tick = 1e9 / static_cast<double>(about.clock().nominal_hz());
  }
}

void LiveState::AddStrings(const proto::Strings& strings) {
  const int n = std::min(strings.id_size(), strings.value_size());
  for (int i = 0; i < n; ++i) {
    if (!strings_.contains(strings.id(i))) MakeRoom(&strings_, kMostStrings);
    strings_[strings.id(i)] = Head(strings.value(i));
    // The end of a control group's path matters, and the stored string may be cut before it.
    const std::string container = model::ContainerOf(strings.value(i));
    Put(strings.id(i), container, &containers_);
  }
}

void LiveState::AddProcesses(const proto::Processes& processes) {
  for (int i = 0; i < processes.pid_size(); ++i) {
    const uint32_t pid = processes.pid(i);
    if (ColumnAt(processes.tid(), i) != pid) continue;
    const std::string* name = Find(&strings_, ColumnAt(processes.name(), i));
    if (name == nullptr) continue;
    if (!names_.contains(pid)) MakeRoom(&names_, kMostNames);
    names_[pid] = *name;
  }
}

void LiveState::AddGroups(const proto::ProcessGroups& groups) {
  for (int i = 0; i < groups.pid_size(); ++i) {
    const std::string* container = Find(&containers_, ColumnAt(groups.group(), i));
    Put(groups.pid(i), container == nullptr ? "" : *container, &container_of_);
  }
}

LiveState::Context* LiveState::ContextOf(uint32_t device, uint32_t context) {
  const Key key{device, context};
  if (contexts_.size() >= kMostContexts && !contexts_.contains(key)) return nullptr;
  return &contexts_[key];
}

void LiveState::EachTime(const stream::TableRows& rows, int column) {
  const stream::BlockColumn& times = rows.of(column);
  for (size_t i = 0; i < rows.rows(); ++i) See(static_cast<int64_t>(times[i]));
}

void LiveState::AddHost(const stream::TableRows& rows) {
  using Host = proto::HostBatch;
  EachTime(rows, Host::kTimeNsDeltaFieldNumber);
  for (size_t i = 0; i < rows.rows(); ++i) {
    const auto at = [&](int column) { return rows.of(column)[i]; };
    const auto narrow = [&](int column) { return static_cast<uint32_t>(at(column)); };
    const uint32_t kind = narrow(Host::kKindFieldNumber);
    const uint32_t device = narrow(Host::kDeviceFieldNumber);
    const uint64_t sequence = at(Host::kSequenceFieldNumber);
    const bool submit = kind == proto::HostBatch::KIND_SUBMIT;
    const bool complete = kind == proto::HostBatch::KIND_COMPLETE;
    const bool of_context =
        kind == proto::HostBatch::KIND_CONTEXT || kind == proto::HostBatch::KIND_BUFFER;
    if (submit || complete) {
      const Key key{device, narrow(Host::kQueueFieldNumber)};
      if (queues_.size() >= kMostQueues && !queues_.contains(key)) continue;
      Queue& queue = queues_[key];
      (submit ? queue.submitted : queue.completed) += 1;
      (submit ? queue.submitted_any : queue.completed_any) = true;
      uint64_t& to = submit ? queue.submitted_to : queue.completed_to;
      to = std::max(to, sequence);
    }
    if (!submit && !of_context) continue;
    Context* context = ContextOf(device, narrow(Host::kContextFieldNumber));
    if (context == nullptr) continue;
    const uint32_t pid = narrow(Host::kPidFieldNumber);
    const uint64_t arg0 = at(Host::kArg0FieldNumber);
    if (kind == proto::HostBatch::KIND_CONTEXT) context->memory_bytes = 0;
    if (kind == proto::HostBatch::KIND_CONTEXT && arg0 == 0) continue;
    if (pid != 0) context->pid = pid;
    if (submit) ++context->now_jobs;
    if (kind == proto::HostBatch::KIND_BUFFER) {
      const auto bytes = static_cast<int64_t>(std::min(arg0, uint64_t{1} << 50));
      const bool made = at(Host::kArg1FieldNumber) != 0;
      // Memory that was allocated before the recording may be freed, too.
      context->memory_bytes =
          std::clamp<int64_t>(context->memory_bytes + (made ? bytes : -bytes), 0, int64_t{1} << 50);
    }
  }
}

void LiveState::AddCommands(uint32_t number, const stream::TableRows& rows) {
  Device* device = Find(&devices_, number);
  if (device == nullptr) return;
  for (size_t i = 0; i < rows.rows(); ++i) {
    const auto at = [&](int column) { return rows.of(column)[i]; };
    const uint64_t start_ticks = at(Block::COLUMN_FETCHED_TICKS) +
                                 at(Block::COLUMN_HEAD_TICKS_AFTER) +
                                 at(Block::COLUMN_START_TICKS_AFTER);
    const uint64_t length = at(Block::COLUMN_END_TICKS_AFTER);
    const auto of_unit = static_cast<uint32_t>(at(Block::COLUMN_UNIT));
    if (of_unit >= device->units.size()) continue;
    Unit& unit = device->units[of_unit];
    const double length_ns = static_cast<double>(length) * device->ns_per_tick;
    unit.now.busy_ns += length_ns;
    ++unit.now.commands;
    unit.now.bytes += at(Block::COLUMN_BYTES);
    const size_t stalls = std::min(rows.stalls(), unit.now.stall_ns.size());
    for (size_t s = 0; s < stalls; ++s) {
      // What a command waited for before it ran is not part of the time that it ran.
      if (analysis::StallKindOf(device->about, static_cast<int>(s)) == proto::Device::STALL_WAIT) {
        continue;
      }
      unit.now.stall_ns[s] +=
          static_cast<double>(at(Block::COLUMN_STALL_TICKS + static_cast<int>(s))) *
          device->ns_per_tick;
    }
    AddHistory(device, &unit, start_ticks + length, length_ns);
    Context* context = ContextOf(number, static_cast<uint32_t>(at(Block::COLUMN_CONTEXT)));
    if (context != nullptr) context->now_ns += length_ns;
  }
}

// Adds the time where the command ran, as far as the last clock sample shows.
void LiveState::AddHistory(Device* device, Unit* unit, uint64_t end_ticks, double length_ns) {
  double to_ns = static_cast<double>(now_ns_ - cut_ns_);  // relative to the last cut
  if (device->sampled) {
    const uint32_t bits = device->about.clock().bits();
    uint64_t ahead = end_ticks - device->sample_ticks;
    if (bits > 0 && bits < 64) {
      ahead <<= 64 - bits;
      ahead = static_cast<uint64_t>(static_cast<int64_t>(ahead) >> (64 - bits));
    }
    const double end_ns = static_cast<double>(static_cast<int64_t>(ahead)) * device->ns_per_tick;
    to_ns = std::min(
        to_ns, static_cast<double>(device->sample_ns) - static_cast<double>(cut_ns_) + end_ns);
  }
  double from_ns = to_ns - length_ns;
  // Go backwards from the current interval.
  double begin_ns = 0;
  for (size_t i = kHistory; i-- > 0;) {
    const double low_ns = std::max(from_ns, begin_ns);
    if (to_ns > low_ns) {
      unit->history[i] += static_cast<float>(to_ns - low_ns);
      to_ns = low_ns;
    }
    if (i == 0 || to_ns <= from_ns) break;
    begin_ns -= interval_lengths_ns_[i];
    if (interval_lengths_ns_[i] <= 0) break;
  }
}

void LiveState::AddClocks(const proto::ClockBatch& batch) {
  Device* device = Find(&devices_, batch.device());
  DeltaDecoder before(batch.host_before_ns_delta()), ticks(batch.device_ticks_delta());
  for (int i = 0; i < batch.host_before_ns_delta_size(); ++i) {
    const int64_t before_ns = before.Next();
    const uint64_t at_ticks = ticks.NextUnsigned();
    See(before_ns);
    if (device == nullptr) continue;
    device->sampled = true;
    device->sample_ns = before_ns, device->sample_ticks = at_ticks;
  }
  rows_ += batch.host_before_ns_delta_size();
}

void LiveState::AddLosses(const proto::LossBatch& batch) {
  for (int i = 0; i < batch.hop_size(); ++i) {
    const std::string* hop = Find(&strings_, batch.hop(i));
    std::string name = hop == nullptr ? "unknown hop" : *hop;
    if (losses_.size() >= kMostHops && !losses_.contains(name)) name = "other hops";
    losses_[name] += ColumnAt(batch.count(), i);
  }
}

LiveFrame LiveState::Cut() {
  const LiveFrame frame = Frame(false);
  Shift();
  return frame;
}

LiveFrame LiveState::Whole() const { return Frame(true); }

void LiveState::Shift() {
  const auto length_ns = static_cast<double>(now_ns_ - cut_ns_);
  std::rotate(interval_lengths_ns_.begin(), interval_lengths_ns_.begin() + 1,
              interval_lengths_ns_.end());
  interval_lengths_ns_.back() = length_ns;
  for (auto& [number, device] : devices_) {
    for (Unit& unit : device.units) {
      unit.all.busy_ns += unit.now.busy_ns, unit.all.commands += unit.now.commands;
      unit.all.bytes += unit.now.bytes;
      for (size_t s = 0; s < unit.now.stall_ns.size(); ++s) {
        unit.all.stall_ns[s] += unit.now.stall_ns[s];
      }
      unit.now.Clear();
      std::rotate(unit.history.begin(), unit.history.begin() + 1, unit.history.end());
      unit.history.back() = 0;
    }
  }
  for (auto& [key, queue] : queues_) {
    queue.all_submitted += queue.submitted, queue.all_completed += queue.completed;
    queue.submitted = queue.completed = 0;
  }
  for (auto& [key, context] : contexts_) {
    context.all_ns += context.now_ns, context.all_jobs += context.now_jobs;
    context.now_ns = 0, context.now_jobs = 0;
  }
  all_rows_ += rows_, rows_ = 0;
  cut_ns_ = now_ns_;
}

std::string LiveState::DeviceName(uint32_t device) const {
  const auto found = devices_.find(device);
  return found == devices_.end() ? std::to_string(device) : Head(found->second.about.name());
}

void LiveState::AddEngines(bool whole, LiveFrame* frame) const {
  const double interval_ns = std::max(1.0, static_cast<double>(frame->end_ns - frame->begin_ns));
  for (const auto& [number, device] : devices_) {
    const proto::Device& about = device.about;
    for (int u = 0; u < about.units_size(); ++u) {
      const Unit& unit = device.units[static_cast<size_t>(u)];
      const Sums &now = unit.now, &all = unit.all;
      const double busy_ns = now.busy_ns + (whole ? all.busy_ns : 0);
      LiveEngine engine;
      engine.device = Head(about.name()), engine.unit = Head(about.units(u).name());
      engine.busy = std::min(1.0, busy_ns / interval_ns);
      engine.commands = now.commands + (whole ? all.commands : 0);
      engine.bytes = now.bytes + (whole ? all.bytes : 0);
      double most_ns = 0;
      for (int s = 0; s < about.stalls_size(); ++s) {
        const double stall_ns = now.stall_ns[s] + (whole ? all.stall_ns[s] : 0);
        if (stall_ns > most_ns) most_ns = stall_ns, engine.cause = Head(about.stalls(s));
      }
      engine.cause_share = std::min(1.0, most_ns / interval_ns);
      engine.to_device = about.units(u).kind() == proto::Unit::KIND_DMA_TO_DEVICE;
      engine.transfers =
          engine.to_device || about.units(u).kind() == proto::Unit::KIND_DMA_FROM_DEVICE;
      if (engine.transfers) {
        const auto bytes = static_cast<double>(engine.bytes);
        engine.bytes_per_s = bytes / interval_ns * 1e9;
        engine.running_bytes_per_s = busy_ns > 0 ? bytes / busy_ns * 1e9 : 0;
        engine.ceiling_bytes_per_s =
            analysis::LinkBytesPerSecond(about.pci().link_speed(), about.pci().link_width()) *
            analysis::PayloadEfficiency(about.pci().max_payload_bytes(), engine.to_device);
      }
      for (size_t i = 0; i + 1 < kHistory; ++i) {
        const double length_ns = interval_lengths_ns_[i + 1];
        if (length_ns <= 0) continue;
        engine.history.push_back(static_cast<float>(std::min(1.0, unit.history[i] / length_ns)));
      }
      engine.history.push_back(
          static_cast<float>(std::min(1.0, unit.history[kHistory - 1] / interval_ns)));
      frame->engines.push_back(std::move(engine));
    }
  }
}

void LiveState::AddProcesses(bool whole, LiveFrame* frame) const {
  std::map<uint32_t, LiveProcess> processes;
  for (const auto& [key, context] : contexts_) {
    LiveProcess& process = processes[context.pid];
    process.pid = context.pid;
    process.device_ns += context.now_ns + (whole ? context.all_ns : 0);
    process.jobs += context.now_jobs + (whole ? context.all_jobs : 0);
    process.memory_bytes += static_cast<uint64_t>(context.memory_bytes);
  }
  const double interval_ns = std::max(1.0, static_cast<double>(frame->end_ns - frame->begin_ns));
  for (auto& [pid, process] : processes) {
    const auto name = names_.find(pid);
    if (name != names_.end()) process.name = name->second;
    const auto container = container_of_.find(pid);
    if (container != container_of_.end()) process.container = container->second;
    process.share = process.device_ns / interval_ns;
    frame->processes.push_back(process);
  }
  std::stable_sort(frame->processes.begin(), frame->processes.end(),
                   [](const LiveProcess& a, const LiveProcess& b) {
                     return a.device_ns != b.device_ns ? a.device_ns > b.device_ns
                                                       : a.memory_bytes > b.memory_bytes;
                   });
}

LiveFrame LiveState::Frame(bool whole) const {
  LiveFrame frame;
  frame.start_ns = info_.start_ns() > 0 ? info_.start_ns() : first_ns_;
  frame.begin_ns = whole ? frame.start_ns : cut_ns_;
  frame.end_ns = std::max(now_ns_, frame.begin_ns);
  for (const std::string& word : info_.command()) {
    if (frame.command.size() > kMostNameBytes) break;
    frame.command += (frame.command.empty() ? "" : " ") + Head(word);
  }
  frame.host = Head(info_.host());
  frame.rows = rows_ + (whole ? all_rows_ : 0);
  AddEngines(whole, &frame);
  for (const auto& [key, queue] : queues_) {
    LiveQueue line;
    line.device = DeviceName(key.first), line.queue = key.second;
    line.submitted = queue.submitted + (whole ? queue.all_submitted : 0);
    line.completed = queue.completed + (whole ? queue.all_completed : 0);
    if (queue.submitted_any && queue.submitted_to > queue.completed_to) {
      // Without a completion, it is not known where the sequence began.
      line.in_flight = queue.completed_any ? queue.submitted_to - queue.completed_to
                                           : queue.submitted + queue.all_submitted;
    }
    frame.queues.push_back(std::move(line));
  }
  std::stable_sort(
      frame.queues.begin(), frame.queues.end(), [](const LiveQueue& a, const LiveQueue& b) {
        return a.in_flight != b.in_flight ? a.in_flight > b.in_flight : a.completed > b.completed;
      });
  AddProcesses(whole, &frame);
  frame.losses.assign(losses_.begin(), losses_.end());
  frame.ended = ended_;
  if (accounts_.stop_ns() > frame.start_ns && accounts_.cpu_ns() > 0) {
    frame.tracer_cpu_share = static_cast<double>(accounts_.cpu_ns()) /
                             static_cast<double>(accounts_.stop_ns() - frame.start_ns);
  }
  return frame;
}

}  // namespace acceltrace::view
