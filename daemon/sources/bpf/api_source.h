// SPDX-License-Identifier: Apache-2.0
//
// The source of API calls of the library: by shared memory if a process can write to it, otherwise
// by the library's probes. Finds the copies of the library that recorded processes use.
#ifndef DAEMON_SOURCES_BPF_API_SOURCE_H_
#define DAEMON_SOURCES_BPF_API_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/sources/api/api_rings.h"
#include "daemon/sources/api/library_finder.h"
#include "daemon/sources/api/ring_readers.h"
#include "daemon/sources/bpf/bpf_source.h"
#include "daemon/sources/bpf/tracked_processes.h"
#include "daemon/sources/common/source.h"

namespace acceltrace::daemon {

class ApiSource : public Source,
                  public BpfSource::Companion,
                  public ProcessWatcher,
                  public TrackedProcesses::Listener {
 public:
  // All must outlive the source.
  ApiSource(std::shared_ptr<Tracer> tracer, TrackedProcesses* tracked, BpfSource* bpf,
            EventHandler* handler);

  Status Start() override;
  Pace Drain(int64_t now_ns) override;
  void Mark() override { rings_.Mark(); }
  bool PassedMark() override { return rings_.PassedMark(); }
  uint32_t fill_permille() const override { return rings_.Filling(); }
  std::vector<Hop> Hops() override;
  void Stop() override;

  void BeforeDrain(int64_t now_ns) override;
  void BeforeStop() override;

  const ApiRings& rings() const { return rings_; }

  void OnRingReady(uint32_t pid, const SegmentPlace& place) override;
  void OnDriverUse(uint32_t pid) override;
  void OnExec(uint32_t pid) override;
  void OnExit(uint32_t pid, uint32_t tid) override;
  void OnTracked(uint32_t pid) override;
  void OnJobOf(uint32_t pid) override;

 private:
  class ProbeGate;

  const BpfOptions& options() const { return tracer_->options(); }

  bool AttachProbe(bpf_program* program, const std::string& library, const std::string& name,
                   const char* probe);
  bool AttachLibrary(const std::string& library, const std::string& name);
  bool AttachUsdt(const std::string& library, const std::string& name);
  LibraryFinder::Found LookForLibrary(uint32_t pid, std::string* why);
  std::string NoLibraryReason(uint32_t pid, bool looked_at) const;
  bool AdoptRings(uint32_t pid);
  void LookAtUsers();
  void ReportUnseen();
  void UseProbes();
  void UseProbesFor(uint32_t pid);
  void SeeCallsFromHere(uint32_t pid);
  void ShareRings();
  void SetRinged(uint32_t pid);

  std::shared_ptr<Tracer> tracer_;
  TrackedProcesses* tracked_;
  BpfSource* bpf_;
  EventHandler* handler_;
  ApiRings rings_;
  Pace pace_;  // of rings_
  bool running_ = false;
  bool probes_used_ = false;
  std::unique_ptr<RingUser> ring_user_;  // while it records, if it reads rings
  LibraryFinder finder_;
  // Attached libraries whose other probes are not attached yet. The file is kept open if it has no
  // path here.
  struct RingLibrary {
    std::string path, name;
    UniqueFd file;
  };
  std::vector<RingLibrary> ring_libraries_;
  std::vector<Link> links_;
  // Users of the driver, with the reason why their calls are not recorded, if known.
  std::map<uint32_t, std::string> users_;
  std::set<uint32_t> probed_;  // their calls come by probes, even with rings
  // Processes that submitted according to the driver's ring; handled once the BPF ring was read up
  // to that time.
  std::set<uint32_t> submitters_, submitters_before_drain_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_API_SOURCE_H_
