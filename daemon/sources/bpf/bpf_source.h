// SPDX-License-Identifier: Apache-2.0
//
// The ring that BPF programs write to: API calls by probes, driver and process events. The
// tracepoints of the driver and of the process tree are attached here, those of calls by the
// sources that are this one's companions.
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
  // A source whose events and this one's explain each other. It is drained and stopped after this
  // one; these are called before.
  class Companion {
   public:
    virtual ~Companion() = default;
    // Takes what waits now: what the ring's records say of it is handed over before it is.
    virtual void BeforeDrain(int64_t now_ns) { (void)now_ns; }
    // Nothing more comes in after this.
    virtual void BeforeStop() = 0;
  };

  // tracer: loaded. The handler must outlive the source.
  BpfSource(std::shared_ptr<Tracer> tracer, EventHandler* handler);

  // They must live until this is stopped; in this order.
  void AddCompanion(Companion* companion) { companions_.push_back(companion); }

  // Errors: the ring cannot be mapped; the driver's tracepoints are others.
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
  // Whether the last Drain left nothing.
  bool caught_up() const { return drained_records_ < kMaxRecordsPerDrain; }
  // Takes what waits, within the bounds of a Drain.
  void Consume();
  // USDT probes or uprobes are about to be attached: measures what one costs, the first time.
  void ReportProbeCost();

 private:
  // A flood here must not keep the other sources, whose rings are smaller, waiting.
  static constexpr uint32_t kMaxRecordsPerDrain = 4096;

  struct RingDeleter {
    void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
  };
  struct HopTotal {
    uint64_t seen = 0, lost = 0;
    LossSpan span;  // of new losses
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
  Mapping consumed_, produced_;  // a page each: positions in the ring, uint64_t
  uint64_t mark_ = 0;            // likewise
  uint64_t reported_lost_[ACT_NUM_HOPS] = {};
  std::vector<act_losses> reported_by_cpu_[ACT_NUM_HOPS];  // of them, what BPF programs counted
  int64_t last_loss_check_ns_ = 0;
  uint32_t drained_records_ = 0;
  bool probe_cost_reported_ = false;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_SOURCE_H_
