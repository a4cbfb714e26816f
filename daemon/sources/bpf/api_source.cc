// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/api_source.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "daemon/base/host_info.h"
#include "daemon/base/privileges.h"
#include "daemon/base/say.h"
#include "daemon/bpf/tracer.skel.h"
#include "daemon/sources/api/elf_probes.h"

namespace acceltrace::daemon {
namespace {

constexpr char kProvider[] = "libaxl";

}  // namespace

// The probes of a library are attached individually. While this object exists, the process's events
// are dropped, as they would be begins without ends and ends without begins.
class ApiSource::ProbeGate {
 public:
  ProbeGate(ApiSource* source, uint32_t pid)
      : source_(source), pid_(pid), had_rings_(source->rings_.has(pid)) {
    if (!had_rings_) source_->SetRinged(pid_);
  }
  ~ProbeGate() {
    if (had_rings_ || source_->rings_.has(pid_)) return;
    (void)bpf_map_delete_elem(bpf_map__fd(source_->tracer_->skeleton()->maps.ringed), &pid_);
  }
  ProbeGate(const ProbeGate&) = delete;
  ProbeGate& operator=(const ProbeGate&) = delete;

 private:
  ApiSource* source_;
  uint32_t pid_;
  bool had_rings_;
};

ApiSource::ApiSource(std::shared_ptr<Tracer> tracer, TrackedProcesses* tracked, BpfSource* bpf,
                     EventHandler* handler)
    : tracer_(std::move(tracer)),
      tracked_(tracked),
      bpf_(bpf),
      handler_(handler),
      rings_(handler, [bpf](uint32_t pid, uint32_t tid) { bpf->events().NoteThread(pid, tid); }),
      finder_(kProvider) {}

Status ApiSource::Start() {
  running_ = true;
  for (const std::string& library : options().libraries) {
    if (!finder_.Know(library)) continue;
    if (options().rings) {
      AttachLibrary(library, library);
    } else {
      AttachUsdt(library, library);
    }
  }
  if (options().rings) ShareRings();
  return {};
}

// Records of a thread's end in the BPF ring must be handled after its calls.
void ApiSource::BeforeDrain(int64_t now_ns) {
  pace_ = rings_.Drain(now_ns);
  submitters_before_drain_ = submitters_;
}

Pace ApiSource::Drain(int64_t) {
  if (bpf_->caught_up()) LookAtUsers();
  return pace_;
}

std::vector<Hop> ApiSource::Hops() {
  if (!running_ || !options().rings) return {};
  return {rings_.Account()};
}

void ApiSource::BeforeStop() {
  ring_user_.reset();
  links_.clear();
}

void ApiSource::Stop() {
  running_ = false;
  if (options().rings) rings_.Stop();  // reports its own account
  for (const uint32_t pid : submitters_) users_.try_emplace(pid);
  ReportUnseen();
  handler_->OnApiBound(rings_.bound_ns());
}

bool ApiSource::AttachProbe(bpf_program* program, const std::string& library,
                            const std::string& name, const char* probe) {
  bpf_link* link =
      bpf_program__attach_usdt(program, -1, library.c_str(), kProvider, probe, nullptr);
  const int error = errno;
  handler_->OnProbe("usdt:" + name + ":" + probe, link != nullptr,
                    link != nullptr ? "" : AttachReason(-error));
  if (link != nullptr) links_.emplace_back(link);
  return link != nullptr;
}

bool ApiSource::AttachUsdt(const std::string& library, const std::string& name) {
  bpf_->ReportProbeCost();
  const auto& programs = tracer_->skeleton()->progs;
  const std::pair<bpf_program*, const char*> probes[] = {
      {programs.api_begin, "api_begin"},
      {programs.api_end, "api_end"},
      {programs.range_push, "range_push"},
      {programs.range_pop, "range_pop"},
      {programs.mark, "mark"},
      {programs.op_name, "op_name"},
  };
  bool any = false;
  for (const auto& [program, probe] : probes) any |= AttachProbe(program, library, name, probe);
  return any;
}

// Uses rings if the library has them, and its other probes only if not. `library` is a path that
// can be opened here; `name` is used in messages.
bool ApiSource::AttachLibrary(const std::string& library, const std::string& name) {
  const auto& programs = tracer_->skeleton()->progs;
  // The answer must be ready before the question: ring_ready's semaphore makes processes ask.
  if (!options().rings || ElfProbes(library, kProvider).count("ring_wanted") == 0 ||
      !AttachProbe(programs.ring_wanted, library, name, "ring_wanted") ||
      !AttachProbe(programs.ring_ready, library, name, "ring_ready")) {
    return AttachUsdt(library, name);
  }
  AttachProbe(programs.ring_wake, library, name, "ring_wake");
  RingLibrary attached = {library, name, {}};
  if (library != name) {
    attached.file = UniqueFd(open(library.c_str(), O_RDONLY | O_CLOEXEC));
    attached.path = "/proc/self/fd/" + std::to_string(attached.file.get());
  }
  ring_libraries_.push_back(std::move(attached));
  if (probes_used_) UseProbes();
  return true;
}

// From now on, probes are used for processes whose rings cannot be read. Processes whose rings are
// read are not recorded twice: the BPF programs ignore them.
void ApiSource::UseProbes() {
  probes_used_ = true;
  if (ring_user_) ring_user_->HasProbes();
  const WithRights rights(Rights::kAttaching);
  for (const RingLibrary& library : std::exchange(ring_libraries_, {})) {
    AttachUsdt(library.path, library.name);
  }
}

// Another recording of this daemon may have the rings of a process: probes are then attached before
// the process makes its first call.
void ApiSource::ShareRings() {
  ring_user_ =
      std::make_unique<RingUser>([tracked = tracked_, all = options().system_wide](uint32_t pid) {
        return all || tracked->IsTracked(pid);
      });
  if (options().system_wide && ring_user_->AnyOther()) UseProbes();
}

// *why is the copy's name if it is new, otherwise the obstacle.
LibraryFinder::Found ApiSource::LookForLibrary(uint32_t pid, std::string* why) {
  std::optional<ProbeGate> gate;  // only to attach; otherwise its calls are recorded already
  std::string copy;
  const LibraryFinder::Found found = finder_.Look(
      pid,
      [&](const std::string& path, const std::string& name) {
        if (!gate) gate.emplace(this, pid);
        const WithRights rights(Rights::kAttaching);
        copy = name;
        return AttachLibrary(path, name);
      },
      why);
  if (found == LibraryFinder::Found::kNew) *why = copy;
  return found;
}

// The reason for a process that has no copy of the library mapped, or that ended before that could
// be checked.
std::string ApiSource::NoLibraryReason(uint32_t pid, bool looked_at) const {
  if (looked_at && access(fmt::format("/proc/{}/maps", pid).c_str(), F_OK) == 0) {
    return fmt::format(
        "it has no library with probes of {} mapped: the one that it runs was made without "
        "sys/sdt.h, or lost its section .note.stapsdt; take one that has them",
        kProvider);
  }
  return fmt::format(
      "it ended before its libraries could be looked at, and runs another copy of the API library "
      "than {}: name its copy with --libaxl FILE, or put its folder into LD_LIBRARY_PATH",
      options().libraries.empty() ? "any that was found"
                                  : fmt::format("{}", fmt::join(options().libraries, ", ")));
}

void ApiSource::UseProbesFor(uint32_t pid) {
  if (probes_used_) return;
  const ProbeGate gate(this, pid);
  UseProbes();
}

// What the process did in the meantime is recorded; its calls are complete from now on.
void ApiSource::SeeCallsFromHere(uint32_t pid) {
  handler_->OnProcessEvent({MonotonicNs(), proto::ProcessEvents::KIND_CALLS, pid, pid, 0});
}

void ApiSource::OnTracked(uint32_t pid) {
  const bool had_probes = probes_used_;
  if (ring_user_ && ring_user_->OtherRecords(pid)) UseProbesFor(pid);
  std::string why;  // reported when it uses a device
  const bool fresh = LookForLibrary(pid, &why) == LibraryFinder::Found::kNew;
  (void)AdoptRings(pid);
  if (fresh || probes_used_ != had_probes) SeeCallsFromHere(pid);
}

// A process makes rings as soon as the kernel has begun to attach to its library, and announces
// them once, perhaps before a program was attached that could receive it. Returns true if its calls
// are recorded from now on.
bool ApiSource::AdoptRings(uint32_t pid) {
  if (!options().rings || rings_.has(pid)) return false;
  if (ring_user_ && ring_user_->LeavesTo(pid)) return false;
  if (rings_.Adopt(pid)) {
    SetRinged(pid);
    return true;
  }
  if (FindSegments(pid).empty()) return false;
  // Another recording reads them, or they are incomplete. Only one way may be used, as calls would
  // be recorded twice otherwise.
  probed_.insert(pid);
  UseProbesFor(pid);
  return true;
}

// What a process was before, and what its library announced, may be in records of the BPF ring that
// were not read yet.
void ApiSource::OnJobOf(uint32_t pid) {
  if (users_.count(pid) == 0) submitters_.insert(pid);
}

void ApiSource::LookAtUsers() {
  for (const uint32_t pid : std::exchange(submitters_before_drain_, {})) {
    submitters_.erase(pid);
    OnDriverUse(pid);
  }
}

void ApiSource::OnExec(uint32_t pid) {
  rings_.Forget(pid);
  users_.erase(pid);
  probed_.erase(pid);
}

void ApiSource::OnExit(uint32_t pid, uint32_t tid) {
  rings_.OnExit(pid, tid);
  if (pid == tid) probed_.erase(pid);
}

// A process uses a device, but no call of the library was recorded: it may use an unknown copy.
void ApiSource::OnDriverUse(uint32_t pid) {
  const auto [user, fresh] = users_.try_emplace(pid);
  if (!fresh || rings_.has(pid) || bpf_->events().SawCalls(pid)) return;
  std::string why;
  const LibraryFinder::Found found = LookForLibrary(pid, &why);
  switch (found) {
    case LibraryFinder::Found::kNew:
    case LibraryFinder::Found::kKnown:
      if (!AdoptRings(pid) && found == LibraryFinder::Found::kKnown) return;  // on their way
      if (found == LibraryFinder::Found::kNew) {
        Say(fmt::format(
            "process {} runs another copy of the API library, {}: its calls are seen from now on; "
            "--libaxl {} has them seen from the first one",
            pid, why, why));
        user->second = fmt::format(
            "its copy of the API library, {}, was found after its last call: name it with "
            "--libaxl {}, or put its folder into LD_LIBRARY_PATH",
            why, why);
      }
      SeeCallsFromHere(pid);
      return;
    case LibraryFinder::Found::kNothing:
      why = NoLibraryReason(pid, true);
      break;
    case LibraryFinder::Found::kUnreadable:
      break;
  }
  Say(fmt::format("warning: API calls of process {} cannot be seen: {}", pid, why));
  user->second = why;
}

void ApiSource::ReportUnseen() {
  for (const auto& [pid, why] : users_) {
    if (!rings_.Had(pid) && !bpf_->events().SawCalls(pid)) {
      handler_->OnUnseen(pid, why.empty() ? NoLibraryReason(pid, false) : why);
    }
  }
}

void ApiSource::SetRinged(uint32_t pid) {
  const uint8_t one = 1;
  (void)bpf_map_update_elem(bpf_map__fd(tracer_->skeleton()->maps.ringed), &pid, &one, BPF_ANY);
}

void ApiSource::OnRingReady(uint32_t pid, const SegmentPlace& place) {
  if (ring_user_ && !rings_.has(pid) && ring_user_->LeavesTo(pid)) return;
  if (probed_.count(pid) != 0) return;
  if (const auto late = rings_.Take(pid, place); late.ok()) {
    SetRinged(pid);
    if (late.value()) SeeCallsFromHere(pid);
  } else if (!rings_.has(pid) && !probes_used_) {
    UseProbesFor(pid);
    probed_.insert(pid);
    SeeCallsFromHere(pid);
  }
}

}  // namespace acceltrace::daemon
