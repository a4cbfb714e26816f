// SPDX-License-Identifier: Apache-2.0
//
// In a guest whose time counts instructions (scripts/vm --icount): how often it waited for files of
// its host. Such a wait takes as long as the host makes it, and is in every time of the recording.
#ifndef DAEMON_SOURCES_SYSTEM_HOST_WAITS_H_
#define DAEMON_SOURCES_SYSTEM_HOST_WAITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class HostWaits : public Source {
 public:
  // proc: another /proc, for tests.
  explicit HostWaits(EventHandler* handler, std::string proc = "/proc")
      : proc_(std::move(proc)), handler_(handler) {}

  // Whether this is such a guest.
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
