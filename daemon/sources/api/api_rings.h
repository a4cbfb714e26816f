// SPDX-License-Identifier: Apache-2.0
//
// Records API events that processes write to shared memory: takes the segments that a process
// announces, drains them, converts their stamps, and releases them. Which processes may be recorded
// is decided by the caller (daemon/sources/bpf).
#ifndef DAEMON_SOURCES_API_API_RINGS_H_
#define DAEMON_SOURCES_API_API_RINGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/api/api_ring_memory.h"
#include "daemon/sources/api/api_ring_reader.h"
#include "daemon/sources/api/stamp_scale.h"
#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class ApiRings {
 public:
  // `note_thread` is called before the first event of a thread.
  ApiRings(EventHandler* handler, std::function<void(uint32_t, uint32_t)> note_thread);
  ~ApiRings();

  // A process announced a segment of rings. It is not answered yet. Returns true if this is the
  // process's first segment here, and calls were made before. Fails if it is not a segment, cannot
  // be taken, or there are too many.
  Result<bool> Take(uint32_t pid, const SegmentPlace& place);

  // Takes all rings that a running process has from an earlier recording, and records from now on.
  // Returns false if none could be taken.
  bool Adopt(uint32_t pid);

  bool has(uint32_t pid) const { return processes_.count(pid) != 0; }
  // Returns true if it has or had rings in this recording.
  bool Had(uint32_t pid) const { return ever_.count(pid) != 0; }

  // The process does not write to these rings any more: it executes another program, or is gone.
  // What it has written is read, up to a limit; the rest counts as lost.
  void Forget(uint32_t pid);

  // A thread ends, and perhaps its process.
  void OnExit(uint32_t pid, uint32_t tid);

  Pace Drain(int64_t now_ns);
  // Like Source::Mark() and Source::PassedMark().
  void Mark();
  bool PassedMark() const;

  // The current fill level of the fullest ring, in permille. May be called from any thread.
  uint32_t Filling() const;

  // Reads the rest, releases the processes' rings, and closes the account.
  void Stop();
  // The current account.
  Hop Account() const;

  // The number of events for each cost of writing them. Lost events are not included.
  struct Written {
    uint64_t texts = 0;
    uint64_t ends = 0;  // of calls and ranges
    uint64_t begins_without_stream = 0;
    // Rings of threads, except for the first of a process, which is made before its first call, and
    // the time that the threads took to set them up.
    uint64_t rings = 0;
    double rings_ns = 0;
  };
  const Written& written() const { return written_; }

  // The largest error of a converted stamp, or of those that were not converted yet.
  uint64_t bound_ns() const { return scale_.bound_ns(); }

 private:
  struct Segment;
  struct Process;

  void AddStamp();
  void ForgetDead(int64_t now_ns);
  size_t DrainAtEnd(Process* process, size_t max_slots);
  void SayDamage(const Process& process);
  size_t Read(Process* process, size_t max_slots);
  void Release(Process* process, ring::Reader answer);
  void Settle(const Process& process);

  EventHandler* handler_;
  std::function<void(uint32_t, uint32_t)> note_thread_;
  StampScale scale_;
  int64_t start_ns_;
  int64_t last_check_ns_ = 0;
  uint64_t bytes_ = 0;  // mapped
  Written written_;
  // Guards Filling() against changes of the processes' segments.
  mutable std::mutex segments_mutex_;
  std::map<uint32_t, std::unique_ptr<Process>> processes_;
  std::set<uint32_t> ever_;
  uint32_t next_pid_ = 0;
  size_t ends_left_ = 0;  // slots that may be read outside of Drain until the next one
  uint32_t damage_said_ = 0;
  SegmentReader::Counts settled_;  // of segments that are gone
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_API_RINGS_H_
