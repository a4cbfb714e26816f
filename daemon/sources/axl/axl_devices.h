// SPDX-License-Identifier: Apache-2.0
//
// The axl devices of this machine, for code that does not depend on axl.
#ifndef DAEMON_SOURCES_AXL_AXL_DEVICES_H_
#define DAEMON_SOURCES_AXL_AXL_DEVICES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "daemon/sources/common/device.h"
#include "libtrace/base/result.h"

namespace acceltrace::daemon {

size_t CountAxlDevices();

// `wanted` is that of AxlDevice::OpenAll(), whose errors are returned.
Result<std::vector<std::shared_ptr<TracedDevice>>> OpenAxlDevices(
    const std::vector<std::string>& wanted);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_AXL_DEVICES_H_
