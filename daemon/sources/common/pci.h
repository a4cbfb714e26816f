// SPDX-License-Identifier: Apache-2.0
//
// Reads PCIe identity, capabilities and live link state, by libpci.
#ifndef DAEMON_SOURCES_COMMON_PCI_H_
#define DAEMON_SOURCES_COMMON_PCI_H_

#include <string>

#include "libtrace/base/result.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

// `address` is such as 0000:00:04.0. Fails if there is no such device, or if config space reads all
// ones. Without permission the link fields stay 0, as the kernel shows only the first 64 bytes.
Result<proto::Pci> ReadPci(const std::string& address);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_PCI_H_
