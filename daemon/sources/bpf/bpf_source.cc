// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"
#include "daemon/base/say.h"
#include "daemon/sources/bpf/bpf_source_impl.h"
#include "daemon/sources/common/bpf_error.h"
#include "daemon/sources/common/processes.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kLossCheckNs = 100'000'000;
constexpr const char* kHopNames[ACT_NUM_HOPS] = {"bpf-api", "bpf-driver", "bpf-process",
                                                 "bpf-stacks"};

uint64_t Position(const Mapping& page) {
  return __atomic_load_n(static_cast<const uint64_t*>(page.get()), __ATOMIC_RELAXED);
}

// Tracepoints that fire for each wait or buffer and add detail only: a job is known without.
bool IsFrequentDetail(std::string_view name) {
  for (const char* detail : {"axl_wake", "axl_dma_map", "axl_dma_unmap", "axl_buf"}) {
    if (name == detail) return true;
  }
  return false;
}

constexpr char kNotYours[] =
    " does not run as you alone, or may not be looked into; only root may record it";

// libbpf's last warning says more than its error code.
thread_local std::string last_warning;

int Print(libbpf_print_level level, const char* format, va_list args) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  const int length = vsnprintf(line, sizeof(line), format, args);
  last_warning = line;
  while (!last_warning.empty() && last_warning.back() == '\n') last_warning.pop_back();
  return length;
}

}  // namespace

Status BpfSource::Impl::Load() {
  libbpf_set_print(Print);
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  last_warning.clear();
  skeleton = tracer_bpf__open();
  if (skeleton == nullptr) return BpfLoadError(-errno, last_warning);
  skeleton->rodata->self_pid = static_cast<uint32_t>(getpid());
  skeleton->rodata->pid_ns = PidNamespace();
  skeleton->rodata->system_wide = options.system_wide;
  skeleton->rodata->device_mask = options.device_mask;
  skeleton->rodata->wake_bytes = options.ring_bytes / 4;
  skeleton->rodata->owner_uid = options.owner.value_or(ACT_ANY_USER);
  if (bpf_map__set_max_entries(skeleton->maps.ring, options.ring_bytes) != 0) {
    return Status::Error("BPF ring size " + std::to_string(options.ring_bytes) + " refused");
  }
  skeleton->rodata->take_stacks = options.stacks;
  if (!options.stacks) (void)bpf_map__set_max_entries(skeleton->maps.stacks, 1);
  const bool system_calls =
      std::any_of(options.functions.begin(), options.functions.end(),
                  [](const LibraryFunction& one) { return one.library == provider::kKernel; });
  for (bpf_program* program :
       {skeleton->progs.system_call_begin, skeleton->progs.system_call_end,
        skeleton->progs.calibrate_system_call_begin, skeleton->progs.calibrate_system_call_end}) {
    if (Status status = SystemCalls::Prepare(program, system_calls); !status.ok()) return status;
  }
  if (const int error = tracer_bpf__load(skeleton)) {
    const Status failed = BpfLoadError(error, last_warning);
    if (!system_calls) return failed;
    return Status::Error(failed.message() +
                         " (programs at system calls were asked for, which some kernels refuse)");
  }
  ring.reset(ring_buffer__new(bpf_map__fd(skeleton->maps.ring), OnRecord, this, nullptr));
  if (!ring) return Status::Error(std::string("cannot map the BPF ring: ") + strerror(errno));
  const size_t bytes = ACT_MAX_DEVICES * ACT_MAX_CONTEXTS * 8;  // array values are 8 bytes apart
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                       bpf_map__fd(skeleton->maps.context_owner), 0);
  if (address == MAP_FAILED) return Status::Error("cannot map the BPF context table");
  owners = Mapping(address, bytes);
  return MapPositions();
}

// They lie in the ring's first two pages, a page each.
Status BpfSource::Impl::MapPositions() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int fd = bpf_map__fd(skeleton->maps.ring);
  for (Mapping* mapping : {&consumed, &produced}) {
    const off_t at = mapping == &consumed ? 0 : static_cast<off_t>(page);
    void* address = mmap(nullptr, page, PROT_READ, MAP_SHARED, fd, at);
    if (address == MAP_FAILED) {
      return Status::Error(std::string("cannot map the BPF ring's positions: ") + strerror(errno));
    }
    *mapping = Mapping(address, page);
  }
  return {};
}

