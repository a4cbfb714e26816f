// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/provider_source.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "daemon/base/host_info.h"
#include "daemon/base/say.h"
#include "daemon/bpf/tracer.skel.h"
#include "daemon/sources/common/processes.h"

namespace acceltrace::daemon {
namespace {

// Pids are reused, but not soon.
constexpr size_t kMaxKnownThreads = 4096;
constexpr int64_t kThreadKnownNs = 1'000'000'000;

}  // namespace

ProviderSource::ProviderSource(std::shared_ptr<Tracer> tracer, TrackedProcesses* tracked,
                               BpfSource* bpf, std::function<void()> meanwhile,
                               EventHandler* handler)
    : tracer_(std::move(tracer)),
      tracked_(tracked),
      bpf_(bpf),
      meanwhile_(std::move(meanwhile)),
      handler_(handler),
      tracepoints_(tracer_->options().roles, tracer_->options().system_wide,
                   !tracer_->options().owner, this) {}

Status ProviderSource::Start() {
  const BpfOptions& options = tracer_->options();
  // If all processes are recorded, nothing else tells who submitted.
  for (const TracepointRole& role : options.roles) {
    if (!options.system_wide || role.config.role != RoleConfig::kSubmit) continue;
    bpf_link* link = bpf_program__attach_raw_tracepoint(tracer_->skeleton()->progs.provider_seen,
                                                        role.name.c_str());
    if (link == nullptr) {
      return Status::Error("cannot attach to the tracepoint " + role.system + ":" + role.name +
                           ": " + strerror(errno));
    }
    links_.emplace_back(link);
  }
  if (Status status = tracepoints_.Start(); !status.ok()) return status;
  running_ = true;
  for (const TracepointRole& role : options.roles) {
    handler_->OnProbe("tp:" + role.system + ":" + role.name, true, "");
  }
  for (const std::string& name : tracepoints_.Shadowed()) {
    handler_->OnProbe("all-of:" + name, false,
                      "another tracer has a BPF program on it, and the kernel shows others only "
                      "what that lets through: end the other one");
  }
  return {};
}

bool ProviderSource::IsKernelThread(uint32_t pid) {
  const int64_t now_ns = MonotonicNs();
  if (kernel_threads_.size() >= kMaxKnownThreads) kernel_threads_.clear();
  const auto [entry, fresh] = kernel_threads_.try_emplace(pid);
  auto& [is, until_ns] = entry->second;
  if (fresh || now_ns >= until_ns) {
    is = daemon::IsKernelThread(pid);
    until_ns = now_ns + kThreadKnownNs;
  }
  return is;
}

void ProviderSource::OnProviderEvent(const HostEvent& event) {
  bpf_->events().NoteSubmitter(event.pid, event.tid);
  if (event.kind != proto::HostBatch::KIND_SUBMIT || tracer_->options().functions.empty()) {
    handler_->OnHost(event);
    return;
  }
  HostEvent submission = event;
  submission.correlation = bpf_->calls().At(uint64_t{event.pid} << 32 | event.tid, event.time_ns);
  handler_->OnHost(submission);
}

void ProviderSource::OnProviderLoss(uint64_t count, int64_t first_ns, int64_t last_ns) {
  Loss loss;
  loss.hop = "provider-ring";
  loss.count = count;
  loss.first = first_ns;
  loss.last = last_ns;
  handler_->OnLoss(loss);
}

void ProviderSource::BeforeDrain(int64_t now_ns) {
  filled_ = tracepoints_.fill_permille();
  std::vector<std::string> warnings;
  tracepoints_.LookForCpus(now_ns, &warnings);
  for (const std::string& warning : warnings) Say("warning: " + warning);
  collected_ = tracepoints_.Collect();
}

Pace ProviderSource::Drain(int64_t now_ns) {
  if (bpf_->caught_up()) tracepoints_.Match();
  Pace pace;
  pace.fill_permille = filled_;
  if (!collected_) pace.next_ns = now_ns;
  return pace;
}

std::vector<Hop> ProviderSource::Hops() {
  Hop hop = tracepoints_.Accounts();
  const uint64_t accounted = hop.out + hop.lost + hop.bad;
  if (running_ && hop.in > accounted) hop.waiting = hop.in - accounted;
  std::vector<Hop> hops = {std::move(hop)};
  if (Hop order = tracepoints_.Order(); order.in > 0) hops.push_back(std::move(order));
  return hops;
}

void ProviderSource::BeforeStop() {
  tracepoints_.Disable();
  tracepoints_.ProveAll(meanwhile_);
  tracepoints_.HoldBackNothing();
  while (!tracepoints_.Collect()) {
  }
  links_.clear();
  running_ = false;
}

void ProviderSource::Stop() {
  tracepoints_.Match();
  tracepoints_.ReportRest();
  for (const Hop& hop : Hops()) handler_->OnHop(hop);
}

}  // namespace acceltrace::daemon
