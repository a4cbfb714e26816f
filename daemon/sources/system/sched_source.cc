// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/system/sched_source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/base/host_info.h"
#include "daemon/bpf/records.h"
#include "daemon/bpf/sched.skel.h"
#include "daemon/bpf/sched_records.h"
#include "daemon/sources/common/bpf_error.h"
#include "daemon/sources/common/bpf_misses.h"
#include "daemon/sources/common/loss_span.h"
#include "daemon/sources/common/processes.h"
#include "daemon/sources/system/run_rows.h"
#include "daemon/sources/system/thread_counts.h"

namespace acceltrace::daemon {
namespace {

constexpr const char* kHopName = "sched";
constexpr uint32_t kMaxRecordsPerDrain = 8192;
constexpr int kDrainFull = -ECANCELED;
constexpr int64_t kLossCheckNs = 100'000'000;
constexpr size_t kMaxNamed = 1 << 18, kMaxWaits = 1 << 16;

// Returns what a running thread was counted since its last record.
act_thread_counts CountsSince(uint32_t pid, uint32_t tid, const act_thread_counts& recorded) {
  const std::optional<act_thread_counts> now = ReadThreadCounts(pid, tid);
  act_thread_counts since = {};
  if (!now) return since;
  const auto grown = [](uint64_t to, uint64_t from) { return to - std::min(to, from); };
  since.charged_ns = grown(now->charged_ns, recorded.charged_ns);
  since.minor_faults = grown(now->minor_faults, recorded.minor_faults);
  since.major_faults = grown(now->major_faults, recorded.major_faults);
  since.voluntary = grown(now->voluntary, recorded.voluntary);
  since.involuntary = grown(now->involuntary, recorded.involuntary);
  return since;
}

}  // namespace

struct SchedSource::Impl {
  Impl(SchedOptions options_in, EventHandler* handler_in)
      : options(std::move(options_in)), handler(handler_in) {}
  ~Impl() {
    if (ring != nullptr) ring_buffer__free(ring);
    sched_bpf__destroy(skeleton);
  }

  struct Sum {  // act_sched_counts of all CPUs
    uint64_t seen = 0, lost = 0, no_room = 0, inferred = 0;
  };

  static int OnRecord(void* context, void* data, size_t bytes) {
    auto* self = static_cast<Impl*>(context);
    self->Handle(data, bytes);
    return ++self->drained >= kMaxRecordsPerDrain ? kDrainFull : 0;
  }

  Status Load(bool know_interrupts);
  void Handle(const void* data, size_t bytes);
  uint32_t WaitName(uint64_t address);
  void NameThread(uint32_t pid, uint32_t tid);
  Sum Counts(bool report, LossSpan* span);
  void ReportLosses();
  void ReportOpen(bool at_end);
  void Send();
  void Consume();

