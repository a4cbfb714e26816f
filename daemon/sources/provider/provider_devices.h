// SPDX-License-Identifier: Apache-2.0
//
// Devices that are recorded by what a provider says of them (docs/providers.md).
#ifndef DAEMON_SOURCES_PROVIDER_PROVIDER_DEVICES_H_
#define DAEMON_SOURCES_PROVIDER_PROVIDER_DEVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/bpf/records.h"
#include "daemon/sources/provider/provider_counters.h"
#include "daemon/sources/provider/provider_events.h"
#include "daemon/sources/provider/provider_functions.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/provider/offer.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// One attachment: a tracepoint that is a role of one device.
struct TracepointRole {
  std::string system, name;
  uint32_t id = 0;  // of the tracepoint
  RoleConfig config;
  std::string filter;  // its conditions on numbers as the kernel takes them; empty: none
};

struct ProviderDevice {
  proto::Device description;  // all but the PCI part
  std::string address;        // or the name, of one that is on no bus
  bool pci = true;
  std::vector<TracepointRole> roles;
  std::vector<std::string> lacks;  // what the provider names and this machine has not
};

struct ProviderDevices {
  std::vector<ProviderDevice> devices;
  // Of these devices, by whatever provider fits them; of two of one name the first one's.
  std::vector<DeviceCounter> counters;
  // Of providers that were named themselves.
  std::vector<LibraryFunction> functions;
  std::vector<std::string> lacks;     // what those name and this machine has not
  std::vector<std::string> others;    // of the names asked for, what is not for a provider
  std::vector<std::string> warnings;  // files that are no providers
};

// names: PCI addresses, names as these devices get them (nvme0), or of providers with API calls.
// first_number: of the stream. Errors: a device that a provider knows, but cannot be recorded here.
Result<ProviderDevices> FindProviderDevices(const std::vector<std::string>& names,
                                            const provider::Catalogue& catalogue,
                                            const provider::Machine& machine,
                                            uint32_t first_number);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_PROVIDER_DEVICES_H_
