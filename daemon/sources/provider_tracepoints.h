// SPDX-License-Identifier: Apache-2.0
//
// The tracepoints that providers name, read by perf events: one for each tracepoint and CPU, and a
// ring for each CPU. The kernel keeps a BPF program from a tracepoint that fires in an interrupt
// while another such program runs there; of perf events it keeps one for each context.
#ifndef DAEMON_SOURCES_PROVIDER_TRACEPOINTS_H_
#define DAEMON_SOURCES_PROVIDER_TRACEPOINTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/sources/provider_devices.h"
#include "daemon/sources/provider_events.h"
#include "daemon/unique_fd.h"

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
  // Takes what has arrived and asks who submitted it; false: more waits.
  bool Collect();
  // Hands over what is old enough to be complete, in order.
  void Match();
  // The next Match hands over all that was collected.
  void HoldBackNothing() { all_ = true; }
  // Nothing more fires after this.
  void Disable();
  // After the last Match.
  void TellRest();

  // Becomes readable when a ring is a quarter full; whoever polls it takes that away.
  int wake_fd() const { return wake_fd_.get(); }
  // Of the fullest ring; from any thread.
  uint32_t fill_permille() const;
  // How often the tracepoints fired for us.
  uint64_t fired() const { return Read().fired; }
  Hop Accounts() const;
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
    uint64_t told_lost = 0;
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
  bool CollectRing(Ring* ring);
  Counts Read() const;

  ProviderSink* sink_;
  ProviderMatcher matcher_;
  std::vector<Tracepoint> tracepoints_;
  std::vector<Ring> rings_;
  size_t ring_bytes_ = 0;
  UniqueFd wake_fd_;
  int64_t until_ns_ = 0;  // of the next Match
  bool all_ = false;
  uint64_t bad_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_TRACEPOINTS_H_
