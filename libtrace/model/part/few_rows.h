// SPDX-License-Identifier: Apache-2.0
//
// Determines which jobs are in a part of a trace, from the bytes of packets and a few bits for each
// job: for a short part, even the cost of a page of memory matters. Internal.
#ifndef LIBTRACE_MODEL_PART_FEW_ROWS_H_
#define LIBTRACE_MODEL_PART_FEW_ROWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libtrace/model/load/decode.h"
#include "libtrace/model/part/known_jobs.h"
#include "libtrace/model/part/partial.h"
#include "libtrace/model/part/rough_clock.h"
#include "libtrace/stream/columns/few_columns.h"

namespace acceltrace::model {

// Reading returns false if a row is invalid or a packet is damaged, so that the trace has to be
// loaded in the way that counts errors.
class FewRows {
 public:
  // owners: the pids of jobs are needed. calls: the calls that submit and await them are needed.
  FewRows(const stream::FileIndex& index, const Stretch& stretch, int64_t margin_ns,
          const std::map<uint32_t, RoughClock>& rough, bool owners, bool calls, Model* model)
      : decoder_(model),
        model_(*model),
        owners_(owners),
        calls_(calls),
        jobs_(owners, calls),
        index_(index),
        stretch_(stretch),
        guard_ns_(GuardOf(margin_ns)),
        rough_(rough) {}
  // Reads what belongs to every part.
  bool ReadDescriptions(std::vector<size_t> places);
  // Only reads from the host's events which processes the jobs belong to.
  bool ReadOwners(const std::vector<size_t>& places);
  bool ReadHost(const std::vector<size_t>& places);
  // Must be called after ReadHost(): reads when those jobs were of which the host did not see
  // enough.
  bool ReadJobs(const std::vector<size_t>& places);

 protected:
  // A thread that continued after a job was complete.
  struct Wake {
    uint64_t job = 0;  // JobKey
    int64_t time_ns = 0;
    uint64_t call = 0;  // the waiting call
  };

  // Opens each packet and calls each().
  template <typename Each>
  bool EachPacket(const std::vector<size_t>& places, stream::FewColumns* columns,
                  const Each& each) {
    for (const size_t place : places) {
      if (!OpenPacket(place, columns) || !each()) return false;
      const stream::PacketPlace& at = index_.packets()[place];
      model_.read.bytes += at.end_bytes - at.offset_bytes;
      model_.read.worth_bytes += at.end_bytes - at.offset_bytes;
      ++model_.read.packets;
    }
    return true;
  }
  bool OpenPacket(size_t place, stream::FewColumns* columns);
  Records& RecordsOf(uint32_t device, uint32_t table) {
    return records_.try_emplace({device, table}, &device_records_[device]).first->second;
  }
  const Stretch& stretch() const { return stretch_; }
  // Returns false if nothing is known of the device's clock.
  bool SeeRoughly(uint32_t device, uint64_t ticks, uint8_t* known);
  // Returns true if the host saw enough of all jobs that count and are near the time.
  bool AllTold() const;
  // Converts the times of losses, none of which may be a device's.
  void FinishLosses();

  Decoder decoder_;
  Model& model_;
  const bool owners_, calls_;
  KnownJobs jobs_;
  std::vector<Wake> wakes_;

 private:
  struct Event {
    int kind = 0;
    uint64_t time = 0, device = 0, job = 0, pid = 0, correlation = 0;
  };
  bool See(const Event& event);
  uint32_t RowOf(uint64_t device);
  bool SeeWake(uint64_t time, uint64_t device, uint64_t job, uint64_t status, uint64_t call);
  bool SeeEvents(stream::FewColumns* columns, size_t rows);
  bool SeeHostJobs(const stream::BlockColumns& block);
  bool SeeHostWaits(const stream::BlockColumns& block);
  uint8_t Near(int64_t at_ns) const;

  const stream::FileIndex& index_;
  const Stretch stretch_;
  const int64_t guard_ns_;
  const std::map<uint32_t, RoughClock>& rough_;
  std::map<uint32_t, Records::Device> device_records_;        // by row
  std::map<std::pair<uint32_t, uint32_t>, Records> records_;  // by device row and table
  uint64_t last_number_ = UINT64_MAX;
  uint32_t last_row_ = kNoRow, rough_row_ = kNoRow;
  const RoughClock* clock_ = nullptr;
  std::string buffer_;  // holds a packet
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_PART_FEW_ROWS_H_
