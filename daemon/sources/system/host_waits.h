// SPDX-License-Identifier: Apache-2.0
//
// Counts how often a guest whose time counts instructions (scripts/vm --icount) waited for files of
// its host. The duration of such a wait depends on the host, and is included in all times of the
// recording.
#ifndef DAEMON_SOURCES_SYSTEM_HOST_WAITS_H_
#define DAEMON_SOURCES_SYSTEM_HOST_WAITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class HostWaits : public Source {
 public:
  // `proc` is another /proc for tests.
  explicit HostWaits(EventHandler* handler, std::string proc = "/proc")
      : proc_(std::move(proc)), handler_(handler) {}

  // Returns whether this is such a guest.
  bool Applies() const;

  Status Start() override;
  void Begin() override { before_ = Count(); }
  Pace Drain(int64_t) override { return {}; }
  std::vector<Hop> Hops() override;
  void Stop() override;

 private:
  uint64_t Count() const;  // answers of the host so far

  std::string proc_;
  EventHandler* handler_;
  uint64_t before_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_HOST_WAITS_H_
