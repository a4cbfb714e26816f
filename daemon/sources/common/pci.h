// SPDX-License-Identifier: Apache-2.0
//
// PCIe identity, capability and live link state, by libpci.
#ifndef DAEMON_SOURCES_COMMON_PCI_H_
#define DAEMON_SOURCES_COMMON_PCI_H_

#include <string>

#include "libtrace/proto/trace.pb.h"
#include "libtrace/stream/result.h"

namespace acceltrace::daemon {

// address: 0000:00:04.0. Errors: no such device; config space reads all ones.
// Without privilege the link fields stay 0: the kernel shows only the first 64 bytes.
Result<proto::Pci> ReadPci(const std::string& address);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_PCI_H_
