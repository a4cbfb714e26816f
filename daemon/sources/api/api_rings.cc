// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/api/api_rings.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <utility>

#include "daemon/base/host_info.h"
#include "daemon/base/say.h"
#include "daemon/bpf/records.h"

namespace acceltrace::daemon {
namespace {

using ring::Kind;
using ring::Slot;

static_assert(ACT_ANSWER_SIGNAL == ring::kAnswerSignal);

constexpr char kHopName[] = "api-ring";
constexpr size_t kMaxProcesses = 4096;
constexpr size_t kMaxThreads = 1 << 16;             // remembered per process
constexpr uint64_t kMaxBytes = uint64_t{32} << 30;  // of address space; pages are the processes'
constexpr double kMaxSetUpNs = 25e6;                // per ring, as this is reported by the process
constexpr int64_t kSlackNs = 10'000;                // tolerance of a converted stamp
constexpr int64_t kCheckNs = 500'000'000;           // checks for processes whose end was missed
// About 100 microseconds of work, before the other sources are drained: while calls arrive as fast
// as they are read, a device's ring would fill.
constexpr size_t kMaxSlotsPerDrain = 1 << 12;
// kMaxSlotsAtEnd is read at the end of a process, before its calls are closed: everything that the
// library's first segment holds. kMaxEndsPerDrain limits this for all ending threads, as a process
// can end threads at any rate.
constexpr size_t kMaxSlotsAtEnd = 1 << 21;
constexpr size_t kMaxEndsPerDrain = 1 << 18;
// A new text costs a hundred times as much as a call, as it is stored and written. The rate and the
// burst of a process's new texts are limited; more of them wait in its rings.
constexpr int64_t kFreshPerS = 50'000;
constexpr int64_t kMostFresh = 16'384;
constexpr int64_t kThreadIsFresh = 8;  // its name is read from /proc
constexpr int64_t kNsPerS = 1'000'000'000;
// Announcements by a process that already has rings: the library makes none.
constexpr uint32_t kMostRefused = 2 * ring::kMaxSegments;
constexpr uint32_t kMostDamageSaid = 16;  // the number of processes

}  // namespace

struct ApiRings::Segment {
  SegmentMemory memory;
  SegmentReader reader;
};

// A process, and the state in which its events are handled.
struct ApiRings::Process : RingSink {
  Process(uint32_t pid_in, ApiRings* rings_in, UniqueFd pidfd_in)
      : pid(pid_in), rings(rings_in), pidfd(std::move(pidfd_in)) {}

  int64_t TimeNs(uint64_t stamp) const {
    return clock == ring::StampClock::kTsc ? rings->scale_.ToNs(stamp)
                                           : static_cast<int64_t>(stamp) - offset_ns;
  }

  // Converts the stamp of an event that was written in this recording, until now.
  Verdict TimeOf(uint64_t stamp, int64_t* time_ns) {
    *time_ns = TimeNs(stamp);
    if (*time_ns > until_ns + kSlackNs) return Verdict::kBad;
    return *time_ns < since_ns ? Verdict::kEarlier : Verdict::kTaken;
  }

  void Note(uint32_t tid) {
    if (depth != nullptr && tid == last_tid) return;  // a ring's thread id may be 0, too
    last_tid = tid;
    rings->note_thread_(pid, tid);
    if (open.size() >= kMaxThreads) open.clear();
    const auto [entry, fresh] = open.try_emplace(tid);
    if (fresh) fresh_left -= kThreadIsFresh;
    depth = &entry->second;
  }

  Verdict OnRingCall(uint32_t tid, const Slot& slot) override {
    int64_t time_ns;
    const Verdict verdict = TimeOf(slot.stamp, &time_ns);
    if (verdict != Verdict::kTaken) return verdict;
    Note(tid);
    EventHandler* const handler = rings->handler_;
    switch (static_cast<Kind>(slot.kind)) {
      case Kind::kApiBegin:
        ++*depth;
        handler->OnApiBegin(BeginOf(tid, slot, time_ns));
        break;
      case Kind::kApiEnd:
        ++rings->written_.ends;
        if (*depth > 0) --*depth;
        handler->OnApiEnd({time_ns, pid, tid, static_cast<int32_t>(slot.arg), slot.call.correlation,
                           names[slot.name]});
        break;
      default:
        ++rings->written_.ends;
        handler->OnRangePop({time_ns, pid, tid, slot.arg});
        break;
    }
    return Verdict::kTaken;
  }

