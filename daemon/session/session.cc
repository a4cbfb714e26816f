// SPDX-License-Identifier: Apache-2.0
#include "daemon/session/session.h"

#include <algorithm>
#include <utility>

namespace acceltrace::daemon {
namespace {

constexpr uint32_t kMaxBatchRows = 8192;
constexpr uint32_t kMaxCounterRows = 512;  // with about 70 values each
constexpr size_t kMaxTableRows = 4096;
constexpr size_t kMaxTableBytes = 1 << 20;
constexpr size_t kMaxStrings = 1 << 20;
constexpr size_t kMaxStringBytes = 4096;

// The events of kinds without a counter of their own: those of the driver's tracepoints.
uint64_t EventsAt(const std::vector<Hop>& hops, std::string_view kind) {
  uint64_t events = 0;
  for (const Hop& hop : hops) {
    if (kind == "tracepoint" && hop.name == "bpf-driver") events += hop.in;
  }
  return events;
}

uint64_t TickMask(const proto::Device& device) {
  const uint32_t bits = device.clock().bits();
  return bits == 0 || bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

uint32_t NumCounters(const proto::Device& device) {
  return static_cast<uint32_t>(device.counters_size());
}

}  // namespace

Session::Device::Device(const proto::Device& device)
    : events(device.device()),
      others(device.device(), TickMask(device), static_cast<size_t>(device.units_size()),
             static_cast<size_t>(device.stalls_size())),
      sampled(device.device(), NumCounters(device), false),
      read(device.device(), NumCounters(device), true),
      latches(device.device(), 0, true),
      clocks(device.device()),
      assembler(NumCounters(device)) {}

Session::Session(PacketOutput* output)
    : output_(output),
      api_pairer_([this](const ApiSpan& span) {
        api_.Add(span);
        if (api_.full()) Send(&api_);
      }),
      range_pairer_([this](const RangeSpan& span) {
        if (triggers_ && !span.mark && !span.open && !span.began_before) {
          triggers_->OnRangeEnd(span.push.name, span.end_ns - span.push.time_ns);
        }
        ranges_.Add(span);
        if (ranges_.full()) Send(&ranges_);
      }) {}

void Session::Begin(proto::TraceInfo info) {
  for (const proto::Probe& probe : probes_) *info.add_probes() = probe;
  start_ns_ = info.start_ns();
  proto::Packet packet;
  *packet.mutable_info() = std::move(info);
  output_->Write(&packet, packet.info().start_ns(), 0);
  begun_ = true;
  for (const proto::Device& device : std::exchange(devices_before_begin_, {})) OnDevice(device);
}

void Session::Watch(std::vector<TriggerRule> rules) {
  triggers_.emplace(std::move(rules), [this](std::string_view name) { return Intern(name); });
}

template <typename B>
void Session::Send(B* batch) {
  if (batch->empty()) return;
  SendTables();
  FinishedBatch finished = batch->Take();
  out_ += finished.weight;
  output_->Write(&finished.packet, finished.first_ns, finished.rows);
}

template <typename B>
void Session::SendIfFull(B* batch) {
  if (batch->rows() >= kMaxBatchRows) Send(batch);
}

void Session::SendTables() {
  if (new_strings_.strings().id_size() > 0) {
    output_->Write(&new_strings_, 0, static_cast<uint32_t>(new_strings_.strings().id_size()));
    new_strings_.Clear();
    new_string_bytes_ = 0;
  }
  if (new_processes_.processes().pid_size() > 0) {
    output_->Write(&new_processes_, 0,
                   static_cast<uint32_t>(new_processes_.processes().pid_size()));
    new_processes_.Clear();
  }
  if (new_op_names_.op_names().pid_size() > 0) {
    const auto rows = static_cast<uint32_t>(new_op_names_.op_names().pid_size());
    out_ += rows;
    output_->Write(&new_op_names_, 0, rows);
    new_op_names_.Clear();
  }
}

void Session::SendLosses() {
  if (losses_.empty()) return;
  proto::Packet packet;
  proto::LossBatch* batch = packet.mutable_losses();
  int64_t first_ns = 0;
  for (const Loss& loss : losses_) {
    batch->add_hop(Intern(loss.hop));
    batch->add_count(loss.count);
    batch->add_first(loss.first);
    batch->add_last(loss.last);
    batch->add_in_ticks(loss.in_ticks ? 1 : 0);
    batch->add_device(loss.device);
    if (!loss.in_ticks && loss.first != 0 && (first_ns == 0 || loss.first < first_ns)) {
      first_ns = loss.first;
    }
  }
  const auto rows = static_cast<uint32_t>(losses_.size());
  losses_.clear();
  SendTables();
  output_->Write(&packet, first_ns, rows);
}

void Session::Flush() {
  SendTables();
  SendLosses();
  Send(&process_events_);
  Send(&host_);
  Send(&api_);
  Send(&ranges_);
  for (auto& [number, device] : devices_) {
    Send(&device.events);
    device.others.Cut();
    Send(&device.others);
    Send(&device.sampled);
    Send(&device.read);
    Send(&device.latches);
    Send(&device.clocks);
  }
}

void Session::Finish(int64_t now_ns) {
  api_pairer_.CloseAll(now_ns);
  range_pairer_.CloseAll(now_ns);
  uint64_t lost_parts = 0;
  for (auto& [number, device] : devices_) {
    device.assembler.GiveUp();
    if (device.assembler.lost_parts() == 0) continue;
    lost_parts += device.assembler.lost_parts();
    Loss loss;
    loss.hop = kSessionHop;
    loss.count = device.assembler.lost_parts();
    loss.device = number;
    OnLoss(loss);
  }
  Flush();
  hops_.push_back({kSessionHop, in_, out_, lost_parts, bad_});
}

proto::Packet Session::AccountsPacket(const StopInfo& stop, const std::vector<Hop>& hops,
                                      const proto::Accounts& cost) const {
  proto::Packet packet;
  proto::Accounts* accounts = packet.mutable_accounts();
  *accounts = cost;
  for (const EventCost& event : event_costs_) {
    const uint64_t events = event.events ? event.events() : EventsAt(hops, event.kind);
    const double ns = event.each_ns ? event.each_ns() : event.ns;
    if (events == 0 && ns == 0) continue;
    proto::Accounts::EventCost* line = accounts->add_event_costs();
    line->set_kind(event.kind);
    line->set_cost_ps(static_cast<uint64_t>(std::max(0.0, ns) * 1000));
    line->set_error_ps(static_cast<uint64_t>(std::max(0.0, event.error_ns) * 1000));
    line->set_events(events);
    for (const uint32_t kind : event.at_kinds) line->add_at_kinds(kind);
  }
  for (const Hop& hop : hops) {
    proto::Accounts::Hop* line = accounts->add_hops();
    line->set_name(hop.name);
    line->set_in(hop.in);
    line->set_out(hop.out);
    line->set_lost(hop.lost);
    line->set_bad(hop.bad);
    line->set_waiting(hop.waiting);
    line->set_into(hop.into);
  }
  for (const auto& [pid, why] : unseen_) {
    proto::Accounts::Unseen* unseen = accounts->add_unseen();
    unseen->set_pid(pid);
    unseen->set_reason(why);
  }
  accounts->set_api_bound_ns(api_bound_ns_);
  accounts->set_cpu_ns(stop.cpu_ns);
  accounts->set_bpf_ns(bpf_ns_ + stop.bpf_ns);
  accounts->set_bpf_runs(bpf_runs_ + stop.bpf_runs);
  accounts->set_bytes_written(stop.bytes_written);
  accounts->set_stop_ns(stop.stop_ns);
  accounts->set_stop_reason(stop.reason);
  accounts->set_command_status(stop.command_status);
  accounts->set_overwritten_rows(stop.overwritten_rows);
  accounts->set_whole_since_ns(stop.whole_since_ns);
  return packet;
}

void Session::WriteAccounts(const StopInfo& stop, const proto::Accounts& cost) {
  SendLosses();
  proto::Packet packet = AccountsPacket(stop, hops_, cost);
  output_->Write(&packet, stop.stop_ns, 0);
}

std::vector<proto::Packet> Session::Checkpoint(const StopInfo& stop, std::vector<Hop> sources) {
  ApiBatch api;
  RangeBatch ranges;
  std::vector<proto::Packet> packets;
  Hop own = {kSessionHop, in_, out_, 0, bad_};
  const auto take = [&](auto* batch) {
    if (batch->empty()) return;
    FinishedBatch finished = batch->Take();
    own.out += finished.weight;
    packets.push_back(std::move(finished.packet));
  };
  api_pairer_.Peek(stop.stop_ns, [&](const ApiSpan& span) {
    api.Add(span);
    if (api.full()) take(&api);
  });
  range_pairer_.Peek(stop.stop_ns, [&](const RangeSpan& span) {
    ranges.Add(span);
    if (ranges.full()) take(&ranges);
  });
  take(&api);
  take(&ranges);
  for (const auto& [number, device] : devices_) own.lost += device.assembler.lost_parts();
  own.waiting = own.in - own.out - own.lost - own.bad;  // parts of a counter snapshot
  sources.push_back(own);
  packets.push_back(AccountsPacket(stop, sources));
  return packets;
}

uint64_t Session::lost() const {
  uint64_t sum = 0;
  for (const Hop& hop : hops_) sum += hop.lost;
  return sum;
}

uint64_t Session::bad() const {
  uint64_t sum = 0;
  for (const Hop& hop : hops_) sum += hop.bad;
  return sum;
}

uint32_t Session::Intern(std::string_view text) {
  text = text.substr(0, kMaxStringBytes);
  if (text.empty()) return 0;
  const auto found = strings_.find(text);
  if (found != strings_.end()) return found->second;
  if (strings_.size() >= kMaxStrings) return 0;
  const auto id = static_cast<uint32_t>(strings_.size() + 1);
  new_strings_.mutable_strings()->add_id(id);
  new_strings_.mutable_strings()->add_value(std::string(text));
  new_string_bytes_ += text.size();
  strings_.emplace(text, id);
  if (begun_ && new_string_bytes_ >= kMaxTableBytes) SendTables();
  return id;
}

void Session::OnProbe(const std::string& name, bool attached, const std::string& reason) {
  proto::Probe probe;
  probe.set_name(name);
  probe.set_attached(attached);
  probe.set_reason(reason);
  probes_.push_back(std::move(probe));
}

void Session::OnDevice(const proto::Device& device) {
  if (!begun_) {
    devices_before_begin_.push_back(device);
    return;
  }
  devices_.try_emplace(device.device(), device);
  proto::Packet packet;
  *packet.mutable_device() = device;
  output_->Write(&packet, 0, 0);
}

Session::Device* Session::FindDevice(uint32_t number) {
  const auto found = devices_.find(number);
  return found == devices_.end() ? nullptr : &found->second;
}

void Session::OnProcess(uint32_t pid, uint32_t tid, uint32_t name) {
  proto::Processes* processes = new_processes_.mutable_processes();
  processes->add_pid(pid);
  processes->add_tid(tid);
  processes->add_name(name);
  if (begun_ && static_cast<size_t>(processes->pid_size()) >= kMaxTableRows) SendTables();
}

int64_t Session::Since(uint32_t pid) const {
  const auto found = since_ns_.find(pid);
  return found == since_ns_.end() ? start_ns_ : std::max(start_ns_, found->second);
}

int64_t Session::CallsSince(uint32_t pid) const {
  const auto found = calls_since_ns_.find(pid);
  return found == calls_since_ns_.end() ? Since(pid) : std::max(Since(pid), found->second);
}

// The begin of call recording is reported separately from other process events, perhaps before
// earlier ones.
bool Session::CallsSeenAt(const ProcessEvent& event) const {
  const auto found = calls_since_ns_.find(event.pid);
  return found == calls_since_ns_.end() || found->second <= event.time_ns;
}

void Session::OnProcessEvent(const ProcessEvent& event) {
  using Kind = proto::ProcessEvents;
  process_events_.Add(event);
  if (process_events_.rows() >= kMaxTableRows) Send(&process_events_);
  switch (event.kind) {
    case Kind::KIND_ATTACHED:
      since_ns_[event.pid] = event.time_ns;
      break;
    case Kind::KIND_CALLS:
      calls_since_ns_[event.pid] = event.time_ns;
      api_pairer_.SeenLate(event.pid);
      range_pairer_.SeenLate(event.pid);
      break;
    case Kind::KIND_BEGUN:
      if (event.pid != event.parent) since_ns_[event.pid] = event.time_ns;
      if (!CallsSeenAt(event)) break;
      api_pairer_.Born(event.pid, event.tid);
      if (event.pid == event.parent) range_pairer_.Born(event.pid, event.tid);
      break;
    case Kind::KIND_EXECUTED:
    case Kind::KIND_LEFT:
      api_pairer_.CloseProcess(event.pid, event.time_ns);
      range_pairer_.CloseProcess(event.pid, event.time_ns);
      if (!CallsSeenAt(event)) break;
      calls_since_ns_.erase(event.pid);
      if (event.kind == Kind::KIND_LEFT) break;
      api_pairer_.Born(event.pid, event.pid);
      range_pairer_.Born(event.pid, event.pid);
      break;
    case Kind::KIND_ENDED:
      api_pairer_.Close(event.pid, event.tid, event.time_ns);
      range_pairer_.Close(event.pid, event.tid, event.time_ns);
      if (event.pid != event.tid) break;
      since_ns_.erase(event.pid);
      calls_since_ns_.erase(event.pid);
      break;
    default:
      break;
  }
}

void Session::OnOpName(uint32_t pid, uint32_t tag, uint32_t name) {
  ++in_;
  proto::OpNames* op_names = new_op_names_.mutable_op_names();
  op_names->add_pid(pid);
  op_names->add_tag(tag);
  op_names->add_name(name);
  if (begun_ && static_cast<size_t>(op_names->pid_size()) >= kMaxTableRows) SendTables();
}

void Session::OnApiBegin(const ApiBegin& event) {
  ++in_;
  api_pairer_.Begin(event);
}

void Session::OnApiEnd(const ApiEnd& event) {
  ++in_;
  if (!api_pairer_.End(event, CallsSince(event.pid))) ++bad_;
}

void Session::OnApiCall(const ApiBegin& begin, int64_t end_ns, int32_t result) {
  in_ += 2;
  api_.Add(begin, std::max(end_ns, begin.time_ns), result);
  if (api_.full()) Send(&api_);
}

void Session::OnRangePush(const RangePush& event) {
  ++in_;
  if (triggers_) triggers_->OnRangeBegin(event.name);
  range_pairer_.Push(event);
}

void Session::OnRangePop(const RangePop& event) {
  ++in_;
  if (!range_pairer_.Pop(event, CallsSince(event.pid))) ++bad_;
}

void Session::OnMark(const RangePush& event) {
  ++in_;
  range_pairer_.Mark(event);
}

void Session::OnHost(const HostEvent& event) {
  ++in_;
  host_.Add(event);
  SendIfFull(&host_);
}

void Session::OnDeviceEvent(uint32_t number, const DeviceEvent& event) {
  using Kind = proto::DeviceEventBatch;
  ++in_;
  Device* device = FindDevice(number);
  if (device == nullptr) {
    ++bad_;
    return;
  }
  device->events.Add(event);
  SendIfFull(&device->events);
  // arg1 is the ticks before the clock was set, or 0 if they continue.
  if (event.kind == Kind::KIND_RESET || (event.kind == Kind::KIND_CLOCK && event.arg1 != 0)) {
    device->others.ClockSet();
  }
}

void Session::OnCounterPart(uint32_t number, const CounterPart& part) {
  ++in_;
  Device* device = FindDevice(number);
  if (device == nullptr) {
    ++bad_;
    return;
  }
  const uint32_t parts = device->assembler.Add(part);
  if (parts == 0) return;
  device->others.Cut();
  if (device->others.rows() >= kMaxBatchRows) Send(&device->others);
  device->sampled.Add(device->assembler.snapshot(), parts);
  if (device->sampled.rows() >= kMaxCounterRows) Send(&device->sampled);
}

void Session::OnOthersCommand(uint32_t number, const DeviceCommand& command) {
  Device* device = FindDevice(number);
  if (device == nullptr) return;
  device->others.Add(command);
  SendIfFull(&device->others);
}

void Session::OnBlock(proto::Packet* block, int64_t first_ns, uint32_t rows, uint64_t events) {
  in_ += events;
  SendTables();
  out_ += events;
  output_->Write(block, first_ns, rows);
}

void Session::OnCounters(uint32_t number, const CounterSnapshot& snapshot) {
  ++in_;
  Device* device = FindDevice(number);
  if (device == nullptr) {
    ++bad_;
    return;
  }
  device->read.Add(snapshot, 1);
  if (device->read.rows() >= kMaxCounterRows) Send(&device->read);
}

void Session::OnClock(uint32_t number, const ClockSample& sample) {
  ++in_;
  Device* device = FindDevice(number);
  if (device == nullptr) {
    ++bad_;
    return;
  }
  device->clocks.Add(sample);
  SendIfFull(&device->clocks);
}

void Session::OnLatch(uint32_t number, const CounterSnapshot& latch) {
  ++in_;
  Device* device = FindDevice(number);
  if (device == nullptr) {
    ++bad_;
    return;
  }
  device->latches.Add(latch, 1);
  SendIfFull(&device->latches);
}

void Session::OnLoss(const Loss& loss) {
  losses_.push_back(loss);
  if (begun_ && losses_.size() >= kMaxTableRows) SendLosses();
}

void Session::OnHop(const Hop& hop) { hops_.push_back(hop); }

void Session::OnBpfCost(uint64_t run_ns, uint64_t runs) {
  bpf_ns_ += run_ns;
  bpf_runs_ += runs;
}

}  // namespace acceltrace::daemon
