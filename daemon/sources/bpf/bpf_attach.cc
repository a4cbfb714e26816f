// SPDX-License-Identifier: Apache-2.0
//
// Attaching programs: to the driver's tracepoints, to those that providers name, to the API
// library.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"
#include "daemon/base/say.h"
#include "daemon/sources/api/api_ring_memory.h"
#include "daemon/sources/api/elf_probes.h"
#include "daemon/sources/bpf/bpf_calibration.h"
#include "daemon/sources/bpf/bpf_source_impl.h"
#include "daemon/sources/common/processes.h"

namespace acceltrace::daemon {
namespace {

// What has an event of its own. A job's other steps are recorded when it is over, the begin of a
// wait at its end.
constexpr uint32_t kTracepointKinds[] = {
    proto::HostBatch::KIND_COMPLETE, proto::HostBatch::KIND_WAKE,
    proto::HostBatch::KIND_DMA_MAP,  proto::HostBatch::KIND_DMA_UNMAP,
    proto::HostBatch::KIND_CONTEXT,  proto::HostBatch::KIND_BUFFER,
    proto::HostBatch::KIND_TIMEOUT,  proto::HostBatch::KIND_RESET,
    proto::HostBatch::KIND_LINK,     proto::HostBatch::KIND_FENCE};

// Numbers of processes are given again, but not soon.
constexpr size_t kMaxKnownThreads = 4096;
constexpr int64_t kThreadKnownNs = 1'000'000'000;
constexpr int kJobKinds = 2;  // the first of these, which the driver's own ring reports

std::string AttachReason(int error) {
  if (error == -ENOENT) return "no such probe here";
  if (error == -EINVAL) return "its arguments are not the expected ones";
  return strerror(-error);
}

}  // namespace

// errno, 0 when attached.
int BpfSource::Impl::AttachRaw(bpf_program* program, const std::string& name) {
  bpf_link* link = bpf_program__attach_raw_tracepoint(program, name.c_str());
  const int error = link != nullptr ? 0 : errno;
  handler->OnProbe("tp:" + name, error == 0, error == 0 ? "" : AttachReason(-error));
  if (link != nullptr) links.emplace_back(link);
  return error;
}

// Each of them or none: half of a pair is of no use.
Status BpfSource::Impl::AttachRoles() {
  if (options.roles.empty()) return {};
  // Where all processes are recorded, nothing else says whose a submission is.
  for (const TracepointRole& role : options.roles) {
    if (!options.system_wide || role.config.role != RoleConfig::kSubmit) continue;
    bpf_link* link =
        bpf_program__attach_raw_tracepoint(skeleton->progs.provider_seen, role.name.c_str());
    if (link == nullptr) {
      return Status::Error("cannot attach to the tracepoint " + role.system + ":" + role.name +
                           ": " + strerror(errno));
    }
    links.emplace_back(link);
  }
  providers = std::make_unique<ProviderTracepoints>(options.roles, options.system_wide,
                                                    !options.owner, this);
  if (Status status = providers->Start(); !status.ok()) return status;
  for (const TracepointRole& role : options.roles) {
    handler->OnProbe("tp:" + role.system + ":" + role.name, true, "");
  }
  for (const std::string& name : providers->Shadowed()) {
    handler->OnProbe("all-of:" + name, false,
                     "another tracer has a BPF program on it, and the kernel shows others only "
                     "what that lets through: end the other one");
  }
  return {};
}

bool BpfSource::Impl::IsTracked(uint32_t pid) {
  act_tracked value = {};
  return bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.tracked), &pid, &value) == 0;
}

bool BpfSource::Impl::IsKernelThread(uint32_t pid) {
  const int64_t now_ns = MonotonicNs();
  if (kernel_threads.size() >= kMaxKnownThreads) kernel_threads.clear();
  const auto [entry, fresh] = kernel_threads.try_emplace(pid);
  auto& [is, until_ns] = entry->second;
  if (fresh || now_ns >= until_ns) {
    is = daemon::IsKernelThread(pid);
    until_ns = now_ns + kThreadKnownNs;
  }
  return is;
}

bool BpfSource::Impl::WasTracked(uint32_t pid, int64_t time_ns, bool now) {
  const auto since = since_ns.find(pid);
  if (since != since_ns.end() && time_ns < since->second) return false;
  if (now) return true;
  const auto left = left_ns.find(pid);
  return left != left_ns.end() && time_ns < left->second;
}

