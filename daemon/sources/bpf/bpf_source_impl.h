// SPDX-License-Identifier: Apache-2.0
//
// What BpfSource holds. Internal: bpf_source.cc loads and drains, bpf_attach.cc attaches.
#ifndef DAEMON_SOURCES_BPF_BPF_SOURCE_IMPL_H_
#define DAEMON_SOURCES_BPF_BPF_SOURCE_IMPL_H_

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/bpf/tracer.skel.h"
#include "daemon/sources/api/api_rings.h"
#include "daemon/sources/api/library_finder.h"
#include "daemon/sources/api/ring_readers.h"
#include "daemon/sources/bpf/bpf_events.h"
#include "daemon/sources/bpf/bpf_source.h"
#include "daemon/sources/bpf/system_calls.h"
#include "daemon/sources/common/loss_span.h"
#include "daemon/sources/provider/provider_tracepoints.h"

namespace acceltrace::daemon {

inline constexpr char kProvider[] = "libaxl";
// A flood here must not keep the other sources, whose rings are smaller, waiting.
inline constexpr uint32_t kMaxRecordsPerDrain = 4096;
inline constexpr int kDrainFull = -ECANCELED;  // ends ring_buffer__consume early

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

struct RingDeleter {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};

struct BpfSource::Impl : RingWatcher, ProviderSink {
  Impl(BpfOptions options_in, EventHandler* handler_in)
      : options(std::move(options_in)),
        handler(handler_in),
        events(handler_in, this),
        stacks(handler_in, options.owner),
        rings(handler_in, [this](uint32_t pid, uint32_t tid) { events.NoteThread(pid, tid); }) {
    if (options.stacks) events.UseStacks(&stacks);
    if (!options.functions.empty() && !options.roles.empty()) events.UseCalls(&calls);
  }
  ~Impl() override {
    ring_user.reset();
    links.clear();
    ring.reset();
    if (owners.get() != nullptr) owners.Reset();
    tracer_bpf__destroy(skeleton);
  }

  static int OnRecord(void* context, void* data, size_t bytes) {
    auto* self = static_cast<Impl*>(context);
    self->events.Handle(data, bytes);
    return ++self->drained_records >= kMaxRecordsPerDrain ? kDrainFull : 0;
  }

  class ProbeGate;

  Status Load();
  Status MapPositions();
  int AttachRaw(bpf_program* program, const std::string& name);
  Status AttachRoles();
  bool CollectProvided(int64_t now_ns);
  Status AttachFunctions();
  Status AttachFunction(const LibraryFunction& function, uint32_t index,
                        std::vector<Link>* returns);
  void OnRingReady(uint32_t pid, const SegmentPlace& place) override;
  void OnDriverUse(uint32_t pid) override;
  void OnExec(uint32_t pid) override {
    rings.Forget(pid);
    users.erase(pid);
    probed.erase(pid);
  }
  void OnExit(uint32_t pid, uint32_t tid) override {
    rings.OnExit(pid, tid);
    if (pid == tid) probed.erase(pid);
  }
  void OnLeft(uint32_t pid, int64_t time_ns) override;
  bool IsTracked(uint32_t pid) override;
  bool IsKernelThread(uint32_t pid) override;
  bool WasTracked(uint32_t pid, int64_t time_ns, bool now) override;
  void OnProviderEvent(const HostEvent& event) override;
  void OnProviderLoss(uint64_t count, int64_t first_ns, int64_t last_ns) override;
  bool AttachProbe(bpf_program* program, const std::string& library, const std::string& name,
                   const char* probe);
  bool AttachLibrary(const std::string& library, const std::string& name);
  bool AttachUsdt(const std::string& library, const std::string& name);
  LibraryFinder::Found LookForLibrary(uint32_t pid, std::string* why);
  std::string NoLibraryReason(uint32_t pid, bool looked_at) const;
  bool AdoptRings(uint32_t pid);
  void LookAtUsers(const std::set<uint32_t>& pids);
  void ReportUnseen();
  void UseProbes();
  void UseProbesFor(uint32_t pid);
  void SeeCalls(uint32_t pid);
  void SeeCallsFromHere(uint32_t pid);
  void ShareRings();
  void SetRinged(uint32_t pid);
  void Calibrate();
  void CalibrateRings();
  uint64_t StackRuns() const;
  void CalibrateProbes();
  void CalibrateSystemCalls();
  struct HopTotal {
    uint64_t seen = 0, lost = 0;
    LossSpan span;  // of new losses
  };
  using HopTotals = std::array<HopTotal, ACT_NUM_HOPS>;
  HopTotals ReadHops(bool report);
  void ReportLosses();
  uint32_t ClientOwner(uint32_t client);
  uint32_t* ContextOwner(uint32_t device, uint32_t context);

