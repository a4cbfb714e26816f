// SPDX-License-Identifier: Apache-2.0
//
// One recording from start to stop: combines sources, session and output. It is single-threaded:
// the caller's loop calls Poll.
#ifndef DAEMON_RECORDER_H_
#define DAEMON_RECORDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/base/work_log.h"
#include "daemon/drain_priority.h"
#include "daemon/flush_pace.h"
#include "daemon/options.h"
#include "daemon/recorder_stats.h"
#include "daemon/session/session.h"
#include "daemon/sink/part.h"
#include "daemon/sink/router.h"
#include "daemon/sources/bpf/tracer.h"
#include "daemon/sources/bpf/tracked_processes.h"
#include "daemon/sources/common/calibration.h"
#include "daemon/sources/common/device.h"
#include "daemon/sources/provider/provider_devices.h"
#include "daemon/sources/system/system_sources.h"

namespace acceltrace::daemon {

struct Summary {
  std::string output;
  uint64_t bytes = 0, packets = 0, events = 0, lost = 0, bad = 0, overwritten = 0;
  int64_t duration_ns = 0;
  uint64_t cpu_ns = 0, bpf_ns = 0;
  uint64_t parts = 1;  // number of rotated files, including overwritten ones
  // The number of rules that fired, and of files that were saved for them.
  uint64_t triggered = 0, saved = 0;
  std::string stop_reason;
  std::string error;  // empty if there was none

  std::string ToJson() const;
};

class Recorder {
 public:
  // When this returns, everything is attached and the start is recorded. `files` must be open for
  // writing: the first one and as many more as MoreFiles() says. `output_name` is the name of the
  // first one, for messages.
  static Result<std::unique_ptr<Recorder>> Start(const RecordOptions& options,
                                                 std::vector<UniqueFd> files,
                                                 std::string output_name);
  ~Recorder();

  // Records this process and its descendants. Fails if there is no such process, or if it belongs
  // to another user and only one user's processes may be recorded.
  Status Track(uint32_t pid);

  // Collects what has arrived. It must be called again after the returned ns, or as soon as
  // wake_fd() is readable.
  int64_t Poll();
  int wake_fd() const { return wake_fd_.get(); }

  // Saves the current contents of the flight recorder. Fails if there is none, or if it cannot be
  // written.
  Status Snapshot(UniqueFd output, const std::string& output_name);

  // `fd` is a connected stream socket that receives the stream from now on.
  Status AddLiveReader(UniqueFd fd) { return router_.AddLiveReader(std::move(fd)); }

  bool live_readers_full() { return router_.live().full(); }

  // Returns an error once the output has failed; the recording should be stopped then.
  Status failure() const { return part_->output.failure(); }

  RecorderStats Stats();
  bool paused() const { return part_->output.paused(); }

  // What could not be recorded, although the recording as a whole works; one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Ends collection, flushes everything, and writes the accounts and the footer.
  Summary Stop(const std::string& reason, int32_t command_status);

 private:
  Recorder(const RecordOptions& options, std::vector<UniqueFd> files, std::string output_name);

  Status Attach(const RecordOptions& options);
  // The tracer records what its options contain. Returns its sources, which are started but must be
  // kept after all others.
  Result<std::vector<std::unique_ptr<Source>>> StartTracer(const RecordOptions& options,
                                                           BpfOptions bpf);
  Status AttachDevice(TracedDevice* device, const RecordOptions& options);
  std::vector<std::unique_ptr<Source>> StartSystem(const RecordOptions& options,
                                                   const ProviderDevices& provided);
  void Warn(const RecordOptions& options);
  void WakeOn(WakeFd wake);
  // From now on, the started source is drained and wakes the recorder.
  void Keep(std::unique_ptr<Source> source);
  Pace DrainSources(int64_t now_ns);
  void Adapt(int64_t now_ns, const Pace& pace);
  std::vector<Hop> SourceHops();
  uint32_t FillPermille() const;
  void DescribeProvided(const ProviderDevices& provided);
  bool OpenDriverRings();
  void MarkSources();
  bool PassedMarks();
  void DrainWhatWaits();
  void FlushSources();
  // The driver reports jobs when they are over, so this asks for those still in flight.
  void TraceJobsInFlight();
  // CPU time since the start.
  uint64_t CpuNs() const;

  // In recorder_files.cc: completes a file while the recording continues.
  struct Cut {
    StopInfo stop;
    std::vector<proto::Packet> closing;
  };
  Cut CutHere(const std::string& reason, uint64_t overwritten_rows, int64_t whole_since_ns);
  void WriteClosing(Part* part, Cut cut);
  Status Save(UniqueFd output, const std::string& output_name, const std::string& reason);
  void TendFiles(int64_t now_ns);
  void TendPause(int64_t now_ns);
  void TendTriggers(int64_t now_ns);
  void NoteClients();
  void Rotate(int64_t now_ns);
  void AddUp(const Part& part, uint64_t events);

  std::string output_name_;
  // For a rotation: all files, including the first. For triggers: the files not used yet.
  std::vector<UniqueFd> files_;
  std::vector<uint64_t> file_events_;          // for a rotation, in the same order
  std::unique_ptr<WriteThread> write_thread_;  // of all files, if the recorder runs in idle time
  WorkLog watch_log_;                          // written by priority_'s watcher while it exists
  std::unique_ptr<Part> part_;
  uint64_t rotate_bytes_ = 0;
  int64_t rotate_ns_ = 0;
  int64_t part_begin_ns_ = 0;
  uint64_t moved_rows_ = 0;   // rows that went to earlier parts
  Summary done_;              // totals of earlier parts
  uint64_t saved_bytes_ = 0;  // of snapshots, by request and by trigger
  int64_t next_save_ns_ = 0;
  bool pause_when_full_ = false;
  bool sync_ = true;
  bool was_paused_ = false;
  uint64_t pauses_ = 0;
  bool removed_ = false;
  bool stopped_ = false;
  int64_t next_look_ns_ = 0;      // when to check the file and the disk's free space
  uint64_t output_reported_ = 0;  // rows lost in the output whose time was reported
  Router router_;
  Session session_;
  std::shared_ptr<Tracer> tracer_;             // null if it records nothing
  std::unique_ptr<TrackedProcesses> tracked_;  // null likewise
  // They are drained and stopped in this order: device rings are the smallest buffers.
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::string> warnings_;
  std::vector<std::shared_ptr<TracedDevice>> devices_;
  FlushPace flush_;
  UniqueFd wake_fd_;                   // epoll of the sources' descriptors
  UniqueFd watermark_fd_, urgent_fd_;  // of rings with a known fill level, and of others
  std::unique_ptr<DrainPriority> priority_;
  int64_t start_ns_ = 0;
  uint64_t start_cpu_ns_ = 0;
  bool own_process_ = false;
  uint64_t start_thread_cpu_ns_ = 0;
  bool light_ = false;
  int64_t max_pause_ns_ = 0;
  int64_t pause_ns_ = 0;
  int64_t caught_up_ns_ = 0;  // 0 if there was more to do the last time
  WorkLog work_log_;
  Measured wake_;  // cost of waking the recorder
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_RECORDER_H_
