// SPDX-License-Identifier: Apache-2.0
//
// Host events by BPF: USDT probes of the API library, tracepoints of the driver,
// and the tree of recorded processes.
#ifndef DAEMON_SOURCES_BPF_BPF_SOURCE_H_
#define DAEMON_SOURCES_BPF_BPF_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sources/common/device.h"
#include "daemon/sources/common/source.h"
#include "daemon/sources/provider/provider_devices.h"

namespace acceltrace::daemon {

struct BpfOptions {
  bool rings = true;  // API events by shared memory, by probes only where that cannot be
  bool usdt = true;   // API events by probes
  bool driver = true;
  bool system_wide = false;
  uint32_t device_mask = ~0u;              // by number, whose driver events are wanted
  std::optional<uint32_t> owner;           // only processes that run as this user, in every sense
  std::vector<std::string> libraries;      // files whose libaxl probes are attached
  uint32_t ring_bytes = 16u << 20;         // a power of two
  bool jobs = true;                        // of the driver; else its own ring has jobs and waits
  bool light = false;                      // of the driver, what a job is known by only
  std::vector<TracepointRole> roles;       // of devices that providers describe
  std::vector<LibraryFunction> functions;  // API calls that providers name
  bool stacks = false;                     // of API calls, which then come by probes
  bool run_stats = false;                  // have the kernel time the programs, which costs as well
};

class BpfSource : public Source, public WorkOwners {
 public:
  // handler must outlive the source.
  BpfSource(BpfOptions options, EventHandler* handler);
  ~BpfSource() override;

  // Errors: no permission; the kernel lacks BPF, its BTF, or a feature.
  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  void Mark() override;
  bool PassedMark() override;
  std::vector<Hop> Hops() override;
  void Checkpoint() override;
  void Flush() override;
  void Stop() override;

  // Before Start: the drivers' own rings have jobs and waits.
  void LeaveJobs();

  WakeFd wake() const override;
  // Of the providers' tracepoints.
  WakeFd provider_wake() const;
  uint32_t fill_permille() const override;

  // How far the times of API events that came by shared memory may be off; 0 = none came.
  uint64_t api_bound_ns() const;

  // Record this process and its descendants from now on. Errors: no such process;
  // not the owner's.
  Status Track(uint32_t pid);
  // Whether it would be refused, before anything is written.
  Status MayTrack(uint32_t pid) const;

  // From when on a process is recorded by Track(); 0: not by that.
  int64_t since_ns(uint32_t pid) const;
  // The map of recorded processes, for other programs.
  int tracked_fd() const;
  // Grows before a process comes into that map, and now and then besides.
  uint64_t tracked_changes() const;

  bool Wanted(uint32_t device, uint32_t context, uint64_t correlation) override;
  bool WantedClient(uint32_t client) override;
  void NoteJob(uint32_t device, uint32_t context, uint32_t pid, uint64_t correlation) override;
  // Clients that were there before their processes were recorded.
  void NoteClients(const std::vector<DeviceClient>& clients);

  // What the kernel measured of the programs so far.
  struct BpfCost {
    uint64_t run_ns = 0, runs = 0, missed = 0;
  };
  BpfCost Cost() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_SOURCE_H_