void BpfSource::Impl::OnLeft(uint32_t pid, int64_t time_ns) {
  if (left_ns.size() >= ACT_MAX_TRACKED) left_ns.clear();
  left_ns[pid] = time_ns;
  // What it had opened and has handed on is not its present program's.
  const int map = bpf_map__fd(skeleton->maps.clients);
  std::vector<uint32_t> gone;
  uint32_t client = 0, next = 0, owner = 0;
  const uint32_t* last = nullptr;
  for (uint32_t looked = 0; looked < ACT_MAX_TRACKED && bpf_map_get_next_key(map, last, &next) == 0;
       ++looked, last = &client) {
    client = next;
    if (bpf_map_lookup_elem(map, &client, &owner) == 0 && owner == pid) gone.push_back(client);
  }
  for (const uint32_t each : gone) bpf_map_delete_elem(map, &each);
  client_owners.clear();
  __atomic_store_n(&skeleton->bss->last_owner, 0, __ATOMIC_RELAXED);
}

void BpfSource::Impl::OnProviderEvent(const HostEvent& event) {
  events.NoteSubmitter(event.pid, event.tid);
  if (event.kind != proto::HostBatch::KIND_SUBMIT || options.functions.empty()) {
    handler->OnHost(event);
    return;
  }
  HostEvent submission = event;
  submission.correlation = calls.At(uint64_t{event.pid} << 32 | event.tid, event.time_ns);
  handler->OnHost(submission);
}

void BpfSource::Impl::OnProviderLoss(uint64_t count, int64_t first_ns, int64_t last_ns) {
  Loss loss;
  loss.hop = "provider-ring";
  loss.count = count;
  loss.first = first_ns;
  loss.last = last_ns;
  handler->OnLoss(loss);
}

Status BpfSource::Impl::AttachFunction(const LibraryFunction& function, uint32_t index,
                                       std::vector<Link>* returns) {
  if (function.library == provider::kKernel) {
    CalibrateSystemCalls();
    return system_calls.Attach(skeleton->progs.system_call_begin, skeleton->progs.system_call_end,
                               function.name, index);
  }
  CalibrateProbes();
  LIBBPF_OPTS(bpf_uprobe_opts, at, .bpf_cookie = index, .retprobe = true,
              .func_name = function.name.c_str());
  Link end(bpf_program__attach_uprobe_opts(skeleton->progs.function_end, -1,
                                           function.library.c_str(), 0, &at));
  at.retprobe = false;
  Link begin(end ? bpf_program__attach_uprobe_opts(skeleton->progs.function_begin, -1,
                                                   function.library.c_str(), 0, &at)
                 : nullptr);
  if (!begin) return Status::Error(AttachReason(-errno));
  links.push_back(std::move(begin));
  returns->push_back(std::move(end));
  return {};
}

// Returns before entries, and detached after them, so that no call is seen to begin whose end is
// not. A function that cannot be attached to is reported and left out.
Status BpfSource::Impl::AttachFunctions() {
  std::vector<Link> returns;
  bool attached = options.functions.empty();
  std::string why;
  for (uint32_t index = 0; index < options.functions.size(); ++index) {
    const LibraryFunction& function = options.functions[index];
    if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.functions), &index, &function.config,
                            BPF_ANY) != 0) {
      return Status::Error("cannot describe " + function.name +
                           " to the kernel: " + strerror(errno));
    }
    const Status done = AttachFunction(function, index, &returns);
    const bool in_kernel = function.library == provider::kKernel;
    handler->OnProbe(
        (in_kernel ? "system-call:" : "uprobe:" + function.library + ":") + function.name,
        done.ok(), done.message());
    if (done.ok()) {
      events.NameFunction(index, function.name);
    } else if (why.empty()) {
      why = done.message();
    }
    attached = attached || done.ok();
  }
  for (Link& link : returns) links.push_back(std::move(link));
  if (attached) return {};
  return Status::Error("cannot attach to any function of " + options.functions[0].library + ": " +
                       why);
}

