// SPDX-License-Identifier: Apache-2.0
//
// Records of the driver's own ring, as events. Knows neither the ring nor the device.
#ifndef DAEMON_SOURCES_AXL_DRIVER_RECORD_H_
#define DAEMON_SOURCES_AXL_DRIVER_RECORD_H_

#include <cstdint>
#include <optional>

#include "daemon/bpf/records.h"
#include "kmod/uapi/axl.h"

namespace acceltrace::daemon {

// One record of a driver's ring as its fields may be used: read once, since who has the ring
// mapped may write to it. Errors: no such type; a queue or context that no device has.
struct DriverRecord {
  enum class Kind { kJob, kWait } kind = Kind::kJob;
  uint32_t context = 0;
  act_job job = {};
  act_wake wake = {};
};
// stamp_khz: as the ring's header has it.
std::optional<DriverRecord> ReadDriverRecord(const axl_host_record& record, uint32_t device,
                                             uint32_t stamp_khz);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_DRIVER_RECORD_H_