  SchedOptions options;
  EventHandler* handler;
  sched_bpf* skeleton = nullptr;
  ring_buffer* ring = nullptr;
  std::unordered_map<uint64_t, uint32_t> waits;  // address to string id
  std::unordered_set<uint64_t> named;            // pid << 32 | tid
  RunRows rows;
  uint32_t drained = 0;
  uint64_t out = 0, bad = 0, open = 0, reported_lost = 0, reported_no_room = 0;
  std::vector<act_losses> reported_by_cpu;  // of reported_lost
  int64_t last_loss_check_ns = 0;
  bool attached = false;
};

SchedSource::SchedSource(SchedOptions options, EventHandler* handler)
    : impl_(std::make_unique<Impl>(std::move(options), handler)) {}

SchedSource::~SchedSource() = default;

Status SchedSource::Impl::Load(bool know_interrupts) {
  sched_bpf__destroy(std::exchange(skeleton, nullptr));
  skeleton = sched_bpf__open();
  if (skeleton == nullptr) return Status::Error(strerror(errno));
  skeleton->rodata->self_pid = static_cast<uint32_t>(getpid());
  skeleton->rodata->system_wide = options.system_wide;
  skeleton->rodata->owner_uid = options.owner.value_or(ACT_ANY_USER);
  skeleton->rodata->wake_bytes = options.ring_bytes / 4;
  (void)bpf_program__set_autoload(
      know_interrupts ? skeleton->progs.sched_waking_by : skeleton->progs.sched_waking, true);
  if (bpf_map__set_max_entries(skeleton->maps.sched_ring, options.ring_bytes) != 0 ||
      (!options.system_wide &&
       bpf_map__reuse_fd(skeleton->maps.tracked, options.tracked_fd) != 0)) {
    return Status::Error(std::string("its maps are refused: ") + strerror(errno));
  }
  if (options.system_wide) (void)bpf_map__set_max_entries(skeleton->maps.tracked, 1);
  if (const int error = sched_bpf__load(skeleton)) return BpfLoadError(error);
  return {};
}

Status SchedSource::Start() {
  Impl& impl = *impl_;
  // The scheduler uses the machine's own pids, also for threads that must not be visible here.
  if (PidNamespace() != 0) {
    return Status::Error("it needs a recorder outside of containers: record on the host");
  }
  const bool know_interrupts = impl.Load(true).ok();
  if (!know_interrupts) {
    if (Status status = impl.Load(false); !status.ok()) return status;
  }
  impl.handler->OnProbe("sched:waking-interrupts", know_interrupts,
                        know_interrupts ? "" : "this kernel does not report them to programs");
  impl.ring =
      ring_buffer__new(bpf_map__fd(impl.skeleton->maps.sched_ring), Impl::OnRecord, &impl, nullptr);
  if (impl.ring == nullptr)
    return Status::Error(std::string("cannot map its ring: ") + strerror(errno));
  if (const int error = sched_bpf__attach(impl.skeleton)) {
    return Status::Error(std::string("cannot attach to the scheduler's tracepoints: ") +
                         strerror(-error));
  }
  impl.attached = true;
  impl.handler->OnProbe(kHopName, true, "");
  return {};
}

void SchedSource::Impl::Handle(const void* data, size_t bytes) {
  act_run run;
  if (bytes < sizeof(run)) {
    ++bad;
    return;
  }
  std::memcpy(&run, data, sizeof(run));
  if (run.waker_tid != 0 && run.waker_irq == 0) NameThread(run.waker_pid, run.waker_tid);
  if (options.system_wide) NameThread(run.pid, run.tid);
  if (!rows.Add(run, options.since_ns(run.pid), WaitName(run.wait))) {
    ++bad;
    return;
  }
  ++out;
  if (rows.full()) Send();
}

uint32_t SchedSource::Impl::WaitName(uint64_t address) {
  if (address == 0) return 0;
  const auto known = waits.find(address);
  if (known != waits.end()) return known->second;
  if (waits.size() >= kMaxWaits) waits.clear();
  LIBBPF_OPTS(bpf_test_run_opts, run);
  skeleton->bss->asked_address = address;
  std::string_view name;
  if (bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.name_function), &run) == 0) {
    name = skeleton->bss->name_of_asked;
    name = name.substr(0, name.find(' '));  // in a module: "name [module]"
    if (name.starts_with("0x")) name = {};  // it has no name
  }
  return waits[address] = name.empty() ? 0 : handler->Intern(name);
}

// Names of recorded processes are known; this reports those of other threads that wake them, or
// that are recorded system-wide.
void SchedSource::Impl::NameThread(uint32_t pid, uint32_t tid) {
  if (named.size() >= kMaxNamed) named.clear();
  if (!named.insert(uint64_t{pid} << 32 | tid).second) return;
  const std::string name = ThreadName(pid, tid);
  if (!name.empty()) handler->OnProcess(pid, tid, handler->Intern(name));
}

// With `report`, losses that were not reported yet are reported; *span is their time.
SchedSource::Impl::Sum SchedSource::Impl::Counts(bool report, LossSpan* span) {
  Sum sum;
  const auto cpus = static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1));
  std::vector<act_sched_counts> values(cpus);
  const uint32_t zero = 0;
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.sched_counts), &zero, values.data()) != 0) {
    return sum;
  }
  reported_by_cpu.resize(cpus);
  for (size_t cpu = 0; cpu < cpus; ++cpu) {
    const act_sched_counts& value = values[cpu];
    sum.seen += value.seen;
    sum.lost += Lost(value.lost);
    sum.no_room += value.no_room;
    sum.inferred += value.inferred;
    span->WidenByNew(value.lost, reported_by_cpu[cpu]);
    if (report) reported_by_cpu[cpu] = value.lost;
  }
  return sum;
}

