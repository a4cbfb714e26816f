// SPDX-License-Identifier: Apache-2.0
//
// The source of the run states of recorded threads, from BPF programs on the scheduler's
// tracepoints.
#ifndef DAEMON_SOURCES_SYSTEM_SCHED_SOURCE_H_
#define DAEMON_SOURCES_SYSTEM_SCHED_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

struct SchedOptions {
  bool system_wide = false;
  int tracked_fd = -1;            // the map of recorded processes; unused if system_wide
  std::optional<uint32_t> owner;  // wakers that do not run as this user are not named
  uint32_t ring_bytes = 4u << 20;
  // Returns when the recording of a process began.
  std::function<int64_t(uint32_t pid)> since_ns;
};

class SchedSource : public Source {
 public:
  // The handler must outlive the source.
  SchedSource(SchedOptions options, EventHandler* handler);
  ~SchedSource() override;

  // Fails like BPF in general, or if the kernel has other tracepoints.
  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  void Checkpoint() override;
  std::vector<Hop> Hops() override;
  void Flush() override;
  void Stop() override;

  WakeFd wake() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_SCHED_SOURCE_H_
