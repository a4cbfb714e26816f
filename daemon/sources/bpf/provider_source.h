// SPDX-License-Identifier: Apache-2.0
//
// The source of submissions and completions of devices that providers describe, from their
// tracepoints.
#ifndef DAEMON_SOURCES_BPF_PROVIDER_SOURCE_H_
#define DAEMON_SOURCES_BPF_PROVIDER_SOURCE_H_

#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/sources/bpf/bpf_source.h"
#include "daemon/sources/bpf/tracked_processes.h"
#include "daemon/sources/common/source.h"
#include "daemon/sources/provider/provider_tracepoints.h"

namespace acceltrace::daemon {

class ProviderSource : public Source, public BpfSource::Companion, private ProviderSink {
 public:
  // `meanwhile` collects what is waiting in the rings of calls and processes; it is called while
  // this waits for all CPUs. All must outlive the source.
  ProviderSource(std::shared_ptr<Tracer> tracer, TrackedProcesses* tracked, BpfSource* bpf,
                 std::function<void()> meanwhile, EventHandler* handler);

  // Attaches to all of the tracepoints or to none, since half of a pair is useless.
  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  WakeFd wake() const override { return {tracepoints_.wake_fd(), WakeFd::kOwnedEdge}; }
  uint32_t fill_permille() const override { return tracepoints_.fill_permille(); }
  void Checkpoint() override { tracepoints_.ProveAll(meanwhile_); }
  std::vector<Hop> Hops() override;
  void Stop() override;

  void BeforeDrain(int64_t now_ns) override;
  void BeforeStop() override;

  // How often the tracepoints fired for this recording.
  uint64_t fired() const { return tracepoints_.fired(); }

 private:
  bool IsTracked(uint32_t pid) override { return tracked_->IsTracked(pid); }
  bool IsKernelThread(uint32_t pid) override;
  bool WasTracked(uint32_t pid, int64_t time_ns, bool now) override {
    return tracked_->WasTracked(pid, time_ns, now);
  }
  void OnProviderEvent(const HostEvent& event) override;
  void OnProviderLoss(uint64_t count, int64_t first_ns, int64_t last_ns) override;

  std::shared_ptr<Tracer> tracer_;
  TrackedProcesses* tracked_;
  BpfSource* bpf_;
  std::function<void()> meanwhile_;
  EventHandler* handler_;
  ProviderTracepoints tracepoints_;
  std::vector<Link> links_;
  bool running_ = false;
  bool collected_ = true;  // nothing is waiting
  uint32_t filled_ = 0;    // the fill level before that
  // Whether a process is a kernel thread, and until when this is valid.
  std::unordered_map<uint32_t, std::pair<bool, int64_t>> kernel_threads_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_PROVIDER_SOURCE_H_
