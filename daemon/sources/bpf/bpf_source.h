// SPDX-License-Identifier: Apache-2.0
//
// The source of the ring that BPF programs write to: API calls by probes, driver and process
// events. This attaches the tracepoints of the driver and of the process tree; its companions
// attach those of calls.
#ifndef DAEMON_SOURCES_BPF_BPF_SOURCE_H_
#define DAEMON_SOURCES_BPF_BPF_SOURCE_H_

#include <bpf/libbpf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/bpf/records.h"
#include "daemon/sources/bpf/bpf_events.h"
#include "daemon/sources/bpf/call_stacks.h"
#include "daemon/sources/bpf/thread_calls.h"
#include "daemon/sources/bpf/tracer.h"
#include "daemon/sources/bpf/tracked_processes.h"
#include "daemon/sources/common/loss_span.h"
#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class BpfSource : public Source, public TrackedProcesses::Listener {
 public:
  // A source whose events and those of this source explain each other. It is drained and stopped
  // after this one, which calls these functions before.
  class Companion {
   public:
    virtual ~Companion() = default;
    // Collects what is waiting now: related records of the ring are then passed on first.
    virtual void BeforeDrain(int64_t now_ns) { (void)now_ns; }
    // No more events may follow after this.
    virtual void BeforeStop() = 0;
  };

  // `tracer` must be loaded. The handler must outlive the source.
  BpfSource(std::shared_ptr<Tracer> tracer, EventHandler* handler);

  // Companions are called in this order, and must exist until the source is stopped.
  void AddCompanion(Companion* companion) { companions_.push_back(companion); }

  // Fails if the ring cannot be mapped, or if the driver has other tracepoints.
  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  void Mark() override;
  bool PassedMark() override;
  WakeFd wake() const override;
  uint32_t fill_permille() const override;
  std::vector<Hop> Hops() override;
  void Flush() override { events_.Flush(); }
  void Stop() override;

  void OnTracked(uint32_t pid) override { events_.NoteExisting(pid); }

  BpfEvents& events() { return events_; }
  const ThreadCalls& calls() const { return calls_; }
  // Returns true if the last Drain read everything.
  bool caught_up() const { return drained_records_ < kMaxRecordsPerDrain; }
  // Reads what is waiting, up to the limit of a Drain.
  void Consume();
  // Must be called before USDT probes or uprobes are attached. The first call measures the cost of
  // a probe.
  void ReportProbeCost();

 private:
  // A flood here must not delay other sources, whose rings are smaller.
  static constexpr uint32_t kMaxRecordsPerDrain = 4096;

  struct RingDeleter {
    void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
  };
  struct HopTotal {
    uint64_t seen = 0, lost = 0;
    LossSpan span;  // the times of new losses
  };
  using HopTotals = std::array<HopTotal, ACT_NUM_HOPS>;

  static int OnRecord(void* context, void* data, size_t bytes);
  Status MapRing();
  int Attach(bpf_program* program, const std::string& name);
  Status AttachDriver();
  HopTotals ReadHops(bool report);
  void ReportLosses();

  std::shared_ptr<Tracer> tracer_;
  EventHandler* handler_;
  BpfEvents events_;
  CallStacks stacks_;
  ThreadCalls calls_;
  std::vector<Companion*> companions_;
  std::unique_ptr<ring_buffer, RingDeleter> ring_;
  std::vector<Link> links_;
  UniqueFd stats_fd_;
  Mapping consumed_, produced_;  // one page each, with the uint64_t position in the ring
  uint64_t mark_ = 0;            // a position as well
  uint64_t reported_lost_[ACT_NUM_HOPS] = {};
  // The part of it that BPF programs counted.
  std::vector<act_losses> reported_by_cpu_[ACT_NUM_HOPS];
  int64_t last_loss_check_ns_ = 0;
  uint32_t drained_records_ = 0;
  bool probe_cost_reported_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_SOURCE_H_