// report: losses that were not reported yet are.
BpfSource::Impl::HopTotals BpfSource::Impl::ReadHops(bool report) {
  const auto cpus = static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1));
  std::vector<act_counts> values(cpus);
  HopTotals totals = {};
  for (uint32_t hop = 0; hop < ACT_NUM_HOPS; ++hop) {
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.hops), &hop, values.data()) != 0) continue;
    std::vector<act_losses>& reported = reported_by_cpu[hop];
    reported.resize(cpus);
    HopTotal& total = totals[hop];
    for (size_t cpu = 0; cpu < cpus; ++cpu) {
      const act_counts& value = values[cpu];
      total.seen += value.seen;
      total.lost += Lost(value.lost);
      total.span.WidenByNew(value.lost, reported[cpu]);
      if (report) reported[cpu] = value.lost;
    }
  }
  // Those whose frames were lost on the way.
  totals[ACT_HOP_STACK].lost += events.unknown_stacks();
  if (report) {
    const auto [first_ns, last_ns] = events.TakeUnknownSpan();
    const auto first = static_cast<uint64_t>(first_ns), last = static_cast<uint64_t>(last_ns);
    if (last != 0) totals[ACT_HOP_STACK].span.Widen(first, last);
  }
  return totals;
}

void BpfSource::Impl::ReportLosses() {
  BeginEpoch(&skeleton->data->drain_epoch);
  const HopTotals totals = ReadHops(true);
  for (int hop = 0; hop < ACT_NUM_HOPS; ++hop) {
    if (totals[hop].lost <= reported_lost[hop]) continue;
    Loss loss;
    loss.hop = kHopNames[hop];
    loss.count = totals[hop].lost - reported_lost[hop];
    loss.first = static_cast<int64_t>(totals[hop].span.first_ns);
    loss.last = static_cast<int64_t>(totals[hop].span.last_ns);
    reported_lost[hop] = totals[hop].lost;
    handler->OnLoss(loss);
  }
}

BpfSource::BpfSource(BpfOptions options, EventHandler* handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}

BpfSource::~BpfSource() = default;

Status BpfSource::Start() {
  if (Status status = impl_->Load(); !status.ok()) return status;
  tracer_bpf* skeleton = impl_->skeleton;
  impl_->Calibrate();
  if (impl_->options.run_stats) {
    impl_->stats_fd.Reset(bpf_enable_stats(BPF_STATS_RUN_TIME));
    impl_->handler->OnProbe("bpf-run-time", impl_->stats_fd.valid(),
                            impl_->stats_fd.valid() ? "" : strerror(errno));
  }
  impl_->AttachRaw(skeleton->progs.process_fork, "sched_process_fork");
  impl_->AttachRaw(skeleton->progs.process_exec, "sched_process_exec");
  impl_->AttachRaw(skeleton->progs.process_rename, "task_rename");
  impl_->AttachRaw(skeleton->progs.process_exit, "sched_process_exit");
  if (impl_->options.driver) {
    bpf_program* program;
    bpf_object__for_each_program(program, skeleton->obj) {
      const std::string name = bpf_program__name(program);
      if (name.rfind("axl_", 0) != 0) continue;
      if (impl_->options.light && IsFrequentDetail(name)) continue;
      if (!impl_->options.jobs && (name == "axl_job" || name == "axl_wake")) continue;
      if (impl_->AttachRaw(program, name) == EINVAL) {
        // Where one has other arguments, none can be trusted to mean what we think.
        return Status::Error("the loaded axl.ko has a tracepoint " + name +
                             " with other arguments: load the axl.ko built with this acceltraced");
      }
    }
  }
  if (Status status = impl_->AttachRoles(); !status.ok()) return status;
  if (Status status = impl_->AttachFunctions(); !status.ok()) return status;
  for (const std::string& library : impl_->options.libraries) {
    if (!impl_->finder.Know(library)) continue;
    if (impl_->options.rings) {
      impl_->AttachLibrary(library, library);
    } else if (impl_->options.usdt) {
      impl_->AttachUsdt(library, library);
    }
  }
  if (impl_->options.rings) impl_->ShareRings();
  return {};
}

