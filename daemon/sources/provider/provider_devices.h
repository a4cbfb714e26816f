// SPDX-License-Identifier: Apache-2.0
//
// Finds devices that are recorded according to a provider file (docs/providers.md).
#ifndef DAEMON_SOURCES_PROVIDER_PROVIDER_DEVICES_H_
#define DAEMON_SOURCES_PROVIDER_PROVIDER_DEVICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/bpf/records.h"
#include "daemon/sources/provider/provider_counters.h"
#include "daemon/sources/provider/provider_events.h"
#include "daemon/sources/provider/provider_functions.h"
#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"
#include "libtrace/provider/offer.h"

namespace acceltrace::daemon {

// One attachment: a tracepoint in a role for one device.
struct TracepointRole {
  std::string system, name;
  uint32_t id = 0;  // of the tracepoint
  RoleConfig config;
  std::string filter;  // its numeric conditions as a kernel filter, or empty
};

struct ProviderDevice {
  proto::Device description;  // everything except the PCI part
  std::string address;        // or the name, if it is on no bus
  bool pci = true;
  std::vector<TracepointRole> roles;
  std::vector<std::string> lacks;  // what the provider names and this machine lacks
};

struct ProviderDevices {
  std::vector<ProviderDevice> devices;
  // Of these devices, by all matching providers. If two have the same name, the first one's is
  // used.
  std::vector<DeviceCounter> counters;
  // Functions of providers that were requested by name.
  std::vector<LibraryFunction> functions;
  std::vector<std::string> lacks;     // what these providers name and this machine lacks
  std::vector<std::string> others;    // requested names that are not for providers
  std::vector<std::string> warnings;  // invalid provider files
};

// `names` are PCI addresses, names of these devices (nvme0), or of providers with API calls.
// `first_number` is the first device's number in the stream. Fails for a device that a provider
// knows, but that cannot be recorded here.
Result<ProviderDevices> FindProviderDevices(const std::vector<std::string>& names,
                                            const provider::Catalogue& catalogue,
                                            const provider::Machine& machine,
                                            uint32_t first_number);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_PROVIDER_PROVIDER_DEVICES_H_
