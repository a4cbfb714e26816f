// SPDX-License-Identifier: Apache-2.0
//
// How a recording is doing, for whoever asks while it runs.
#ifndef DAEMON_RECORDER_STATS_H_
#define DAEMON_RECORDER_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

struct RecorderStats {
  std::vector<Hop> hops;             // of the sources, then those of the recording itself
  std::vector<std::string> devices;  // that are recorded
  uint64_t bytes = 0;                // written to files, snapshots included
  uint64_t ring_bytes = 0;           // held by the flight recorder
  uint64_t processes = 0;            // that are recorded now
  uint64_t live_readers = 0, live_dropped = 0;
  uint64_t stalls = 0;         // times it waited for the disk
  int64_t stall_ns = 0;        // and for how long
  uint64_t pauses = 0;         // times the disk was full
  bool paused = false;         // it is now
  bool removed = false;        // the output has no name any more
  uint32_t fill_permille = 0;  // of the fullest ring of a source
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_RECORDER_STATS_H_
