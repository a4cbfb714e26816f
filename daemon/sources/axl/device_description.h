// SPDX-License-Identifier: Apache-2.0
//
// What an accelerator is called and made of, for the stream's Device packet.
// Translates axl's numbers into the stream's vocabulary, as record_intake.cc does those of events.
#ifndef DAEMON_SOURCES_AXL_DEVICE_DESCRIPTION_H_
#define DAEMON_SOURCES_AXL_DEVICE_DESCRIPTION_H_

#include <string>

#include "kmod/uapi/axl.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

// All but the PCI part, which daemon/sources/common/pci.h reads from config space.
proto::Device DescribeDevice(const axl_info& info);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_DEVICE_DESCRIPTION_H_