  // Avoids the search for the matching begin if no other call is open.
  bool OnRingPair(uint32_t tid, const Slot& begin, const Slot& end) override {
    int64_t begin_ns, end_ns;
    if (TimeOf(begin.stamp, &begin_ns) != Verdict::kTaken ||
        TimeOf(end.stamp, &end_ns) != Verdict::kTaken) {
      return false;
    }
    Note(tid);
    if (*depth > 0) return false;
    ++rings->written_.ends;
    rings->handler_->OnApiCall(BeginOf(tid, begin, begin_ns), end_ns,
                               static_cast<int32_t>(end.arg));
    return true;
  }

  ApiBegin BeginOf(uint32_t tid, const Slot& slot, int64_t time_ns) const {
    rings->written_.begins_without_stream += slot.arg == 0;
    return {time_ns, pid, tid, names[slot.name], slot.arg, slot.call.correlation, slot.call.bytes};
  }

  Verdict OnRingText(uint32_t tid, const Slot& slot, std::string_view text) override {
    int64_t time_ns;
    const Verdict verdict = TimeOf(slot.stamp, &time_ns);
    if (verdict != Verdict::kTaken) return verdict;
    Note(tid);
    ++rings->written_.texts;
    const uint32_t name = rings->handler_->Intern(text);
    if (name > newest_name) {  // ids are assigned in order
      newest_name = name;
      --fresh_left;
    }
    switch (static_cast<Kind>(slot.kind)) {
      case Kind::kOpName:
        rings->handler_->OnOpName(pid, slot.arg, name);
        break;
      case Kind::kMark:
        rings->handler_->OnMark({time_ns, pid, tid, name, slot.arg});
        break;
      default:
        rings->handler_->OnRangePush({time_ns, pid, tid, name, slot.arg});
        break;
    }
    return Verdict::kTaken;
  }

  bool MayGoOn() const override { return fresh_left > 0; }

  void Refill(int64_t now_ns) {
    const int64_t since = std::clamp<int64_t>(now_ns - refilled_ns, 0, kNsPerS);
    const int64_t more = since * kFreshPerS / kNsPerS;
    if (more == 0) return;
    refilled_ns = now_ns;
    fresh_left = std::min(fresh_left + more, kMostFresh);
    waits.store(!MayGoOn(), std::memory_order_relaxed);
  }

  void OnRingSetUp(uint64_t stamps) override {
    if (clock != ring::StampClock::kTsc) return;  // the writer counts TSC ticks there, too
    ++rings->written_.rings;
    rings->written_.rings_ns += std::min(rings->scale_.DurationNs(stamps), kMaxSetUpNs);
  }

  void OnRingLoss(uint64_t count, uint64_t first, uint64_t last) override {
    Loss loss;
    loss.hop = kHopName;
    loss.count = count;
    loss.first = std::clamp(TimeNs(first), since_ns, until_ns);
    loss.last = last == UINT64_MAX ? until_ns : std::clamp(TimeNs(last), loss.first, until_ns);
    rings->handler_->OnLoss(loss);
  }