bool BpfSource::Impl::CollectProvided(int64_t now_ns) {
  std::vector<std::string> warnings;
  providers->LookForCpus(now_ns, &warnings);
  for (const std::string& warning : warnings) {
    Say("warning: " + warning);
  }
  return providers->Collect();
}

Pace BpfSource::Drain(int64_t now_ns) {
  const uint32_t filled = fill_permille();
  // What the other records say of a submitter comes before its submissions are reported.
  const bool provided = impl_->providers == nullptr || impl_->CollectProvided(now_ns);
  // First the rings: what the other records say of a thread's end comes after its calls.
  Pace pace = impl_->rings.Drain(now_ns);
  const std::set<uint32_t> users = impl_->submitters;
  impl_->drained_records = 0;
  (void)ring_buffer__consume(impl_->ring.get());
  const bool more = impl_->drained_records >= kMaxRecordsPerDrain;
  if (!more) impl_->LookAtUsers(users);
  if (!more) __atomic_store_n(&impl_->skeleton->bss->awake, 0, __ATOMIC_RELAXED);
  if (!more && impl_->providers != nullptr) impl_->providers->Match();
  if (now_ns - impl_->last_loss_check_ns >= kLossCheckNs) {
    impl_->last_loss_check_ns = now_ns;
    impl_->ReportLosses();
  }
  pace.fill_permille = std::max(pace.fill_permille, filled);
  if (more || !provided) pace.next_ns = now_ns;
  return pace;
}

// A program that is entered again on its own CPU is skipped by the kernel and counts nothing
// itself.
BpfSource::BpfCost BpfSource::Cost() const {
  BpfCost cost;
  const auto add = [&cost](int program, bool misses) {
    bpf_prog_info info = {};
    uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(program, &info, &bytes) != 0) return;
    cost.run_ns += info.run_time_ns;
    cost.runs += info.run_cnt;
    if (misses) cost.missed += info.recursion_misses;
  };
  bpf_program* program;
  bpf_object__for_each_program(program, impl_->skeleton->obj) {
    // A process that has submitted is reported by another program, or by this one the next time.
    add(bpf_program__fd(program), program != impl_->skeleton->progs.provider_seen);
  }
  for (const UniqueFd& copy : impl_->system_calls.programs()) add(copy.get(), true);
  return cost;
}

std::vector<Hop> BpfSource::Hops() {
  const Impl::HopTotals totals = impl_->ReadHops(false);
  std::vector<Hop> hops;
  for (int hop = 0; hop < ACT_NUM_HOPS; ++hop) {
    const act_hop which = static_cast<act_hop>(hop);
    if (which == ACT_HOP_STACK && !impl_->options.stacks) continue;
    Hop account = {kHopNames[hop], totals[hop].seen, impl_->events.out(which), totals[hop].lost,
                   impl_->events.bad(which)};
    const uint64_t accounted = account.out + account.lost + account.bad;
    // Records of processes are the source's own: the session gets what it makes of them.
    if (which != ACT_HOP_PROCESS) account.into = kSessionHop;
    // While programs run, records wait in the ring; afterwards a difference is an error.
    if (!impl_->links.empty() && account.in > accounted) account.waiting = account.in - accounted;
    hops.push_back(std::move(account));
  }
  if (impl_->providers != nullptr) {
    Hop hop = impl_->providers->Accounts();
    const uint64_t accounted = hop.out + hop.lost + hop.bad;
    if (!impl_->links.empty() && hop.in > accounted) hop.waiting = hop.in - accounted;
    hops.push_back(std::move(hop));
    if (Hop order = impl_->providers->Order(); order.in > 0) hops.push_back(std::move(order));
  }
  // At the end they report their own account.
  if (!impl_->links.empty() && impl_->options.rings) hops.push_back(impl_->rings.Account());
  return hops;
}

void BpfSource::Checkpoint() {
  if (impl_->providers == nullptr) return;
  impl_->providers->ProveAll([this] {
    (void)impl_->rings.Drain(MonotonicNs());
    (void)ring_buffer__consume(impl_->ring.get());
  });
}