bool BpfSource::Impl::AttachProbe(bpf_program* program, const std::string& library,
                                  const std::string& name, const char* probe) {
  bpf_link* link =
      bpf_program__attach_usdt(program, -1, library.c_str(), kProvider, probe, nullptr);
  const int error = errno;
  handler->OnProbe("usdt:" + name + ":" + probe, link != nullptr,
                   link != nullptr ? "" : AttachReason(-error));
  if (link != nullptr) links.emplace_back(link);
  return link != nullptr;
}

bool BpfSource::Impl::AttachUsdt(const std::string& library, const std::string& name) {
  CalibrateProbes();
  const std::pair<bpf_program*, const char*> probes[] = {
      {skeleton->progs.api_begin, "api_begin"},
      {skeleton->progs.api_end, "api_end"},
      {skeleton->progs.range_push, "range_push"},
      {skeleton->progs.range_pop, "range_pop"},
      {skeleton->progs.mark, "mark"},
      {skeleton->progs.op_name, "op_name"},
  };
  bool any = false;
  for (const auto& [program, probe] : probes) any |= AttachProbe(program, library, name, probe);
  return any;
}

// Rings if the library has them, its other probes only if not. library: a path that can be
// opened here; name: what to call it.
bool BpfSource::Impl::AttachLibrary(const std::string& library, const std::string& name) {
  // The answer is there before the question: ring_ready's semaphore is what makes processes ask.
  if (!options.rings || ElfProbes(library, kProvider).count("ring_wanted") == 0 ||
      !AttachProbe(skeleton->progs.ring_wanted, library, name, "ring_wanted") ||
      !AttachProbe(skeleton->progs.ring_ready, library, name, "ring_ready")) {
    return AttachUsdt(library, name);
  }
  AttachProbe(skeleton->progs.ring_wake, library, name, "ring_wake");
  RingLibrary attached = {library, name, {}};
  if (library != name) {
    attached.file = UniqueFd(open(library.c_str(), O_RDONLY | O_CLOEXEC));
    attached.path = "/proc/self/fd/" + std::to_string(attached.file.get());
  }
  ring_libraries.push_back(std::move(attached));
  if (probes_used) UseProbes();
  return true;
}

// From now on, for processes whose rings cannot be read. Those whose rings are read are
// not recorded twice: their programs do nothing.
void BpfSource::Impl::UseProbes() {
  probes_used = true;
  if (ring_user) ring_user->HasProbes();
  const WithRights rights(Rights::kAttaching);
  for (const RingLibrary& library : std::exchange(ring_libraries, {})) {
    AttachUsdt(library.path, library.name);
  }
}

// Another recording of this daemon may have the rings of a process: probes are then there before
// the process makes its first call.
void BpfSource::Impl::ShareRings() {
  ring_user = std::make_unique<RingUser>(
      [map = bpf_map__fd(skeleton->maps.tracked), all = options.system_wide](uint32_t pid) {
        act_tracked value;
        return all || bpf_map_lookup_elem(map, &pid, &value) == 0;
      });
  if (options.system_wide && ring_user->AnyOther()) UseProbes();
}

// why: of what is new the copy's name, else what is in the way.
LibraryFinder::Found BpfSource::Impl::LookForLibrary(uint32_t pid, std::string* why) {
  if (!options.rings && !options.usdt) return LibraryFinder::Found::kKnown;
  std::optional<ProbeGate> gate;  // only to attach: else its calls are seen already
  std::string copy;
  const LibraryFinder::Found found = finder.Look(
      pid,
      [&](const std::string& path, const std::string& name) {
        if (!gate) gate.emplace(this, pid);
        const WithRights rights(Rights::kAttaching);
        copy = name;
        return AttachLibrary(path, name);
      },
      why);
  if (found == LibraryFinder::Found::kNew) *why = copy;
  return found;
}

// Of a process that has no copy of the library mapped, or ended before that could be looked at.
std::string BpfSource::Impl::NoLibraryReason(uint32_t pid, bool looked_at) const {
  if (looked_at && access(fmt::format("/proc/{}/maps", pid).c_str(), F_OK) == 0) {
    return fmt::format(
        "it has no library with probes of {} mapped: the one that it runs was made without "
        "sys/sdt.h, or lost its section .note.stapsdt; take one that has them",
        kProvider);
  }
  return fmt::format(
      "it ended before its libraries could be looked at, and runs another copy of the API library "
      "than {}: name its copy with --libaxl FILE, or put its folder into LD_LIBRARY_PATH",
      options.libraries.empty() ? "any that was found"
                                : fmt::format("{}", fmt::join(options.libraries, ", ")));
}

