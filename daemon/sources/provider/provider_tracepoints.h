// SPDX-License-Identifier: Apache-2.0
//
// Reads the tracepoints that providers name by perf events: one for each tracepoint and CPU, and a
// ring for each CPU. BPF programs are not used, because the kernel does not run one for a
// tracepoint in an interrupt while another such program runs on that CPU; perf events have a
// separate context for each.
#ifndef DAEMON_SOURCES_PROVIDER_PROVIDER_TRACEPOINTS_H_
#define DAEMON_SOURCES_PROVIDER_PROVIDER_TRACEPOINTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/provider/provider_devices.h"
#include "daemon/sources/provider/provider_events.h"
#include "daemon/sources/provider/ring_proof.h"

namespace acceltrace::daemon {

// `pid` and `cpu` are those of perf_event_open(2). If it fails, the result is invalid and errno is
// set.
UniqueFd OpenTracepoint(uint32_t id, int pid, int cpu, uint32_t wake_bytes);
// Returns 0 if it is unknown.
uint32_t TracepointId(const std::string& system, const std::string& name);
// Maps the ring of an event, and the page before it. If it fails, the result is empty and errno is
// set.
Mapping MapRing(int fd, size_t ring_bytes);

class ProviderTracepoints {
 public:
  // The sink must outlive it.
  ProviderTracepoints(const std::vector<TracepointRole>& roles, bool system_wide,
                      bool kernel_threads, ProviderSink* sink);

  // From now on everything is counted. Fails without permission or memory for rings.
  Status Start();
  // Opens rings for CPUs that have come online, if it is time to check; may add several warnings.
  void LookForCpus(int64_t now_ns, std::vector<std::string>* warnings);
  // Collects what has arrived and asks for the submitters; returns false if more is waiting.
  bool Collect();
  // Passes on, in order, events up to the time until which the rings of all CPUs are complete.
  void Match();
  // What has happened until now is in the next Match. `meanwhile` is called while it waits.
  void ProveAll(const std::function<void()>& meanwhile);
  // The next Match passes on everything that was collected.
  void HoldBackNothing();
  // The tracepoints do not fire any more after this.
  void Disable();
  // Must be called after the last Match.
  void ReportRest();

  // Becomes readable when a ring is a quarter full; polling it resets that.
  int wake_fd() const { return wake_fd_.get(); }
  // The fill level of the fullest ring. May be called from any thread.
  uint32_t fill_permille() const;
  // How often the tracepoints fired for this recording.
  uint64_t fired() const { return Read().fired; }
  Hop Accounts() const;
  // What was late or missing; empty if everything was in order.
  Hop Order() const;
  // Tracepoints hidden by another tracer's BPF program.
  std::vector<std::string> Shadowed() const;

 private:
  struct Event {
    UniqueFd fd;
    uint32_t tracepoint;  // index of tracepoints_
  };
  struct Ring {
    uint32_t cpu = 0;
    std::vector<Event> events;
    Mapping memory;
    int64_t last_ns = 0;  // time of the last sample
    uint64_t reported_lost = 0;
    uint64_t goal = 0;  // the current round ends before this position
  };
  struct Tracepoint {
    uint32_t id = 0;
    std::string name, filter;
    bool filtered = true;                            // all of its roles have a filter
    RoleConfig::Role first = RoleConfig::kComplete;  // the first of its roles
  };
  struct Counts {
    uint64_t fired = 0, lost = 0;
  };
  class Taker;

  Status OpenCpu(uint32_t cpu, Ring* ring);
  Status AddCpu(uint32_t cpu);
  Status Enable(const Ring& ring, RoleConfig::Role role);
  Status AddLateCpu(uint32_t cpu);
  void BeginRound();
  bool CollectRing(Ring* ring);
  Counts Read() const;
  uint64_t Missing() const;

  ProviderSink* sink_;
  ProviderMatcher matcher_;
  std::vector<Tracepoint> tracepoints_;
  std::vector<Ring> rings_;  // never moved, as other threads read those below shown_
  std::atomic<size_t> shown_ = 0;
  std::vector<bool> online_;  // CPUs with a ring of their own
  std::string online_text_;
  UniqueFd online_fd_;
  int64_t next_look_ns_ = 0;
  size_t ring_bytes_ = 0;
  UniqueFd wake_fd_;
  RingProof proof_;
  bool in_round_ = false;
  int64_t round_ns_ = 0;  // older events are before the goals
  int64_t until_ns_ = 0;  // until when the next Match passes events on
  bool all_ = false;
  uint64_t bad_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_PROVIDER_TRACEPOINTS_H_
