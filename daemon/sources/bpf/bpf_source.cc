// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/bpf_source.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "daemon/bpf/tracer.skel.h"
#include "daemon/sources/bpf/bpf_calibration.h"

namespace acceltrace::daemon {
namespace {

constexpr int kDrainFull = -ECANCELED;  // ends ring_buffer__consume early
constexpr int64_t kLossCheckNs = 100'000'000;
constexpr const char* kHopNames[ACT_NUM_HOPS] = {"bpf-api", "bpf-driver", "bpf-process",
                                                 "bpf-stacks"};

uint64_t Position(const Mapping& page) {
  return __atomic_load_n(static_cast<const uint64_t*>(page.get()), __ATOMIC_RELAXED);
}

// Frequent tracepoints of each wait or buffer that only add detail: a job is complete without them.
bool IsFrequentDetail(std::string_view name) {
  for (const char* detail : {"axl_wake", "axl_dma_map", "axl_dma_unmap", "axl_buf"}) {
    if (name == detail) return true;
  }
  return false;
}

}  // namespace

BpfSource::BpfSource(std::shared_ptr<Tracer> tracer, EventHandler* handler)
    : tracer_(std::move(tracer)),
      handler_(handler),
      events_(handler),
      stacks_(handler, tracer_->options().owner) {
  const BpfOptions& options = tracer_->options();
  if (options.stacks) events_.UseStacks(&stacks_);
  if (!options.functions.empty() && !options.roles.empty()) events_.UseCalls(&calls_);
}

int BpfSource::OnRecord(void* context, void* data, size_t bytes) {
  auto* self = static_cast<BpfSource*>(context);
  self->events_.Handle(data, bytes);
  return ++self->drained_records_ >= kMaxRecordsPerDrain ? kDrainFull : 0;
}

// The positions are in the ring's first two pages, one in each.
Status BpfSource::MapRing() {
  const int fd = bpf_map__fd(tracer_->skeleton()->maps.ring);
  ring_.reset(ring_buffer__new(fd, OnRecord, this, nullptr));
  if (!ring_) return Status::Error(std::string("cannot map the BPF ring: ") + strerror(errno));
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (Mapping* mapping : {&consumed_, &produced_}) {
    const off_t at = mapping == &consumed_ ? 0 : static_cast<off_t>(page);
    void* address = mmap(nullptr, page, PROT_READ, MAP_SHARED, fd, at);
    if (address == MAP_FAILED) {
      return Status::Error(std::string("cannot map the BPF ring's positions: ") + strerror(errno));
    }
    *mapping = Mapping(address, page);
  }
  return {};
}

// Returns errno, or 0 if it is attached.
int BpfSource::Attach(bpf_program* program, const std::string& name) {
  bpf_link* link = bpf_program__attach_raw_tracepoint(program, name.c_str());
  const int error = link != nullptr ? 0 : errno;
  handler_->OnProbe("tp:" + name, error == 0, error == 0 ? "" : AttachReason(-error));
  if (link != nullptr) links_.emplace_back(link);
  return error;
}

Status BpfSource::AttachDriver() {
  const BpfOptions& options = tracer_->options();
  bpf_program* program;
  bpf_object__for_each_program(program, tracer_->skeleton()->obj) {
    const std::string name = bpf_program__name(program);
    if (name.rfind("axl_", 0) != 0) continue;
    if (options.light && IsFrequentDetail(name)) continue;
    if (!options.jobs && (name == "axl_job" || name == "axl_wake")) continue;
    if (Attach(program, name) == EINVAL) {
      // If one has other arguments, the meaning of all of them is uncertain.
      return Status::Error("the loaded axl.ko has a tracepoint " + name +
                           " with other arguments: load the axl.ko built with this acceltraced");
    }
  }
  return {};
}

Status BpfSource::Start() {
  if (Status status = MapRing(); !status.ok()) return status;
  const BpfOptions& options = tracer_->options();
  if (options.run_stats) {
    stats_fd_.Reset(bpf_enable_stats(BPF_STATS_RUN_TIME));
    handler_->OnProbe("bpf-run-time", stats_fd_.valid(), stats_fd_.valid() ? "" : strerror(errno));
  }
  tracer_bpf* skeleton = tracer_->skeleton();
  Attach(skeleton->progs.process_fork, "sched_process_fork");
  Attach(skeleton->progs.process_exec, "sched_process_exec");
  Attach(skeleton->progs.process_rename, "task_rename");
  Attach(skeleton->progs.process_exit, "sched_process_exit");
  return options.driver ? AttachDriver() : Status();
}

void BpfSource::ReportProbeCost() {
  if (std::exchange(probe_cost_reported_, true)) return;
  const Measured cost = CalibrateUsdt(tracer_->skeleton()->progs.calibrate_usdt);
  EventCost probe = {"usdt", cost.ns, cost.error_ns};
  // System calls are counted at the same hop.
  probe.events = [this] {
    const uint64_t all = ReadHops(false)[ACT_HOP_API].seen;
    return all - std::min<uint64_t>(all, tracer_->skeleton()->bss->system_calls);
  };
  handler_->OnEventCost(probe);
}

void BpfSource::Consume() {
  drained_records_ = 0;
  (void)ring_buffer__consume(ring_.get());
}

Pace BpfSource::Drain(int64_t now_ns) {
  Pace pace;
  pace.fill_permille = fill_permille();
  for (Companion* companion : companions_) companion->BeforeDrain(now_ns);
  Consume();
  if (caught_up()) {
    __atomic_store_n(&tracer_->skeleton()->bss->awake, 0, __ATOMIC_RELAXED);
  } else {
    pace.next_ns = now_ns;
  }
  if (now_ns - last_loss_check_ns_ >= kLossCheckNs) {
    last_loss_check_ns_ = now_ns;
    ReportLosses();
  }
  return pace;
}

// With `report`, losses that were not reported yet are reported.
BpfSource::HopTotals BpfSource::ReadHops(bool report) {
  const auto cpus = static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1));
  std::vector<act_counts> values(cpus);
  HopTotals totals = {};
  const int map = bpf_map__fd(tracer_->skeleton()->maps.hops);
  for (uint32_t hop = 0; hop < ACT_NUM_HOPS; ++hop) {
    if (bpf_map_lookup_elem(map, &hop, values.data()) != 0) continue;
    std::vector<act_losses>& reported = reported_by_cpu_[hop];
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
  // Includes those whose frames were lost.
  totals[ACT_HOP_STACK].lost += events_.unknown_stacks();
  if (report) {
    const auto [first_ns, last_ns] = events_.TakeUnknownSpan();
    const auto first = static_cast<uint64_t>(first_ns), last = static_cast<uint64_t>(last_ns);
    if (last != 0) totals[ACT_HOP_STACK].span.Widen(first, last);
  }
  return totals;
}

