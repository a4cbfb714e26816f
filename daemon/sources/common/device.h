// SPDX-License-Identifier: Apache-2.0
//
// An accelerator whose driver provides records, clock and counters, as seen by the recorder. A
// folder of sources implements it for one kind of accelerator.
#ifndef DAEMON_SOURCES_COMMON_DEVICE_H_
#define DAEMON_SOURCES_COMMON_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/sources/common/source.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

// The number that the driver gave an open file of the device, and the process that opened it.
struct DeviceClient {
  uint32_t client = 0;
  uint32_t pid = 0;  // 0 if unknown
};

// Tells to which process a device's work belongs. The client is in the upper half of a correlation
// id.
class WorkOwners {
 public:
  static constexpr uint32_t kNoContext = UINT32_MAX;  // concerns the whole device

  virtual ~WorkOwners() = default;
  // Returns whether work belongs to the recording: by its client, otherwise by the process that
  // last submitted to the context. `correlation` is 0 if it has none.
  virtual bool Wanted(uint32_t device, uint32_t context, uint64_t correlation) = 0;
  // Returns whether a client belongs to a recorded process.
  virtual bool WantedClient(uint32_t client) = 0;
  // A wanted client has submitted a job to a context; `pid` is the submitter, 0 = unknown.
  virtual void NoteJob(uint32_t device, uint32_t context, uint32_t pid, uint64_t correlation) = 0;
};

class TracedDevice {
 public:
  virtual ~TracedDevice() = default;

  virtual uint32_t number() const = 0;  // of the stream
  virtual const std::string& name() const = 0;
  virtual std::string pci_address() const = 0;
  // Returns everything except the PCI part, which ReadPci() returns.
  virtual proto::Device Describe() const = 0;

  // Makes the driver report the jobs in flight, by its tracepoints and its ring.
  virtual void TraceJobsInFlight() = 0;
  // The open files of the device; empty without permission.
  virtual std::vector<DeviceClient> Clients() = 0;

  // These return the device's sources, not started. If `owners` is null, all work belongs to the
  // recording. The owners and the handler must outlive them.
  //
  // Jobs and waits, from the driver's own ring.
  virtual std::unique_ptr<Source> MakeJobSource(WorkOwners* owners, EventHandler* handler) = 0;
  // Clock and counters, read through the driver.
  virtual std::unique_ptr<Source> MakeSampleSource(bool clocks, bool counters,
                                                   EventHandler* handler) = 0;
  // The device's own records. `counter_period_ns` is the period of its snapshots, 0 = none.
  virtual std::unique_ptr<Source> MakeRecordSource(uint64_t counter_period_ns, WorkOwners* owners,
                                                   EventHandler* handler) = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_DEVICE_H_
