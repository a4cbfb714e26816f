// SPDX-License-Identifier: Apache-2.0
//
// An accelerator whose driver gives the daemon records, clock and counters, as the recorder sees
// it. A folder of sources implements it for one kind of accelerator.
#ifndef DAEMON_SOURCES_COMMON_DEVICE_H_
#define DAEMON_SOURCES_COMMON_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/sources/common/source.h"
#include "libtrace/proto/trace.pb.h"

namespace acceltrace::daemon {

// A number that the driver gave to who has the device open, and the process that opened it.
struct DeviceClient {
  uint32_t client = 0;
  uint32_t pid = 0;  // 0: not known
};

// Whose a device's work is. The client is in the upper half of a correlation id.
class WorkOwners {
 public:
  static constexpr uint32_t kNoContext = UINT32_MAX;  // it is about the whole device

  virtual ~WorkOwners() = default;
  // Whether work belongs to the recording: by its client, else by the process that last submitted
  // to the context. correlation: 0 if it has none.
  virtual bool Wanted(uint32_t device, uint32_t context, uint64_t correlation) = 0;
  // Whether a client is a recorded process's.
  virtual bool WantedClient(uint32_t client) = 0;
  // A job of a wanted client on a context; pid: who submitted it, 0 = not known.
  virtual void NoteJob(uint32_t device, uint32_t context, uint32_t pid, uint64_t correlation) = 0;
};

class TracedDevice {
 public:
  virtual ~TracedDevice() = default;

  virtual uint32_t number() const = 0;  // of the stream
  virtual const std::string& name() const = 0;
  virtual std::string pci_address() const = 0;
  // All but the PCI part, which ReadPci() gives.
  virtual proto::Device Describe() const = 0;

  // Has the driver report the jobs in flight, by its tracepoints and its ring.
  virtual void TraceJobsInFlight() = 0;
  // Who has it open. Without the privilege none.
  virtual std::vector<DeviceClient> Clients() = 0;

  // Its sources, not started. owners: null = all work belongs to the recording. The owners and the
  // handler must outlive them.
  // Jobs and waits, from the driver's own ring.
  virtual std::unique_ptr<Source> MakeJobSource(WorkOwners* owners, EventHandler* handler) = 0;
  // Clock and counters, read through the driver.
  virtual std::unique_ptr<Source> MakeSampleSource(bool clocks, bool counters,
                                                   EventHandler* handler) = 0;
  // The device's own records. counter_period_ns: of its snapshots, 0 = none.
  virtual std::unique_ptr<Source> MakeRecordSource(uint64_t counter_period_ns, WorkOwners* owners,
                                                   EventHandler* handler) = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_COMMON_DEVICE_H_