  uint32_t pid;
  ApiRings* rings;
  UniqueFd pidfd;
  ring::StampClock clock = ring::StampClock::kMonotonic;
  int64_t offset_ns = 0;
  int64_t since_ns = 0, until_ns = 0;
  uint32_t last_tid = 0;
  bool exiting = false;
  std::unordered_map<uint32_t, uint32_t> open;  // open calls in the handler, by thread
  uint32_t* depth = nullptr;                    // of last_tid
  std::vector<uint32_t> names;                  // string ids, by the library's numbers
  std::vector<Segment> segments;
  size_t next_segment = 0;
  uint32_t refused = 0;
  int64_t fresh_left = kMostFresh, refilled_ns = 0;
  std::atomic<bool> waits =
      // True until it may have more new texts: its rings' fill levels are no reason to hurry.
      false;
  uint32_t newest_name = 0;
};

ApiRings::ApiRings(EventHandler* handler, std::function<void(uint32_t, uint32_t)> note_thread)
    : handler_(handler), note_thread_(std::move(note_thread)), start_ns_(MonotonicNs()) {
  scale_.Add(StampScale::Read());
}

ApiRings::~ApiRings() {
  for (const auto& [pid, process] : processes_) Release(process.get(), ring::Reader::kNone);
}

void ApiRings::AddStamp() { scale_.Add(StampScale::Read()); }

Result<bool> ApiRings::Take(uint32_t pid, const SegmentPlace& place) {
  const auto found = processes_.find(pid);
  if (found == processes_.end() && processes_.size() >= kMaxProcesses) {
    return Status::Error("too many processes have rings");
  }
  if (place.address == 0) {
    const int error = static_cast<int>(std::min<uint64_t>(place.bytes, INT_MAX));
    return Status::Error(std::string("it could not make rings: ") + strerror(error));
  }
  std::unique_ptr<Process> fresh;
  Process* process = found != processes_.end() ? found->second.get() : nullptr;
  if (process == nullptr) {
    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd.valid()) return Status::Error("it has exited");
    fresh = std::make_unique<Process>(pid, this, std::move(pidfd));
    process = fresh.get();
  }
  if (process->segments.size() >= ring::kMaxSegments || process->refused >= kMostRefused) {
    return Status::Error("it has too many segments of rings");
  }
  ++process->refused;  // undone if it is taken
  auto memory = TakeSegmentMemory(pid, process->pidfd, place);
  if (!memory.ok()) return memory.status();
  if (bytes_ + memory.value().mapping.bytes() > kMaxBytes) {
    return Status::Error("the rings of all processes take too much memory");
  }
  auto reader = SegmentReader::Open(memory.value().mapping.get(), memory.value().mapping.bytes(),
                                    start_ns_, memory.value().lock.get());
  if (!reader.ok()) return reader.status();
  // A forked child may also have its parent's memory.
  if (reader.value().pid() != InnermostPid(pid)) {
    return Status::Error("the rings are another process's");
  }
  if (fresh != nullptr) {
    process->clock = reader.value().clock();
    process->offset_ns = MonotonicOffsetNs(pid);
    process->since_ns = start_ns_;
    for (const std::string& name : reader.value().names()) {
      process->names.push_back(handler_->Intern(name));
      process->newest_name = std::max(process->newest_name, process->names.back());
    }
    const std::lock_guard<std::mutex> lock(segments_mutex_);
    processes_[pid] = std::move(fresh);
    ever_.insert(pid);
  } else if (reader.value().clock() != process->clock ||
             reader.value().names().size() != process->names.size()) {
    return Status::Error("its segments of rings contradict each other");
  }
  bytes_ += memory.value().mapping.bytes();
  {
    const std::lock_guard<std::mutex> lock(segments_mutex_);
    process->segments.push_back({std::move(memory).value(), std::move(reader).value()});
  }
  --process->refused;
  process->segments.back().reader.Answer(ring::Reader::kReading);
  return process->segments.size() == 1 && process->segments.back().reader.late();
}

bool ApiRings::Adopt(uint32_t pid) {
  if (has(pid)) return true;
  const int64_t now_ns = MonotonicNs();
  for (const SegmentPlace& place : FindSegments(pid)) {
    if (!Take(pid, place).ok()) continue;
    Process* process = processes_[pid].get();
    process->since_ns = now_ns;
    process->segments.back().reader.SkipBacklog();
  }
  return has(pid);
}

// Starts with a different segment each time, as for rings.
size_t ApiRings::Read(Process* process, size_t max_slots) {
  size_t taken = 0;
  const size_t count = process->segments.size();
  for (size_t i = 0; i < count && taken < max_slots && process->MayGoOn(); ++i) {
    const size_t at = (process->next_segment + i) % count;
    taken += process->segments[at].reader.Read(max_slots - taken, process);
    if (taken >= max_slots) process->next_segment = (at + 1) % count;
  }
  return taken;
}

// Reads what the process has written so far, before an event that ends calls.
size_t ApiRings::DrainAtEnd(Process* process, size_t max_slots) {
  for (Segment& segment : process->segments) segment.reader.Look();
  AddStamp();
  process->until_ns = MonotonicNs();
  process->Refill(process->until_ns);
  return Read(process, max_slots);
}

void ApiRings::Forget(uint32_t pid) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  Process* process = found->second.get();
  process->fresh_left += kMostFresh;  // it cannot wait any longer
  (void)DrainAtEnd(process, kMaxSlotsAtEnd);
  for (Segment& segment : process->segments) segment.reader.GiveUp(process);
  SayDamage(*process);
  Release(process, ring::Reader::kNone);
  const std::lock_guard<std::mutex> lock(segments_mutex_);
  processes_.erase(found);
}

void ApiRings::SayDamage(const Process& process) {
  for (const Segment& segment : process.segments) {
    if (segment.reader.damage().empty() || damage_said_ >= kMostDamageSaid) continue;
    ++damage_said_;
    Say("warning: what process " + std::to_string(process.pid) +
        " says of its API calls is not to be believed (" + segment.reader.damage() +
        "): its trace has them at hop " + kHopName + " as bad; look at what it links against");
    return;
  }
}

