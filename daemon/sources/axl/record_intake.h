// SPDX-License-Identifier: Apache-2.0
//
// What a device recorded, on its way from the ring to blocks and events: sorted by kind, by whose
// it is, and checked. It knows neither the ring nor the device, and nothing after it knows axl's
// records.
#ifndef DAEMON_SOURCES_AXL_RECORD_INTAKE_H_
#define DAEMON_SOURCES_AXL_RECORD_INTAKE_H_

#include <functional>
#include <string>

#include "daemon/sources/axl/foreign_clients.h"
#include "daemon/sources/axl/record_rows.h"
#include "daemon/sources/common/events.h"

namespace acceltrace::daemon {

class RecordIntake {
 public:
  // Whether work belongs to the recording, as WorkOwners::Wanted(). Within one call of Handle it is
  // asked about each client once, as long as there are few.
  using Filter = std::function<bool(uint32_t context, uint64_t correlation)>;

  RecordIntake(uint32_t device, const RecordLimits& limits, std::string loss_hop, Filter wanted,
               EventHandler* handler)
      : device_(device),
        limits_(limits),
        loss_hop_(std::move(loss_hop)),
        wanted_(std::move(wanted)),
        handler_(handler),
        commands_(device, limits),
        jobs_(device, limits) {}

  // The device may write to them at any time.
  void Handle(const axl_record* records, size_t count);

  // Hands over the rows that wait for more of their kind.
  void Flush();

  uint64_t foreign() const { return foreign_; }  // other processes' records
  uint64_t bad() const { return bad_; }          // refused; complete after Flush
  // Losses that loss records reported, and how many such records there were.
  uint64_t loss_dated() const { return loss_dated_; }
  uint64_t loss_records() const { return loss_records_; }
  // Rows that wait for more of their kind.
  uint64_t waiting() const { return commands_.rows() + jobs_.rows(); }

 private:
  void HandleOther(const axl_record& in_ring, uint8_t type);
  bool IsWanted(const axl_record& record, uint64_t correlation) {
    const auto client = static_cast<uint32_t>(correlation >> 32);
    return (client != 0 && client == wanted_client_) || AskWanted(record, client);
  }
  bool AskWanted(const axl_record& record, uint32_t client);
  void ReportOther(const axl_record& record);
  void ReportCounters(const axl_rec_counters& record);
  template <typename Rows>
  void Send(Rows* rows);
  void ReportLoss(const axl_rec_loss& record);

  uint32_t device_;
  RecordLimits limits_;
  std::string loss_hop_;
  Filter wanted_;
  EventHandler* handler_;
  CommandRows commands_;
  JobRows jobs_;
  stream::BlockWriter writer_;
  const axl_record* picked_[kBlockRows];
  uint32_t wanted_client_ = 0;      // asked for in this step, and wanted
  ForeignClients foreign_clients_;  // ... and not
  uint64_t foreign_ = 0, bad_ = 0, loss_dated_ = 0, loss_records_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_RECORD_INTAKE_H_
