// SPDX-License-Identifier: Apache-2.0
//
// Reads counters that providers name: files of a device, and perf events.
#ifndef DAEMON_SOURCES_PROVIDER_PROVIDER_COUNTERS_H_
#define DAEMON_SOURCES_PROVIDER_PROVIDER_COUNTERS_H_

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/system/system_readers.h"
#include "libtrace/base/result.h"
#include "libtrace/provider/machine.h"

namespace acceltrace::daemon {

struct DeviceCounter {
  uint32_t device = 0;  // its number in the stream
  std::string object;   // the device's address or name
  provider::Counter counter;
  std::vector<std::string> files;  // empty for a perf event
  provider::PmuEvent event;
};

// Returns the provider's counters that this machine has; *lacks tells why others are missing.
std::vector<DeviceCounter> FindCounters(const provider::Provider& provider,
                                        const provider::PciDevice& device,
                                        const provider::Machine& machine, uint32_t number,
                                        std::vector<std::string>* lacks);

class ProviderCounters {
 public:
  // Opens the perf events; *lacks has those that the kernel refuses, with the reason.
  ProviderCounters(std::vector<DeviceCounter> counters, std::vector<std::string>* lacks);

  void Read(Readings* readings) const;
  bool empty() const { return counters_.empty() && events_.empty(); }

 private:
  struct Event {
    DeviceCounter counter;
    std::vector<UniqueFd> fds;  // one per CPU on which it is counted
  };
  std::vector<DeviceCounter> counters_;
  std::vector<Event> events_;
};

// Parses the contents of a file: a number, perhaps followed by a unit, or lines with a name and a
// number, each of which is a separate counter.
void ParseCounter(std::string_view text, const DeviceCounter& counter, Readings* readings);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_PROVIDER_COUNTERS_H_