void ApiRings::OnExit(uint32_t pid, uint32_t tid) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  Process* process = found->second.get();
  if (pid == tid || ends_left_ > 0) {
    const size_t most = pid == tid ? kMaxSlotsAtEnd : ends_left_;
    ends_left_ -= std::min(ends_left_, DrainAtEnd(process, most));
  }
  process->open.erase(tid);
  process->depth = nullptr;
  if (pid == tid) process->exiting = true;
}

// Only when the kernel says so is there no process that could write.
void ApiRings::ForgetDead(int64_t now_ns) {
  const bool all = now_ns - last_check_ns_ >= kCheckNs;
  if (all) last_check_ns_ = now_ns;
  std::vector<uint32_t> dead;
  for (const auto& [pid, process] : processes_) {
    if (!all && !process->exiting) continue;
    pollfd exited = {process->pidfd.get(), POLLIN, 0};
    if (poll(&exited, 1, 0) == 1) dead.push_back(pid);
  }
  for (const uint32_t pid : dead) Forget(pid);
}

void ApiRings::Settle(const Process& process) {
  for (const Segment& segment : process.segments) {
    settled_.out += segment.reader.counts().out;
    settled_.lost += segment.reader.counts().lost;
    settled_.bad += segment.reader.counts().bad;
    bytes_ -= segment.memory.mapping.bytes();
  }
}

void ApiRings::Release(Process* process, ring::Reader answer) {
  Settle(*process);
  for (Segment& segment : process->segments) segment.reader.Answer(answer);
  const std::lock_guard<std::mutex> lock(segments_mutex_);
  process->segments.clear();
}

// The recorder may be preempted while it holds the lock. This does not wait for it, but reports
// full rings, so that it is scheduled.
uint32_t ApiRings::Filling() const {
  constexpr uint32_t kFull = 1000;
  const std::unique_lock<std::mutex> lock(segments_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return kFull;
  uint32_t permille = 0;
  for (const auto& [pid, process] : processes_) {
    if (process->waits.load(std::memory_order_relaxed)) continue;
    for (const Segment& segment : process->segments) {
      permille = std::max(permille, segment.reader.Filling());
    }
  }
  return permille;
}

Pace ApiRings::Drain(int64_t now_ns) {
  Pace pace;
  ends_left_ = kMaxEndsPerDrain;
  ForgetDead(now_ns);
  if (processes_.empty()) return pace;
  for (const auto& [pid, process] : processes_) {
    process->Refill(now_ns);
    for (Segment& segment : process->segments) {
      const uint32_t fill_permille = segment.reader.Look();
      if (process->MayGoOn()) pace.fill_permille = std::max(pace.fill_permille, fill_permille);
    }
  }
  // After Look(): no event that is read now has a later stamp.
  AddStamp();
  const int64_t until_ns = MonotonicNs();
  size_t rest = kMaxSlotsPerDrain;
  auto at = processes_.lower_bound(next_pid_);
  for (size_t i = 0; i < processes_.size(); ++i, ++at) {
    if (at == processes_.end()) at = processes_.begin();
    at->second->until_ns = until_ns;
    const size_t taken = Read(at->second.get(), rest);
    at->second->waits.store(!at->second->MayGoOn(), std::memory_order_relaxed);
    if (taken >= rest) {
      next_pid_ = at->first + 1;
      pace.next_ns = now_ns;
      break;
    }
    rest -= taken;
  }
  return pace;
}

void ApiRings::Mark() {
  for (const auto& [pid, process] : processes_) {
    for (Segment& segment : process->segments) {
      (void)segment.reader.Look();
      segment.reader.Mark();
    }
  }
}

bool ApiRings::PassedMark() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const auto& entry) {
    const std::vector<Segment>& segments = entry.second->segments;
    return std::all_of(segments.begin(), segments.end(),
                       [](const Segment& segment) { return segment.reader.PassedMark(); });
  });
}

Hop ApiRings::Account() const {
  Hop account = {kHopName, 0, settled_.out, settled_.lost, settled_.bad, kSessionHop};
  for (const auto& [pid, process] : processes_) {
    for (const Segment& segment : process->segments) {
      account.out += segment.reader.counts().out;
      account.lost += segment.reader.counts().lost;
      account.bad += segment.reader.counts().bad;
    }
  }
  account.in = account.out + account.lost + account.bad;
  return account;
}

void ApiRings::Stop() {
  while (!processes_.empty()) Forget(processes_.begin()->first);
  handler_->OnHop(Account());
}

}  // namespace acceltrace::daemon
