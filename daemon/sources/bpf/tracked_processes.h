// SPDX-License-Identifier: Apache-2.0
//
// Keeps track of what is recorded: the processes, their clients of drivers and their contexts on
// devices. BPF programs update this during the recording; what existed before is added here.
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
    // A process that existed before is recorded from now on.
    virtual void OnTracked(uint32_t pid) = 0;
    // A recorded process has submitted a job, according to the driver's own ring.
    virtual void OnJobOf(uint32_t pid) { (void)pid; }
  };

  // `tracer` must be loaded. The handler must outlive this object.
  TrackedProcesses(std::shared_ptr<Tracer> tracer, EventHandler* handler)
      : tracer_(std::move(tracer)), handler_(handler) {}

  Status Open();
  // Listeners are called in this order, and must outlive the recording.
  void AddListener(Listener* listener) { listeners_.push_back(listener); }

  // Records this process and its descendants from now on. Fails if there is no such process, or if
  // it is not the owner's.
  Status Track(uint32_t pid);
  // Returns whether Track() would fail, before anything is written.
  Status MayTrack(uint32_t pid) const;

  bool IsTracked(uint32_t pid) const;
  // Returns whether it was tracked at that time; `now` is what IsTracked() returned later.
  bool WasTracked(uint32_t pid, int64_t time_ns, bool now) const;
  // Returns when Track() began to record a process, or 0 if it did not.
  int64_t since_ns(uint32_t pid) const;
  // The map of recorded processes, for other BPF programs.
  int map_fd() const;
  // Increases before a process is added to that map, and sometimes otherwise.
  uint64_t changes() const;

  bool Wanted(uint32_t device, uint32_t context, uint64_t correlation) override;
  bool WantedClient(uint32_t client) override;
  void NoteJob(uint32_t device, uint32_t context, uint32_t pid, uint64_t correlation) override;
  // Notes clients that existed before their processes were recorded.
  void NoteClients(const std::vector<DeviceClient>& clients);

  void OnLeft(uint32_t pid, int64_t time_ns) override;

 private:
  uint32_t ClientOwner(uint32_t client);
  uint32_t* ContextOwner(uint32_t device, uint32_t context);

  std::shared_ptr<Tracer> tracer_;
  EventHandler* handler_;
  std::vector<Listener*> listeners_;
  Mapping owners_;                                        // uint32_t[device][context]
  std::unordered_map<uint32_t, uint32_t> client_owners_;  // by client; recorded ones, as in the map
  std::unordered_map<uint32_t, int64_t> since_ns_;        // when Track() was called
  std::unordered_map<uint32_t, int64_t> left_ns_;  // of processes that are no longer recorded
  uint64_t tracked_here_ = 0;  // number of processes that Track() added to the map
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_TRACKED_PROCESSES_H_
