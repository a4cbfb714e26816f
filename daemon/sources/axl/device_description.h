// SPDX-License-Identifier: Apache-2.0
//
// Describes an accelerator for the stream's Device packet. Translates axl's numbers into the
// stream's vocabulary, as record_intake.cc does for events.
#ifndef DAEMON_SOURCES_AXL_DEVICE_DESCRIPTION_H_
#define DAEMON_SOURCES_AXL_DEVICE_DESCRIPTION_H_

#include <string>

#include "kmod/uapi/axl.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

// Returns everything except the PCI part, which daemon/sources/common/pci.h reads from config
// space.
proto::Device DescribeDevice(const axl_info& info);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_DEVICE_DESCRIPTION_H_
