// SPDX-License-Identifier: Apache-2.0
//
// Decodes records of the driver's own ring. Independent of the ring and the device.
#ifndef DAEMON_SOURCES_AXL_DRIVER_RECORD_H_
#define DAEMON_SOURCES_AXL_DRIVER_RECORD_H_

#include <cstdint>

#include "daemon/bpf/records.h"
#include "kmod/uapi/axl.h"

namespace acceltrace::daemon {

// A record of a driver's ring with checked fields. They are read only once, since the process that
// has the ring mapped may write to it.
struct DriverRecord {
  enum class Kind { kJob, kWait } kind = Kind::kJob;
  uint32_t context = 0;
  act_job job = {};
  act_wake wake = {};
};
// Returns false for an unknown type, or for a queue or context that no device has. `stamp_khz` is
// that of the ring's header. Writes all of the part of `read` that `kind` selects, but nothing of
// the other one: there is a record for each job.
bool ReadDriverRecord(const axl_host_record& record, uint32_t device, uint32_t stamp_khz,
                      DriverRecord* read);

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_DRIVER_RECORD_H_
