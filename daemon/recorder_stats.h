// SPDX-License-Identifier: Apache-2.0
//
// The state of a recording, for clients and metrics.
#ifndef DAEMON_RECORDER_STATS_H_
#define DAEMON_RECORDER_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

struct RecorderStats {
  std::vector<Hop> hops;             // of the sources, then of the recording itself
  std::vector<std::string> devices;  // the recorded ones
  uint64_t bytes = 0;                // written to files, including snapshots
  uint64_t ring_bytes = 0;           // held by the flight recorder
  uint64_t processes = 0;            // the number of recorded processes
  uint64_t live_readers = 0, live_dropped = 0;
  uint64_t stalls = 0;         // number of times that it waited for the disk
  int64_t stall_ns = 0;        // total time of these waits
  uint64_t pauses = 0;         // number of times that the disk was full
  bool paused = false;         // the disk is full now
  bool removed = false;        // the output file was unlinked
  uint32_t fill_permille = 0;  // of the fullest ring of a source
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_RECORDER_STATS_H_
