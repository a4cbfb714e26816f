// SPDX-License-Identifier: Apache-2.0
//
// /dev/axlN as the daemon uses it: identity, counters, clock, trace ring.
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
  // Device files present, in order of their number.
  static std::vector<std::string> List();

  // path: /dev/axl0. Errors: cannot open; another UAPI version; device gone.
  static Result<std::shared_ptr<AxlDevice>> Open(const std::string& path);

  // wanted: axl0, /dev/axl0 or 0000:00:04.0 (domain may be left out); none = all.
  // Errors: nothing there; a wanted one is missing; what Open says.
  static Result<std::vector<std::shared_ptr<AxlDevice>>> OpenAll(
      const std::vector<std::string>& wanted);

  const axl_info& info() const { return info_; }
  uint32_t number() const { return info_.device_index; }
  const std::string& name() const { return name_; }
  std::string pci_address() const;
  int fd() const { return fd_.get(); }

  Status ReadCounters(CounterSnapshot* snapshot);
  // The same of no counters: when the device latched them, and the bracket.
  Status LatchClock(CounterSnapshot* latch);
  Status SampleClock(ClockSample* sample);

  // The device-wide ring, mapped; fd() is readable when it is a quarter full. It is contiguous
  // memory for DMA: when there is not that much of it, a smaller ring. Errors: taken by another
  // tracer; no privilege.
  Result<Mapping> OpenTraceRing(uint32_t max_log2_records, uint64_t counter_period_ns);
  void CloseTraceRing();

  // The driver's own ring, on a file of its own, which is readable when it is a quarter full.
  // Errors: taken by another tracer; no privilege; a driver that has none.
  struct DriverRing {
    UniqueFd fd;
    Mapping map;
    uint32_t stamp_khz = 0;          // see struct axl_rec_host_job
    double job_ns = 0, wait_ns = 0;  // what they cost the host, as the driver measured it
  };
  Result<DriverRing> OpenDriverRing(uint32_t max_log2_records);

  // Has the driver report the jobs in flight, by its tracepoint axl_job. Without the
  // privilege, or with a driver that cannot, nothing happens.
  void TraceJobsInFlight();

  // The files of the device that are open, as the driver knows them. Without the privilege none.
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