void BpfSource::Flush() { impl_->events.Flush(); }

void BpfSource::Stop() {
  ProviderTracepoints* providers = impl_->providers.get();
  if (providers != nullptr) {
    providers->Disable();
    providers->ProveAll([this] { (void)ring_buffer__consume(impl_->ring.get()); });
    providers->HoldBackNothing();
    while (!providers->Collect()) {
    }
  }
  impl_->ring_user.reset();
  impl_->system_calls.Detach();
  impl_->links.clear();  // no program runs after this
  do {
    impl_->drained_records = 0;
    (void)ring_buffer__consume(impl_->ring.get());
  } while (impl_->drained_records > 0);
  if (providers != nullptr) {
    providers->Match();
    providers->ReportRest();
  }
  if (impl_->options.rings) impl_->rings.Stop();
  for (const uint32_t pid : impl_->submitters) impl_->users.try_emplace(pid);
  impl_->ReportUnseen();
  impl_->events.Flush();
  impl_->ReportLosses();

  const BpfCost cost = Cost();
  impl_->handler->OnBpfCost(cost.run_ns, cost.runs);
  const uint64_t missed = cost.missed;
  if (missed > 0) {
    Loss loss;
    loss.hop = "bpf-recursion";
    loss.count = missed;
    impl_->handler->OnLoss(loss);
    impl_->handler->OnHop({"bpf-recursion", missed, 0, missed, 0});
  }
  for (const Hop& hop : Hops()) impl_->handler->OnHop(hop);
  impl_->stats_fd.Reset();
}

uint64_t BpfSource::api_bound_ns() const { return impl_->rings.bound_ns(); }

// Records of providers are held back until their order is proven: nothing waits for that.
void BpfSource::Mark() {
  impl_->mark = Position(impl_->produced);
  impl_->rings.Mark();
}

bool BpfSource::PassedMark() {
  return static_cast<int64_t>(Position(impl_->consumed) - impl_->mark) >= 0 &&
         impl_->rings.PassedMark();
}

uint32_t BpfSource::fill_permille() const {
  const uint64_t consumed = Position(impl_->consumed);
  const uint64_t used =
      std::min<uint64_t>(Position(impl_->produced) - consumed, impl_->options.ring_bytes);
  const auto permille = static_cast<uint32_t>(used * 1000 / impl_->options.ring_bytes);
  const uint32_t provided = impl_->providers == nullptr ? 0 : impl_->providers->fill_permille();
  return std::max({permille, impl_->rings.Filling(), provided});
}

void BpfSource::LeaveJobs() { impl_->options.jobs = false; }

WakeFd BpfSource::wake() const { return {bpf_map__fd(impl_->skeleton->maps.ring), WakeFd::kEdge}; }

WakeFd BpfSource::provider_wake() const {
  if (impl_->providers == nullptr) return {};
  return {impl_->providers->wake_fd(), WakeFd::kOwnedEdge};
}

Status BpfSource::MayTrack(uint32_t pid) const {
  const std::string name = "process " + std::to_string(pid);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return Status::Error("no " + name + "; it may have exited already");
  if (!impl_->options.owner || ProcessUser(pid) == impl_->options.owner) return {};
  return Status::Error(name + kNotYours);
}

