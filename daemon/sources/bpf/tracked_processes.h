// SPDX-License-Identifier: Apache-2.0
//
// Who is recorded: the processes, their clients of drivers and their contexts on devices. BPF
// programs note what happens while they run; what was there before is noted here.
#ifndef DAEMON_SOURCES_BPF_TRACKED_PROCESSES_H_
#define DAEMON_SOURCES_BPF_TRACKED_PROCESSES_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/bpf/bpf_events.h"
#include "daemon/sources/bpf/tracer.h"
#include "daemon/sources/common/device.h"

namespace acceltrace::daemon {

class TrackedProcesses : public WorkOwners, public ProcessWatcher {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // A process that was there before is recorded from now on.
    virtual void OnTracked(uint32_t pid) = 0;
    // A recorded process has submitted a job, as the driver's own ring says.
    virtual void OnJobOf(uint32_t pid) { (void)pid; }
  };

  // tracer: loaded. The handler must outlive this.
  TrackedProcesses(std::shared_ptr<Tracer> tracer, EventHandler* handler)
      : tracer_(std::move(tracer)), handler_(handler) {}

  Status Open();
  // In this order; they must outlive the recording.
  void AddListener(Listener* listener) { listeners_.push_back(listener); }

  // Record this process and its descendants from now on. Errors: no such process;
  // not the owner's.
  Status Track(uint32_t pid);
  // Whether it would be refused, before anything is written.
  Status MayTrack(uint32_t pid) const;

  bool IsTracked(uint32_t pid) const;
  // Whether it was then; now: what IsTracked() said later.
  bool WasTracked(uint32_t pid, int64_t time_ns, bool now) const;
  // From when on a process is recorded by Track(); 0: not by that.
  int64_t since_ns(uint32_t pid) const;
  // The map of recorded processes, for other programs.
  int map_fd() const;
  // Grows before a process comes into that map, and now and then besides.
  uint64_t changes() const;

  bool Wanted(uint32_t device, uint32_t context, uint64_t correlation) override;
  bool WantedClient(uint32_t client) override;
  void NoteJob(uint32_t device, uint32_t context, uint32_t pid, uint64_t correlation) override;
  // Clients that were there before their processes were recorded.
  void NoteClients(const std::vector<DeviceClient>& clients);

  void OnLeft(uint32_t pid, int64_t time_ns) override;

 private:
  uint32_t ClientOwner(uint32_t client);
  uint32_t* ContextOwner(uint32_t device, uint32_t context);

  std::shared_ptr<Tracer> tracer_;
  EventHandler* handler_;
  std::vector<Listener*> listeners_;
  Mapping owners_;                                        // uint32_t[device][context]
  std::unordered_map<uint32_t, uint32_t> client_owners_;  // recorded processes, as in the map
  std::unordered_map<uint32_t, int64_t> since_ns_;        // of Track()
  std::unordered_map<uint32_t, int64_t> left_ns_;  // of processes that are no longer recorded
  uint64_t tracked_here_ = 0;                      // counts those that Track() put into the map
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_TRACKED_PROCESSES_H_