void BpfSource::Impl::UseProbesFor(uint32_t pid) {
  if (probes_used) return;
  const ProbeGate gate(this, pid);
  UseProbes();
}

// What the process does meanwhile is recorded; its calls are whole from here on.
void BpfSource::Impl::SeeCallsFromHere(uint32_t pid) {
  handler->OnProcessEvent({MonotonicNs(), proto::ProcessEvents::KIND_CALLS, pid, pid, 0});
}

// Of a process that is recorded from now on.
void BpfSource::Impl::SeeCalls(uint32_t pid) {
  const bool had_probes = probes_used;
  if (ring_user && ring_user->OtherRecords(pid)) UseProbesFor(pid);
  std::string why;  // is reported when it uses a device
  const bool fresh = LookForLibrary(pid, &why) == LibraryFinder::Found::kNew;
  (void)AdoptRings(pid);
  if (fresh || probes_used != had_probes) SeeCallsFromHere(pid);
}

// A process makes rings as soon as the kernel has begun to attach to its library, and says so once:
// perhaps before there was a program to hear it. true: its calls are seen from now on.
bool BpfSource::Impl::AdoptRings(uint32_t pid) {
  if (!options.rings || rings.has(pid)) return false;
  if (ring_user && ring_user->LeavesTo(pid)) return false;
  if (rings.Adopt(pid)) {
    SetRinged(pid);
    return true;
  }
  if (FindSegments(pid).empty()) return false;
  // Another recording reads them, or they are not whole yet: one of both ways, or calls come twice.
  probed.insert(pid);
  UseProbesFor(pid);
  return true;
}

void BpfSource::Impl::LookAtUsers(const std::set<uint32_t>& pids) {
  for (const uint32_t pid : pids) {
    submitters.erase(pid);
    OnDriverUse(pid);
  }
}

// A process uses a device without a call of the library having been seen: it may run a
// copy that nobody knew of.
void BpfSource::Impl::OnDriverUse(uint32_t pid) {
  if (!options.rings && !options.usdt) return;
  const auto [user, fresh] = users.try_emplace(pid);
  if (!fresh || rings.has(pid) || events.SawCalls(pid)) return;
  std::string why;
  const LibraryFinder::Found found = LookForLibrary(pid, &why);
  switch (found) {
    case LibraryFinder::Found::kNew:
    case LibraryFinder::Found::kKnown:
      if (!AdoptRings(pid) && found == LibraryFinder::Found::kKnown) return;  // on their way
      if (found == LibraryFinder::Found::kNew) {
        Say(fmt::format(
            "process {} runs another copy of the API library, {}: its calls are seen from now on; "
            "--libaxl {} has them seen from the first one",
            pid, why, why));
        user->second = fmt::format(
            "its copy of the API library, {}, was found after its last call: name it with "
            "--libaxl {}, or put its folder into LD_LIBRARY_PATH",
            why, why);
      }
      SeeCallsFromHere(pid);
      return;
    case LibraryFinder::Found::kNothing:
      why = NoLibraryReason(pid, true);
      break;
    case LibraryFinder::Found::kUnreadable:
      break;
  }
  Say(fmt::format("warning: API calls of process {} cannot be seen: {}", pid, why));
  user->second = why;
}

void BpfSource::Impl::ReportUnseen() {
  if (!options.rings && !options.usdt) return;  // nobody asked for them
  for (const auto& [pid, why] : users) {
    if (!rings.Had(pid) && !events.SawCalls(pid)) {
      handler->OnUnseen(pid, why.empty() ? NoLibraryReason(pid, false) : why);
    }
  }
}

void BpfSource::Impl::SetRinged(uint32_t pid) {
  const uint8_t one = 1;
  (void)bpf_map_update_elem(bpf_map__fd(skeleton->maps.ringed), &pid, &one, BPF_ANY);
}

void BpfSource::Impl::OnRingReady(uint32_t pid, const SegmentPlace& place) {
  if (ring_user && !rings.has(pid) && ring_user->LeavesTo(pid)) return;
  if (probed.count(pid) != 0) return;
  if (const auto late = rings.Take(pid, place); late.ok()) {
    SetRinged(pid);
    if (late.value()) SeeCallsFromHere(pid);
  } else if (!rings.has(pid) && !probes_used) {
    UseProbesFor(pid);
    probed.insert(pid);
    SeeCallsFromHere(pid);
  }
}

