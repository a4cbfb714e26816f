// SPDX-License-Identifier: Apache-2.0
//
// Specifies what has to be loaded of a trace or a part, because loading the rest would take most of
// the time.
#ifndef LIBTRACE_MODEL_TABLES_WANTED_H_
#define LIBTRACE_MODEL_TABLES_WANTED_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "libtrace/proto/trace.pb.h"

namespace acceltrace::model {

struct Wanted {
  // Whether rows of these tables are loaded. by_job: host events, device events and counters, too.
  bool api = true, ranges = true, host = true, by_job = true;
  // Whether the columns of jobs are loaded; otherwise, only which jobs exist and what was seen of
  // them.
  bool jobs = true;
  // Whether device times are converted to the host's clock, and what is compared with them is
  // loaded.
  bool device_times = true;
  // If set, only the columns of commands that come from these fields of proto::CommandBatch.
  std::optional<std::vector<uint32_t>> commands;

  // Adds device times and the changes of devices' clocks.
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
  // The fields of those instants of commands that are needed on the host's clock.
  std::vector<uint32_t> placed;

  bool Command(uint32_t field) const {
    return !commands || std::find(commands->begin(), commands->end(), field) != commands->end();
  }
};

}  // namespace acceltrace::model

#endif  // LIBTRACE_MODEL_TABLES_WANTED_H_
