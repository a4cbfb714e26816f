// SPDX-License-Identifier: Apache-2.0
//
// One recording from start to stop: sources, session and output put together.
// Single-threaded: the caller's loop calls Poll.
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
  uint64_t parts = 1;                 // files of a rotation, those that were overwritten, too
  uint64_t triggered = 0, saved = 0;  // rules that fired, files that were saved for them
  std::string stop_reason;
  std::string error;  // empty = fine

  std::string ToJson() const;
};

class Recorder {
 public:
  // Everything is attached and the start is on record when this returns.
  // files: open for writing, the first one and as many more as MoreFiles() says; output_name: of
  // the first one, for messages.
  static Result<std::unique_ptr<Recorder>> Start(const RecordOptions& options,
                                                 std::vector<UniqueFd> files,
                                                 std::string output_name);
  ~Recorder();

  // Record this process and its descendants. Errors: no such process; another
  // user's, if only one user's may be recorded.
  Status Track(uint32_t pid);

  // Collects what has arrived. Wants to be called again after the ns returned, or
  // as soon as wake_fd() is readable.
  int64_t Poll();
  int wake_fd() const { return wake_fd_.get(); }

  // Saves the flight recorder as it is now. Errors: it is none; cannot write.
  Status Snapshot(UniqueFd output, const std::string& output_name);

  // fd: a connected stream socket that will get the stream from here on.
  Status AddLiveReader(UniqueFd fd) { return router_.AddLiveReader(std::move(fd)); }

  bool live_readers_full() { return router_.live().full(); }

  // Not fine once the output has failed; the recording should be stopped then.
  Status failure() const { return part_->output.failure(); }

  RecorderStats Stats();
  bool paused() const { return part_->output.paused(); }

  // Things that are missing but did not prevent the recording; one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Ends collection, flushes everything, writes the accounts and the footer.
  Summary Stop(const std::string& reason, int32_t command_status);

 private:
  Recorder(const RecordOptions& options, std::vector<UniqueFd> files, std::string output_name);

  Status Attach(const RecordOptions& options);
  // What is in the tracer's options is recorded by it. Its sources, which have begun, are kept
  // last.
  Result<std::vector<std::unique_ptr<Source>>> StartTracer(const RecordOptions& options,
                                                           BpfOptions bpf);
  Status AttachDevice(TracedDevice* device, const RecordOptions& options);
  std::vector<std::unique_ptr<Source>> StartSystem(const RecordOptions& options,
                                                   const ProviderDevices& provided);
  void Warn(const RecordOptions& options);
  void WakeOn(WakeFd wake);
  // A source that was started is drained and woken for from now on.
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
  // The driver reports jobs when they are over: those in flight are asked for.
  void TraceJobsInFlight();
  // Since the start.
  uint64_t CpuNs() const;

  // In recorder_files.cc: a file is completed while the recording goes on.
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
  // Of a rotation: all of them, the first one included; of triggers: those that are left.
  std::vector<UniqueFd> files_;
  std::vector<uint64_t> file_events_;          // of a rotation, in the same order
  std::unique_ptr<WriteThread> write_thread_;  // of all files, where this works in idle time
  WorkLog watch_log_;                          // of priority_'s thread, as long as there is one
  std::unique_ptr<Part> part_;
  uint64_t rotate_bytes_ = 0;
  int64_t rotate_ns_ = 0;
  int64_t part_begin_ns_ = 0;
  uint64_t moved_rows_ = 0;   // to parts before
  Summary done_;              // what earlier parts hold
  uint64_t saved_bytes_ = 0;  // snapshots, by request and by trigger
  int64_t next_save_ns_ = 0;
  bool pause_when_full_ = false;
  bool sync_ = true;
  bool was_paused_ = false;
  uint64_t pauses_ = 0;
  bool removed_ = false;
  bool stopped_ = false;
  int64_t next_look_ns_ = 0;      // at the file: space again, still there
  uint64_t output_reported_ = 0;  // rows lost there whose time is recorded
  Router router_;
  Session session_;
  std::shared_ptr<Tracer> tracer_;             // none where nothing is recorded by it
  std::unique_ptr<TrackedProcesses> tracked_;  // likewise
  // Drained and stopped in this order: rings of devices are the smallest buffers.
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::string> warnings_;
  std::vector<std::shared_ptr<TracedDevice>> devices_;
  FlushPace flush_;
  UniqueFd wake_fd_;                   // epoll of the sources' own
  UniqueFd watermark_fd_, urgent_fd_;  // of the rings whose fill level is known, and of the others
  std::unique_ptr<DrainPriority> priority_;
  int64_t start_ns_ = 0;
  uint64_t start_cpu_ns_ = 0;
  bool own_process_ = false;
  uint64_t start_thread_cpu_ns_ = 0;
  bool light_ = false;
  int64_t max_pause_ns_ = 0;
  int64_t pause_ns_ = 0;
  int64_t caught_up_ns_ = 0;  // 0: there was more to do the last time
  WorkLog work_log_;
  Measured wake_;  // what waking this takes
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_RECORDER_H_
