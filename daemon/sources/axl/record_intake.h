// SPDX-License-Identifier: Apache-2.0
//
// Turns a device's records from the ring into blocks and events: checks them, sorts them by kind
// and separates those of other processes. It knows neither the ring nor the device, and the code
// that follows does not know axl's records.
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
  // Returns whether work belongs to the recording, like WorkOwners::Wanted(). Within one call of
  // Handle it is called once for each client, as long as there are few clients.
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

  // The device may write to the records at any time.
  void Handle(const axl_record* records, size_t count);

  // Passes on incomplete blocks.
  void Flush();

  uint64_t foreign() const { return foreign_; }  // records of other processes
  uint64_t bad() const { return bad_; }          // refused records; complete after Flush
  // The losses that loss records reported, and the number of such records.
  uint64_t loss_dated() const { return loss_dated_; }
  uint64_t loss_records() const { return loss_records_; }
  // The number of rows in incomplete blocks.
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
  uint32_t wanted_client_ = 0;      // wanted, as asked in this step
  ForeignClients foreign_clients_;  // not wanted, as asked in this step
  uint64_t foreign_ = 0, bad_ = 0, loss_dated_ = 0, loss_records_ = 0;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_AXL_RECORD_INTAKE_H_