void SchedSource::Impl::ReportLosses() {
  LossSpan span;
  BeginEpoch(&skeleton->data->drain_epoch);
  const Sum counts = Counts(true, &span);
  Loss loss;
  loss.hop = kHopName;
  loss.first = static_cast<int64_t>(span.first_ns);
  loss.last = static_cast<int64_t>(span.last_ns);
  loss.count = counts.lost - std::exchange(reported_lost, counts.lost);
  if (loss.count > 0) handler->OnLoss(loss);
  Loss threads;
  threads.hop = "sched-threads";
  threads.count = counts.no_room - std::exchange(reported_no_room, counts.no_room);
  if (threads.count > 0) handler->OnLoss(threads);
}

void SchedSource::Impl::Send() {
  const uint32_t count = rows.rows();
  if (count == 0) return;
  const int64_t first_ns = rows.first_ns();
  proto::Packet packet = rows.Take();
  handler->OnBlock(&packet, first_ns, count, count);
}

void SchedSource::Impl::Consume() {
  drained = 0;
  (void)ring_buffer__consume(ring);
}

Pace SchedSource::Drain(int64_t now_ns) {
  impl_->Consume();
  Pace pace;
  pace.fill_permille = static_cast<uint32_t>(std::min<uint64_t>(
      1000, uint64_t{impl_->drained} * sizeof(act_run) * 1000 / impl_->options.ring_bytes));
  if (impl_->drained >= kMaxRecordsPerDrain) pace.next_ns = now_ns;
  if (now_ns - impl_->last_loss_check_ns >= kLossCheckNs) {
    impl_->last_loss_check_ns = now_ns;
    impl_->ReportLosses();
  }
  return pace;
}

// Reports the current state of threads. A thread that continues has another row later, which
// readers use instead: counts are reported only once, at the end.
void SchedSource::Impl::ReportOpen(bool at_end) {
  const int map = bpf_map__fd(skeleton->maps.threads);
  const int64_t now_ns = MonotonicNs();
  uint32_t tid = 0;
  const uint32_t* last = nullptr;
  for (uint32_t next = 0, n = 0; n < ACT_MAX_THREADS; ++n, last = &tid) {
    if (bpf_map_get_next_key(map, last, &next) != 0) break;
    tid = next;
    act_thread thread;
    if (bpf_map_lookup_elem(map, &tid, &thread) != 0) continue;
    act_thread_counts counts = {};
    if (at_end && thread.begin_ns != 0) counts = CountsSince(thread.pid, tid, thread.reported);
    if (rows.AddOpen(thread, tid, now_ns, counts, options.since_ns(thread.pid),
                     WaitName(thread.wait))) {
      ++open;
    }
    if (rows.full()) Send();
  }
}

void SchedSource::Checkpoint() { impl_->ReportOpen(false); }

std::vector<Hop> SchedSource::Hops() {
  LossSpan span;
  const Impl::Sum counts = impl_->Counts(false, &span);
  Hop hop = {
      kHopName,   counts.seen + impl_->open, impl_->out + impl_->open, counts.lost, impl_->bad,
      kSessionHop};
  const uint64_t accounted = hop.out + hop.lost + hop.bad;
  if (impl_->attached && hop.in > accounted) hop.waiting = hop.in - accounted;
  if (counts.inferred == 0) return {hop};
  return {hop, {"sched-inferred", counts.inferred, counts.inferred, 0, 0}};
}

void SchedSource::Flush() { impl_->Send(); }

void SchedSource::Stop() {
  sched_bpf__detach(impl_->skeleton);
  do {
    impl_->Consume();
  } while (impl_->drained > 0);
  impl_->ReportOpen(true);
  impl_->Send();
  impl_->ReportLosses();
  impl_->attached = false;
  const BpfRuns runs = CountRuns(impl_->skeleton->obj);
  impl_->handler->OnBpfCost(runs.run_ns, runs.runs);
  if (runs.missed > 0) {
    Loss loss;
    loss.hop = "sched-recursion";
    loss.count = runs.missed;
    impl_->handler->OnLoss(loss);
    impl_->handler->OnHop({"sched-recursion", runs.missed, 0, runs.missed, 0});
  }
  for (const Hop& hop : Hops()) impl_->handler->OnHop(hop);
}

WakeFd SchedSource::wake() const {
  return {bpf_map__fd(impl_->skeleton->maps.sched_ring), WakeFd::kEdge};
}

}  // namespace acceltrace::daemon
