// SPDX-License-Identifier: Apache-2.0
//
// Access to /dev/axlN: identity, counters, clock and trace ring.
#ifndef DAEMON_SOURCES_AXL_AXL_DEVICE_H_
#define DAEMON_SOURCES_AXL_AXL_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/common/device.h"
#include "kmod/uapi/axl.h"

namespace acceltrace::daemon {

class AxlDevice {
 public:
  // Lists the device files in the order of their number.
  static std::vector<std::string> List();

  // `path` is, for example, /dev/axl0. Fails if it cannot be opened, has another UAPI version, or
  // the device is gone.
  static Result<std::shared_ptr<AxlDevice>> Open(const std::string& path);

  // `wanted` has values such as axl0, /dev/axl0 or 0000:00:04.0 (the domain is optional); empty
  // means all. Fails if there is no device, if a wanted one is missing, or if Open() fails.
  static Result<std::vector<std::shared_ptr<AxlDevice>>> OpenAll(
      const std::vector<std::string>& wanted);

  const axl_info& info() const { return info_; }
  uint32_t number() const { return info_.device_index; }
  const std::string& name() const { return name_; }
  std::string pci_address() const;
  int fd() const { return fd_.get(); }

  Status ReadCounters(CounterSnapshot* snapshot);
  // Reads no counters, only when the device latched them, and the host's times around it.
  Status LatchClock(CounterSnapshot* latch);
  Status SampleClock(ClockSample* sample);

  // Maps the device-wide ring; fd() is readable when it is a quarter full. It is contiguous DMA
  // memory; if there is not enough of it, the ring is smaller. Fails if another tracer has it, or
  // without permission.
  Result<Mapping> OpenTraceRing(uint32_t max_log2_records, uint64_t counter_period_ns);
  void CloseTraceRing();

  // The driver's own ring, on a separate file, which is readable when it is a quarter full. Fails
  // if another tracer has it, without permission, or if the driver has no ring.
  struct DriverRing {
    UniqueFd fd;
    Mapping map;
    uint32_t stamp_khz = 0;          // see struct axl_rec_host_job
    double job_ns = 0, wait_ns = 0;  // their cost for the host, as measured by the driver
  };
  Result<DriverRing> OpenDriverRing(uint32_t max_log2_records);

  // Makes the driver report the jobs in flight by its tracepoint axl_job. Does nothing without
  // permission, or if the driver does not support it.
  void TraceJobsInFlight();

  // The open files of the device, as the driver knows them; empty without permission.
  std::vector<DeviceClient> Clients();

 private:
  AxlDevice(UniqueFd fd, std::string name, const axl_info& info)
      : fd_(std::move(fd)), name_(std::move(name)), info_(info) {}

  Status ReadCounters(uint32_t count, CounterSnapshot* snapshot);

  UniqueFd fd_;
  std::string name_;
  axl_info info_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_AXL_DEVICE_H_