void BpfSource::ReportLosses() {
  BeginEpoch(&tracer_->skeleton()->data->drain_epoch);
  const HopTotals totals = ReadHops(true);
  for (int hop = 0; hop < ACT_NUM_HOPS; ++hop) {
    if (totals[hop].lost <= reported_lost_[hop]) continue;
    Loss loss;
    loss.hop = kHopNames[hop];
    loss.count = totals[hop].lost - reported_lost_[hop];
    loss.first = static_cast<int64_t>(totals[hop].span.first_ns);
    loss.last = static_cast<int64_t>(totals[hop].span.last_ns);
    reported_lost_[hop] = totals[hop].lost;
    handler_->OnLoss(loss);
  }
}

std::vector<Hop> BpfSource::Hops() {
  const HopTotals totals = ReadHops(false);
  std::vector<Hop> hops;
  for (int hop = 0; hop < ACT_NUM_HOPS; ++hop) {
    const act_hop which = static_cast<act_hop>(hop);
    if (which == ACT_HOP_STACK && !tracer_->options().stacks) continue;
    Hop account = {kHopNames[hop], totals[hop].seen, events_.out(which), totals[hop].lost,
                   events_.bad(which)};
    const uint64_t accounted = account.out + account.lost + account.bad;
    // Records of processes are converted by this source; the session receives the results.
    if (which != ACT_HOP_PROCESS) account.into = kSessionHop;
    // While programs run, records may wait in the ring; afterwards a difference is an error.
    if (!links_.empty() && account.in > accounted) account.waiting = account.in - accounted;
    hops.push_back(std::move(account));
  }
  return hops;
}

void BpfSource::Stop() {
  for (Companion* companion : companions_) companion->BeforeStop();
  links_.clear();  // no program runs after this
  do {
    Consume();
  } while (drained_records_ > 0);
  events_.Flush();
  ReportLosses();
  const Tracer::Cost cost = tracer_->ReadCost();
  handler_->OnBpfCost(cost.run_ns, cost.runs);
  if (cost.missed > 0) {
    Loss loss;
    loss.hop = "bpf-recursion";
    loss.count = cost.missed;
    handler_->OnLoss(loss);
    handler_->OnHop({"bpf-recursion", cost.missed, 0, cost.missed, 0});
  }
  for (const Hop& hop : Hops()) handler_->OnHop(hop);
  stats_fd_.Reset();
}

void BpfSource::Mark() { mark_ = Position(produced_); }

bool BpfSource::PassedMark() { return static_cast<int64_t>(Position(consumed_) - mark_) >= 0; }

uint32_t BpfSource::fill_permille() const {
  const uint32_t ring_bytes = tracer_->options().ring_bytes;
  const uint64_t consumed = Position(consumed_);
  const uint64_t used = std::min<uint64_t>(Position(produced_) - consumed, ring_bytes);
  return static_cast<uint32_t>(used * 1000 / ring_bytes);
}

WakeFd BpfSource::wake() const {
  return {bpf_map__fd(tracer_->skeleton()->maps.ring), WakeFd::kEdge};
}

}  // namespace acceltrace::daemon