void BpfSource::Impl::Calibrate() {
  if (options.driver) {
    const Measured program = CalibrateTracepoint(skeleton->progs.calibrate_tracepoint);
    const bool stamped = options.jobs && program.ns > 0;
    const Measured stamps = stamped ? MeasureJobStamps() : Measured{};
    handler->OnEventCost({"tracepoint",
                          program.ns + stamps.ns,
                          program.error_ns + stamps.error_ns,
                          {std::begin(kTracepointKinds) + (options.jobs ? 0 : kJobKinds),
                           std::end(kTracepointKinds)}});
  }
  if (!options.driver && !options.roles.empty()) {
    const Measured sample = CalibrateSample();
    handler->OnEventCost({"tracepoint",
                          sample.ns,
                          sample.error_ns,
                          {proto::HostBatch::KIND_SUBMIT, proto::HostBatch::KIND_DOORBELL,
                           proto::HostBatch::KIND_COMPLETE},
                          [this] { return providers ? providers->fired() : 0; }});
  }
  if (options.rings) {
    CalibrateRings();
  }
  if (options.stacks) {  // deep ones take longer: each is measured
    EventCost cost = {"stack"};
    cost.events = [this] { return StackRuns(); };
    cost.each_ns = [this] {
      const uint64_t runs = StackRuns();
      const uint64_t all_ns = __atomic_load_n(&skeleton->bss->stack_ns, __ATOMIC_RELAXED);
      return runs == 0 ? 0 : static_cast<double>(all_ns) / static_cast<double>(runs);
    };
    handler->OnEventCost(cost);
  }
}

uint64_t BpfSource::Impl::StackRuns() const {
  return __atomic_load_n(&skeleton->bss->stack_runs, __ATOMIC_RELAXED);
}

void BpfSource::Impl::CalibrateRings() {
  using Count = std::function<uint64_t()>;
  const auto add = [this](const char* kind, const Measured& cost, Count count) {
    handler->OnEventCost({kind, cost.ns, cost.error_ns, {}, std::move(count)});
  };
  // What was lost counts as begins of calls.
  add("shared-memory", MeasureRingEvent(RingCall::kBegin), [this] {
    const ApiRings::Written& written = rings.written();
    const uint64_t others = written.texts + written.ends + written.begins_without_stream;
    const uint64_t in = rings.Account().in;
    return in - std::min(in, others);
  });
  add("shared-memory-no-stream", MeasureRingEvent(RingCall::kBeginWithoutStream),
      [this] { return rings.written().begins_without_stream; });
  add("shared-memory-end", MeasureRingEvent(RingCall::kEnd),
      [this] { return rings.written().ends; });
  add("shared-memory-text", MeasureRingText(), [this] { return rings.written().texts; });
  EventCost set_up = {"shared-memory-ring"};
  set_up.events = [this] { return rings.written().rings; };
  set_up.each_ns = [this] {
    const ApiRings::Written& written = rings.written();
    return written.rings == 0 ? 0 : written.rings_ns / static_cast<double>(written.rings);
  };
  handler->OnEventCost(set_up);
}

// Takes milliseconds: where the rings do, it is left.
void BpfSource::Impl::CalibrateProbes() {
  if (std::exchange(probes_calibrated, true)) return;
  const Measured cost = CalibrateUsdt(skeleton->progs.calibrate_usdt);
  EventCost probe = {"usdt", cost.ns, cost.error_ns};
  // System calls are counted at the same hop.
  probe.events = [this] {
    const uint64_t all = ReadHops(false)[ACT_HOP_API].seen;
    return all - std::min<uint64_t>(all, skeleton->bss->system_calls);
  };
  handler->OnEventCost(probe);
}

void BpfSource::Impl::CalibrateSystemCalls() {
  if (!system_calls.empty()) return;
  const Measured cost = CalibrateSystemCall(skeleton->progs.calibrate_system_call_begin,
                                            skeleton->progs.calibrate_system_call_end);
  EventCost call = {"system-call", cost.ns, cost.error_ns};
  call.events = [this] { return skeleton->bss->system_calls; };
  handler->OnEventCost(call);
}

}  // namespace acceltrace::daemon
