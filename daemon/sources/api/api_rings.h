// SPDX-License-Identifier: Apache-2.0
//
// API events of processes that write them to shared memory: takes the segments that
// a process announces, drains them, converts their stamps, and gives them back.
// Who may be recorded is decided before (daemon/sources/bpf).
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
  // note_thread: called before the first event of a thread.
  ApiRings(EventHandler* handler, std::function<void(uint32_t, uint32_t)> note_thread);
  ~ApiRings();

  // A process says that it has a segment of rings there. The answer is not sent yet.
  // true: it is the process's first one here, and calls were made before.
  // Errors: it is none, it cannot be had, or there are too many.
  Result<bool> Take(uint32_t pid, const SegmentPlace& place);

  // A running process may have rings from an earlier recording: takes them all, from
  // now on. false: it has none that could be taken.
  bool Adopt(uint32_t pid);

  bool has(uint32_t pid) const { return processes_.count(pid) != 0; }
  // Now or earlier in this recording.
  bool Had(uint32_t pid) const { return ever_.count(pid) != 0; }

  // The process writes no more into these rings: it executes another program, or is gone. What it
  // has written is read, within bounds; the rest counts as lost.
  void Forget(uint32_t pid);

  // A thread ends, the process perhaps with it.
  void OnExit(uint32_t pid, uint32_t tid);

  Pace Drain(int64_t now_ns);
  // As Source::Mark() and Source::PassedMark().
  void Mark();
  bool PassedMark() const;

  // How full the fullest ring is now, in permille; from any thread.
  uint32_t Filling() const;

  // Reads the rest, lets the processes go on without, and closes the account.
  void Stop();
  // The accounts so far.
  Hop Account() const;

  // Events by what it costs to write one. What was lost is in none of them.
  struct Written {
    uint64_t texts = 0;
    uint64_t ends = 0;  // of calls and ranges
    uint64_t begins_without_stream = 0;
    // Rings of threads but the first of a process, which has its own before its first call, and
    // the time that the threads took to set them up.
    uint64_t rings = 0;
    double rings_ns = 0;
  };
  const Written& written() const { return written_; }

  // The largest error of a converted stamp, and of what was not converted yet.
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
  mutable std::mutex segments_mutex_;  // changes of who has which segments, and Filling()
  std::map<uint32_t, std::unique_ptr<Process>> processes_;
  std::set<uint32_t> ever_;
  uint32_t next_pid_ = 0;
  size_t ends_left_ = 0;  // slots that may be read out of turn until the next Drain
  uint32_t damage_said_ = 0;
  SegmentReader::Counts settled_;  // of segments that are gone
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_API_API_RINGS_H_
