// SPDX-License-Identifier: Apache-2.0
//
// The source of jobs and waits from the driver's own ring, which has the data of the tracepoints
// axl_job and axl_wake at a tenth of the cost of a BPF program.
#ifndef DAEMON_SOURCES_AXL_DRIVER_SOURCE_H_
#define DAEMON_SOURCES_AXL_DRIVER_SOURCE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sources/axl/axl_device.h"
#include "daemon/sources/axl/driver_record.h"
#include "daemon/sources/axl/foreign_clients.h"
#include "daemon/sources/axl/ring_reader.h"
#include "daemon/sources/common/host_rows.h"
#include "daemon/sources/common/source.h"
#include "libtrace/stream/columns/block_writer.h"

namespace acceltrace::daemon {

class DriverSource : public Source {
 public:
  // If `owners` is null, all jobs belong to the recording.
  DriverSource(std::shared_ptr<AxlDevice> device, WorkOwners* owners, EventHandler* handler)
      : device_(std::move(device)), owners_(owners), handler_(handler) {}

  // Fails like AxlDevice::OpenDriverRing.
  Status Start() override;
  void Begin() override;
  Pace Drain(int64_t now_ns) override;
  void Mark() override { mark_ = reader_->Mark(); }
  bool PassedMark() override { return reader_->Passed(mark_); }
  std::vector<Hop> Hops() override;
  void Flush() override;
  void Stop() override;

  WakeFd wake() const override { return {ring_.fd.get(), WakeFd::kLevel}; }
  uint32_t fill_permille() const override { return reader_->FillPermille(); }

 private:
  // A job's context, its client, and the process that submitted it.
  struct Use {
    uint32_t context = 0, client = 0, pid = 0;
    bool operator==(const Use&) const = default;
  };

  uint64_t Lost() const;
  bool IsWanted(uint64_t correlation);
  void Handle(const axl_host_record& record);
  void HandleJob(const act_job& job, uint32_t context);
  template <typename Rows>
  void Send(Rows* rows);

  std::shared_ptr<AxlDevice> device_;
  WorkOwners* owners_;
  EventHandler* handler_;
  AxlDevice::DriverRing ring_;
  std::optional<RingReader> reader_;
  uint64_t mark_ = 0;
  stream::BlockWriter writer_;
  DriverRecord read_;  // the current one
  HostJobRows jobs_;
  HostWaitRows waits_;
  RingCounts at_start_;
  ForeignClients foreign_clients_;         // found in this drain
  uint32_t wanted_client_ = 0;             // the last one found in this drain
  Use last_use_;                           // the same for uses
  uint64_t num_jobs_ = 0, num_waits_ = 0;  // recorded
  uint64_t foreign_ = 0, bad_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_DRIVER_SOURCE_H_
