// SPDX-License-Identifier: Apache-2.0
//
// The tracepoints that providers name, read by perf events: one for each tracepoint and CPU, and a
// ring for each CPU. The kernel keeps a BPF program from a tracepoint that fires in an interrupt
// while another such program runs there; of perf events it keeps one for each context.
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

// pid and cpu as of perf_event_open(2); errno in errno where none is returned.
UniqueFd OpenTracepoint(uint32_t id, int pid, int cpu, uint32_t wake_bytes);
// 0: none is known.
uint32_t TracepointId(const std::string& system, const std::string& name);
// The ring of an event, and the page before it; empty with errno.
Mapping MapRing(int fd, size_t ring_bytes);

class ProviderTracepoints {
 public:
  // sink must outlive it.
  ProviderTracepoints(const std::vector<TracepointRole>& roles, bool system_wide,
                      bool kernel_threads, ProviderSink* sink);

  // From here on everything is counted. Errors: no permission, no room for rings.
  Status Start();
  // Opens rings for CPUs that have come online, if it is time to look; any number of warnings.
  void LookForCpus(int64_t now_ns, std::vector<std::string>* warnings);
  // Takes what has arrived and asks who submitted it; false: more waits.
  bool Collect();
  // Hands over what every CPU's ring is proven to be complete of, in order.
  void Match();
  // What has happened up to here is in the next Match. `meanwhile` is called while it waits.
  void ProveAll(const std::function<void()>& meanwhile);
  // The next Match hands over all that was collected.
  void HoldBackNothing();
  // Nothing more fires after this.
  void Disable();
  // After the last Match.
  void ReportRest();

  // Becomes readable when a ring is a quarter full; whoever polls it takes that away.
  int wake_fd() const { return wake_fd_.get(); }
  // Of the fullest ring; from any thread.
  uint32_t fill_permille() const;
  // How often the tracepoints fired for us.
  uint64_t fired() const { return Read().fired; }
  Hop Accounts() const;
  // What came late, or never; nothing in it: all was in order.
  Hop Order() const;
  // Tracepoints that another tracer's BPF program stands before.
  std::vector<std::string> Shadowed() const;

 private:
  struct Event {
    UniqueFd fd;
    uint32_t tracepoint;  // of tracepoints_
  };
  struct Ring {
    uint32_t cpu = 0;
    std::vector<Event> events;
    Mapping memory;
    int64_t last_ns = 0;  // of the last sample
    uint64_t reported_lost = 0;
    uint64_t goal = 0;  // the round takes what is before it
  };
  struct Tracepoint {
    uint32_t id = 0;
    std::string name, filter;
    bool filtered = true;                            // all of its roles have a filter
    RoleConfig::Role first = RoleConfig::kComplete;  // of its roles
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
  std::vector<Ring> rings_;  // never moved, as other threads look at those that are shown
  std::atomic<size_t> shown_ = 0;
  std::vector<bool> online_;  // CPUs with a ring of their own
  std::string online_text_;
  UniqueFd online_fd_;
  int64_t next_look_ns_ = 0;
  size_t ring_bytes_ = 0;
  UniqueFd wake_fd_;
  RingProof proof_;
  bool in_round_ = false;
  int64_t round_ns_ = 0;  // what is not younger is before the goals
  int64_t until_ns_ = 0;  // of the next Match
  bool all_ = false;
  uint64_t bad_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_PROVIDER_TRACEPOINTS_H_
