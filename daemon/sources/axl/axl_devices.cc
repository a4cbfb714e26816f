// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/axl/axl_devices.h"

#include <utility>

#include "daemon/bpf/records.h"
#include "daemon/sources/axl/axl_device.h"
#include "daemon/sources/axl/device_description.h"
#include "daemon/sources/axl/device_source.h"
#include "daemon/sources/axl/driver_source.h"
#include "daemon/sources/axl/sample_source.h"

namespace acceltrace::daemon {
namespace {

// BPF programs keep the owners of this many contexts.
static_assert(ACT_MAX_CONTEXTS == AXL_MAX_CONTEXTS);

class TracedAxl : public TracedDevice {
 public:
  explicit TracedAxl(std::shared_ptr<AxlDevice> device) : device_(std::move(device)) {}

  uint32_t number() const override { return device_->number(); }
  const std::string& name() const override { return device_->name(); }
  std::string pci_address() const override { return device_->pci_address(); }
  proto::Device Describe() const override { return DescribeDevice(device_->info()); }
  void TraceJobsInFlight() override { device_->TraceJobsInFlight(); }
  std::vector<DeviceClient> Clients() override { return device_->Clients(); }

  std::unique_ptr<Source> MakeJobSource(WorkOwners* owners, EventHandler* handler) override {
    return std::make_unique<DriverSource>(device_, owners, handler);
  }
  std::unique_ptr<Source> MakeSampleSource(bool clocks, bool counters,
                                           EventHandler* handler) override {
    return std::make_unique<SampleSource>(device_, clocks, counters, handler);
  }
  std::unique_ptr<Source> MakeRecordSource(uint64_t counter_period_ns, WorkOwners* owners,
                                           EventHandler* handler) override {
    return std::make_unique<DeviceSource>(
        device_, counter_period_ns,
        [owners, number = number()](uint32_t context, uint64_t correlation) {
          return owners == nullptr || owners->Wanted(number, context, correlation);
        },
        handler);
  }

 private:
  std::shared_ptr<AxlDevice> device_;
};

}  // namespace

size_t CountAxlDevices() { return AxlDevice::List().size(); }

Result<std::vector<std::shared_ptr<TracedDevice>>> OpenAxlDevices(
    const std::vector<std::string>& wanted) {
  auto opened = AxlDevice::OpenAll(wanted);
  if (!opened.ok()) return opened.status();
  std::vector<std::shared_ptr<TracedDevice>> devices;
  for (auto& device : opened.value()) {
    devices.push_back(std::make_shared<TracedAxl>(std::move(device)));
  }
  return devices;
}

}  // namespace acceltrace::daemon