  BpfOptions options;
  EventHandler* handler;
  BpfEvents events;
  CallStacks stacks;
  ThreadCalls calls;
  ApiRings rings;
  bool probes_calibrated = false;
  bool probes_used = false;
  std::unique_ptr<RingUser> ring_user;  // while it records, if it reads rings
  LibraryFinder finder{kProvider};
  // Attached, without their other probes so far. The file is held where it has no path here.
  struct RingLibrary {
    std::string path, name;
    UniqueFd file;
  };
  std::vector<RingLibrary> ring_libraries;
  std::map<uint32_t, std::string> users;  // of the driver; why their calls are not seen, if known
  std::set<uint32_t> probed;              // calls come by probes, also if there are rings
  std::set<uint32_t> submitters;          // by the driver's ring, to be looked at after this one
  tracer_bpf* skeleton = nullptr;
  std::unique_ptr<ring_buffer, RingDeleter> ring;
  std::vector<Link> links;
  SystemCalls system_calls;
  std::unique_ptr<ProviderTracepoints> providers;  // none if no provider is used
  UniqueFd stats_fd;
  Mapping owners;              // uint32_t[device][context]
  Mapping consumed, produced;  // a page each: positions in the ring, uint64_t
  uint64_t mark = 0;           // likewise
  std::unordered_map<uint32_t, uint32_t> client_owners;  // recorded processes, as in the map
  std::unordered_map<uint32_t, int64_t> since_ns;        // of Track()
  uint64_t tracked_here = 0;                      // counts those that Track() put into the map
  std::unordered_map<uint32_t, int64_t> left_ns;  // of processes that are no longer recorded
  uint64_t reported_lost[ACT_NUM_HOPS] = {};
  std::vector<act_losses> reported_by_cpu[ACT_NUM_HOPS];  // of them, what BPF programs counted
  // Whether a process is a kernel thread, and until when that is believed.
  std::unordered_map<uint32_t, std::pair<bool, int64_t>> kernel_threads;
  int64_t last_loss_check_ns = 0;
  uint32_t drained_records = 0;
};

// The probes of a library are attached one by one: what a process does while this lives would be
// begins without ends and ends without begins, and is left out.
class BpfSource::Impl::ProbeGate {
 public:
  ProbeGate(Impl* impl, uint32_t pid) : impl_(impl), pid_(pid), had_rings_(impl->rings.has(pid)) {
    if (!had_rings_) impl_->SetRinged(pid_);
  }
  ~ProbeGate() {
    if (had_rings_ || impl_->rings.has(pid_)) return;
    (void)bpf_map_delete_elem(bpf_map__fd(impl_->skeleton->maps.ringed), &pid_);
  }
  ProbeGate(const ProbeGate&) = delete;
  ProbeGate& operator=(const ProbeGate&) = delete;

 private:
  Impl* impl_;
  uint32_t pid_;
  bool had_rings_;
};

}  // namespace acceltrace::daemon

#endif  // DAEMON_SOURCES_BPF_BPF_SOURCE_IMPL_H_
