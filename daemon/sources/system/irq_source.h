// SPDX-License-Identifier: Apache-2.0
//
// The source of the time of interrupts and softirqs by CPU and number, from BPF; sums are reported
// once per second.
#ifndef DAEMON_SOURCES_SYSTEM_IRQ_SOURCE_H_
#define DAEMON_SOURCES_SYSTEM_IRQ_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

struct IrqOptions {
  bool system_wide = false;
  int tracked_fd = -1;  // the map of recorded processes; unused if system_wide
  // The accelerators' numbers in the stream and PCI addresses.
  std::vector<std::pair<uint32_t, std::string>> devices;
};

class IrqSource : public Source {
 public:
  // The handler must outlive the source.
  IrqSource(IrqOptions options, EventHandler* handler);
  ~IrqSource() override;

  Status Start() override;
  void Begin() override;
  Pace Drain(int64_t now_ns) override;
  void Checkpoint() override;
  std::vector<Hop> Hops() override;
  void Stop() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_SYSTEM_IRQ_SOURCE_H_
