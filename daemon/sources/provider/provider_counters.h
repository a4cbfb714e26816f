// SPDX-License-Identifier: Apache-2.0
//
// Counters that providers name: files of a device, and perf events.
#ifndef DAEMON_SOURCES_PROVIDER_PROVIDER_COUNTERS_H_
#define DAEMON_SOURCES_PROVIDER_PROVIDER_COUNTERS_H_

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/system/system_readers.h"
#include "libtrace/provider/machine.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

struct DeviceCounter {
  uint32_t device = 0;  // of the stream
  std::string object;   // its address or name
  provider::Counter counter;
  std::vector<std::string> files;  // none: a perf event
  provider::PmuEvent event;
};

// Those of the provider that this machine has. lacks: why it has not the others.
std::vector<DeviceCounter> FindCounters(const provider::Provider& provider,
                                        const provider::PciDevice& device,
                                        const provider::Machine& machine, uint32_t number,
                                        std::vector<std::string>* lacks);

class ProviderCounters {
 public:
  // Opens the perf events. lacks: those that the kernel refuses, and why.
  ProviderCounters(std::vector<DeviceCounter> counters, std::vector<std::string>* lacks);

  void Read(Readings* readings) const;
  bool empty() const { return counters_.empty() && events_.empty(); }

 private:
  struct Event {
    DeviceCounter counter;
    std::vector<UniqueFd> fds;  // one for each CPU that it is counted on
  };
  std::vector<DeviceCounter> counters_;
  std::vector<Event> events_;
};

// What a file says: a number, with a word behind it perhaps, or lines of a name and a number, of
// which each is a counter of its own.
void ParseCounter(std::string_view text, const DeviceCounter& counter, Readings* readings);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_PROVIDER_COUNTERS_H_
