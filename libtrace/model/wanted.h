// SPDX-License-Identifier: Apache-2.0
//
// What of a trace, or a part of it, somebody reads: to load the rest would take most of the time.
#ifndef LIBTRACE_MODEL_WANTED_H_
#define LIBTRACE_MODEL_WANTED_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::model {

struct Wanted {
  // Rows of these tables. What comes of jobs: host events, device events, counters, too.
  bool api = true, ranges = true, host = true, by_job = true;
  // Of jobs their columns; else which there are, and what of them was seen.
  bool jobs = true;
  // Times of a device on the host's clock, and what is compared with such.
  bool device_times = true;
  // Of commands no more columns than come from these fields of proto::CommandBatch; none: all.
  std::optional<std::vector<uint32_t>> commands;

  // Where a device's clock changed, and what its times are made of.
  void AddDeviceTimes() {
    device_times = true;
    if (!commands) return;
    using Batch = proto::CommandBatch;
    for (const uint32_t field :
         {Batch::kFetchedTicksDeltaFieldNumber, Batch::kHeadTicksAfterFieldNumber,
          Batch::kStartTicksAfterFieldNumber, Batch::kEndTicksAfterFieldNumber}) {
      if (!Command(field)) commands->push_back(field);
    }
  }
  // Of instants of commands those that are asked for on the host's clock, by their fields.
  std::vector<uint32_t> placed;

  bool Command(uint32_t field) const {
    return !commands || std::find(commands->begin(), commands->end(), field) != commands->end();
  }
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_WANTED_H_