Status BpfSource::Track(uint32_t pid) {
  const std::string name = "process " + std::to_string(pid);
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid() && errno != ESRCH) {
    return Status::Error("cannot follow " + name + ": " + strerror(errno));
  }
  if (!pidfd.valid()) return Status::Error("no " + name + "; it may have exited already");
  const auto others = [&] {
    return impl_->options.owner && ProcessUser(pid) != impl_->options.owner;
  };
  const std::string refusal = name + kNotYours;
  if (others()) return Status::Error(refusal);
  const int map = bpf_map__fd(impl_->skeleton->maps.tracked);
  // An earlier process of this number is no reason: this one lives.
  act_tracked value = {};
  if (bpf_map_lookup_elem(map, &pid, &value) == 0 && value.exited != 0) {
    bpf_map_delete_elem(map, &pid);
  }
  value = {};
  const bool fresh = bpf_map_update_elem(map, &pid, &value, BPF_NOEXIST) == 0;
  const int64_t since_ns = MonotonicNs();  // all of it is seen from here on
  if (!fresh && errno != EEXIST) {
    return Status::Error("cannot follow " + name + ": " + strerror(errno));
  }
  // Still the process that was looked at: its number was not given to another.
  pollfd exited = {pidfd.get(), POLLIN, 0};
  if (poll(&exited, 1, 0) != 0) {
    bpf_map_delete_elem(map, &pid);
    return Status::Error("no " + name + "; it has exited");
  }
  // A program with other rights that it began before it was followed went unnoticed.
  if (fresh && others()) {
    bpf_map_delete_elem(map, &pid);
    return Status::Error(refusal);
  }
  if (fresh) {
    ++impl_->tracked_here;
    impl_->since_ns[pid] = since_ns;
    impl_->handler->OnProcessEvent({since_ns, proto::ProcessEvents::KIND_ATTACHED, pid, pid, 0});
  }
  impl_->events.NoteExisting(pid);
  impl_->SeeCalls(pid);
  return {};
}

int64_t BpfSource::since_ns(uint32_t pid) const {
  const auto found = impl_->since_ns.find(pid);
  return found == impl_->since_ns.end() ? 0 : found->second;
}

uint64_t BpfSource::tracked_changes() const {
  const uint32_t* in_kernel = &impl_->skeleton->bss->last_image;
  return impl_->tracked_here + __atomic_load_n(in_kernel, __ATOMIC_ACQUIRE);
}

int BpfSource::tracked_fd() const { return bpf_map__fd(impl_->skeleton->maps.tracked); }

bool BpfSource::Wanted(uint32_t device, uint32_t context, uint64_t correlation) {
  if (impl_->options.system_wide) return true;
  if (correlation >> 32 != 0) return WantedClient(static_cast<uint32_t>(correlation >> 32));
  if (context == kNoContext) return true;
  const uint32_t* owner = impl_->ContextOwner(device, context);
  return owner != nullptr && __atomic_load_n(owner, __ATOMIC_RELAXED) != 0;
}

// What a client is never changes, but that its process may stop being recorded (OnLeft).
uint32_t BpfSource::Impl::ClientOwner(uint32_t client) {
  const auto cached = client_owners.find(client);
  if (cached != client_owners.end()) return cached->second;
  uint32_t pid = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.clients), &client, &pid) != 0) return 0;
  if (client_owners.size() >= ACT_MAX_TRACKED) client_owners.clear();
  client_owners[client] = pid;
  return pid;
}

bool BpfSource::WantedClient(uint32_t client) {
  return impl_->options.system_wide || impl_->ClientOwner(client) != 0;
}

void BpfSource::NoteClients(const std::vector<DeviceClient>& clients) {
  const int map = bpf_map__fd(impl_->skeleton->maps.clients);
  for (const DeviceClient& each : clients) {
    if (each.pid == 0 || (!impl_->options.system_wide && !impl_->IsTracked(each.pid))) continue;
    (void)bpf_map_update_elem(map, &each.client, &each.pid, BPF_NOEXIST);
  }
}

uint32_t* BpfSource::Impl::ContextOwner(uint32_t device, uint32_t context) {
  if (device >= ACT_MAX_DEVICES || context >= ACT_MAX_CONTEXTS) return nullptr;
  char* slot = static_cast<char*>(owners.get()) + 8 * (device * ACT_MAX_CONTEXTS + context);
  return reinterpret_cast<uint32_t*>(slot);
}

void BpfSource::NoteJob(uint32_t device, uint32_t context, uint32_t pid, uint64_t correlation) {
  const uint32_t owner = impl_->ClientOwner(static_cast<uint32_t>(correlation >> 32));
  if (owner != 0) pid = owner;
  if (pid == 0) return;
  if (uint32_t* slot = impl_->ContextOwner(device, context)) {
    __atomic_store_n(slot, pid, __ATOMIC_RELAXED);
  }
  // What it was before and what its library said is in records that may not be read yet.
  if (static_cast<uint32_t>(correlation) != 0 && impl_->users.count(pid) == 0) {
    impl_->submitters.insert(pid);
  }
}

}  // namespace acceltrace::daemon
