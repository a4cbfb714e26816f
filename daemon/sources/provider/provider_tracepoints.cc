// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/provider_tracepoints.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "daemon/base/host_info.h"
#include "daemon/base/permission.h"
#include "daemon/base/privileges.h"
#include "libtrace/provider/pmu.h"

namespace acceltrace::daemon {
namespace {

// The total for all CPUs, and bounds for each CPU's ring. A command takes about 260 bytes.
constexpr size_t kRingsBytes = 32u << 20, kMinRingBytes = 64u << 10, kMaxRingBytes = 4u << 20;
constexpr size_t kMaxRecordsPerRing = 4096;  // per Collect()
// How long to wait for a CPU that does not prove its ring complete, and how long if proofs are not
// available.
constexpr int64_t kLongestWaitNs = 1'000'000'000, kUnprovenWaitNs = 100'000'000;
constexpr int64_t kLookForCpusNs = 20'000'000;
// A CPU that returns gets another ring.
constexpr size_t kRingsPerCpu = 8;
constexpr uint64_t kReadLost = 1 << 4;  // PERF_FORMAT_LOST, which older headers lack

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

perf_event_mmap_page* HeadOf(const Mapping& memory) {
  return static_cast<perf_event_mmap_page*>(memory.get());
}

// Completions first, so that each recorded submission has its completion.
constexpr RoleConfig::Role kInOrderOfEnabling[] = {RoleConfig::kComplete, RoleConfig::kStart,
                                                   RoleConfig::kDependency, RoleConfig::kSubmit};

std::string ReadOnline(int fd) {
  char text[4096];
  const ssize_t bytes = pread(fd, text, sizeof(text), 0);
  return bytes > 0 ? std::string(text, static_cast<size_t>(bytes)) : std::string();
}

// Parses the kernel's list of CPUs, such as 0-2,5.
std::vector<bool> ParseOnline(const std::string& text, size_t cpus) {
  std::vector<bool> online(cpus);
  for (const uint32_t cpu : provider::ParseList(text)) {
    if (cpu < cpus) online[cpu] = true;
  }
  return online;
}

std::string WhyNot(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      return "no permission to read tracepoints: " + HowToBeAllowed("CAP_PERFMON");
    case EMFILE:
      return "too many open files, of which it takes one for each CPU: raise ulimit -n";
    case ENOENT:
    case ENOSYS:
      return "this kernel has no perf events (CONFIG_PERF_EVENTS)";
    default:
      return strerror(error);
  }
}

}  // namespace

UniqueFd OpenTracepoint(uint32_t id, int pid, int cpu, uint32_t wake_bytes) {
  perf_event_attr attr = {};
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.size = sizeof(attr);
  attr.config = id;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  attr.read_format = kReadLost;
  attr.disabled = 1;
  attr.sample_id_all = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = wake_bytes;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return UniqueFd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

uint32_t TracepointId(const std::string& system, const std::string& name) {
  for (const char* top : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    uint32_t id = 0;
    std::ifstream file(top + ("/events/" + system) + "/" + name + "/id");
    if (file >> id) return id;
  }
  return 0;
}

Mapping MapRing(int fd, size_t ring_bytes) {
  const size_t bytes = PageBytes() + ring_bytes;
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return address == MAP_FAILED ? Mapping() : Mapping(address, bytes);
}

// Reads one ring's records.
class ProviderTracepoints::Taker : public PerfRing::Sink {
 public:
  Taker(ProviderTracepoints* owner, Ring* ring) : owner_(owner), ring_(ring) {}
  void OnSample(const PerfSample& sample) override {
    ring_->last_ns = sample.time_ns;
    if (!owner_->matcher_.Take(sample, ring_->cpu)) ++owner_->bad_;
  }
  void OnLost(uint64_t count, int64_t time_ns) override {
    ring_->reported_lost += count;
    owner_->sink_->OnProviderLoss(count, std::min(ring_->last_ns, time_ns), time_ns);
  }
  void OnBad() override { ++owner_->bad_; }

 private:
  ProviderTracepoints* owner_;
  Ring* ring_;
};

ProviderTracepoints::ProviderTracepoints(const std::vector<TracepointRole>& roles, bool system_wide,
                                         bool kernel_threads, ProviderSink* sink)
    : sink_(sink), matcher_(system_wide, kernel_threads, sink) {
  for (const TracepointRole& role : roles) {
    matcher_.AddRole(role.id, role.config);
    auto found = std::find_if(tracepoints_.begin(), tracepoints_.end(),
                              [&](const Tracepoint& one) { return one.id == role.id; });
    if (found == tracepoints_.end()) {
      found = tracepoints_.insert(found, Tracepoint());
      found->id = role.id;
      found->name = role.system + ":" + role.name;
    }
    found->first = std::min(found->first, role.config.role);
    found->filtered = found->filtered && !role.filter.empty();
    found->filter += (found->filter.empty() ? "(" : " || (") + role.filter + ")";
  }
}

// If the CPU is offline, *ring stays empty. If the ring may not be locked, errno is set and it has
// no memory.
Status ProviderTracepoints::OpenCpu(uint32_t cpu, Ring* ring) {
  ring->cpu = cpu;
  for (uint32_t i = 0; i < tracepoints_.size(); ++i) {
    const Tracepoint& one = tracepoints_[i];
    UniqueFd fd =
        OpenTracepoint(one.id, -1, static_cast<int>(cpu), static_cast<uint32_t>(ring_bytes_ / 4));
    if (!fd.valid() && errno == ENODEV) return {};
    if (!fd.valid()) {
      return Status::Error("cannot read the tracepoint " + one.name + ": " + WhyNot(errno));
    }
    // The filter only removes unwanted events; if it fails, they are removed here.
    if (one.filtered) (void)ioctl(fd.get(), PERF_EVENT_IOC_SET_FILTER, one.filter.c_str());
    ring->events.push_back({std::move(fd), i});
  }
  const int first = ring->events[0].fd.get();
  ring->memory = MapRing(first, ring_bytes_);
  if (ring->memory.get() == nullptr) return {};
  for (const Event& event : ring->events) {
    if (event.fd.get() != first && ioctl(event.fd.get(), PERF_EVENT_IOC_SET_OUTPUT, first) != 0) {
      return Status::Error(std::string("cannot join tracepoints in one ring: ") + strerror(errno));
    }
  }
  epoll_event wanted = {};
  wanted.events = EPOLLIN;
  if (epoll_ctl(wake_fd_.get(), EPOLL_CTL_ADD, first, &wanted) != 0) {
    return Status::Error(std::string("cannot wait for tracepoints: ") + strerror(errno));
  }
  return {};
}

// Makes rings as large as may be locked.
Status ProviderTracepoints::AddCpu(uint32_t cpu) {
  for (;; ring_bytes_ /= 2) {
    Ring ring;
    if (Status status = OpenCpu(cpu, &ring); !status.ok()) return status;
    if (ring.events.empty()) return {};
    if (ring.memory.get() != nullptr) {
      rings_.push_back(std::move(ring));
      online_[cpu] = true;
      shown_.store(rings_.size(), std::memory_order_release);
      return {};
    }
    if ((errno != EPERM && errno != ENOMEM) || ring_bytes_ <= kMinRingBytes) break;
  }
  return Status::Error(std::string("cannot map a ring for tracepoints: ") + strerror(errno) +
                       "; raise ulimit -l, or sysctl kernel.perf_event_mlock_kb");
}

Status ProviderTracepoints::Enable(const Ring& ring, RoleConfig::Role role) {
  for (const Event& event : ring.events) {
    if (tracepoints_[event.tracepoint].first != role) continue;
    if (ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
      return Status::Error("cannot enable " + tracepoints_[event.tracepoint].name + ": " +
                           strerror(errno));
    }
  }
  return {};
}

Status ProviderTracepoints::Start() {
  wake_fd_.Reset(epoll_create1(EPOLL_CLOEXEC));
  const auto cpus = static_cast<uint32_t>(std::max(libbpf_num_possible_cpus(), 1));
  ring_bytes_ = std::bit_floor(std::clamp(kRingsBytes / cpus, kMinRingBytes, kMaxRingBytes));
  rings_.reserve(cpus * kRingsPerCpu);
  online_.resize(cpus);
  // Opened before the rings, so that CPUs that come online in the meantime are seen as a change.
  online_fd_.Reset(open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC));
  online_text_ = ReadOnline(online_fd_.get());
  for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
    if (Status status = AddCpu(cpu); !status.ok()) return status;
  }
  for (const auto role : kInOrderOfEnabling) {
    for (const Ring& ring : rings_) {
      if (Status status = Enable(ring, role); !status.ok()) return status;
    }
  }
  return {};
}

Status ProviderTracepoints::AddLateCpu(uint32_t cpu) {
  const size_t before = rings_.size();
  if (before == rings_.capacity()) return Status::Error("CPUs have come and gone too often");
  const WithRights rights(Rights::kAttaching);
  if (Status status = AddCpu(cpu); !status.ok()) return status;
  if (rings_.size() == before) return Status::Error("it has gone again");
  for (const auto role : kInOrderOfEnabling) {
    if (Status status = Enable(rings_.back(), role); !status.ok()) return status;
  }
  return {};
}

// The kernel removes a CPU's events when the CPU goes offline, and does not restore them.
void ProviderTracepoints::LookForCpus(int64_t now_ns, std::vector<std::string>* warnings) {
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookForCpusNs;
  std::string text = ReadOnline(online_fd_.get());
  if (text == online_text_ || text.empty()) return;
  online_text_ = std::move(text);
  const std::vector<bool> now = ParseOnline(online_text_, online_.size());
  for (uint32_t cpu = 0; cpu < online_.size(); ++cpu) {
    if (online_[cpu] == now[cpu]) continue;
    if (!now[cpu]) {
      online_[cpu] = false;
      continue;
    }
    const Status status = AddLateCpu(cpu);
    warnings->push_back("CPU " + std::to_string(cpu) + " came online during the recording: " +
                        (status.ok() ? "what it did with providers' devices before is not recorded"
                                     : "what it does with providers' devices is not recorded: " +
                                           status.message()));
  }
}

void ProviderTracepoints::Disable() {
  for (const Ring& ring : rings_) {
    for (const Event& event : ring.events) (void)ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  }
}

bool ProviderTracepoints::CollectRing(Ring* ring) {
  perf_event_mmap_page* page = HeadOf(ring->memory);
  const char* data = static_cast<const char*>(ring->memory.get()) + PageBytes();
  const uint64_t tail = page->data_tail;
  if (tail == ring->goal) return true;
  Taker taker(this, ring);
  PerfRing reader(data, ring->memory.bytes() - PageBytes());
  const uint64_t next = reader.Read(tail, ring->goal, kMaxRecordsPerRing, &taker);
  __atomic_store_n(&page->data_tail, next, __ATOMIC_RELEASE);
  return next == ring->goal;
}

// The order matters: first the time until which rings are complete, then their ends.
void ProviderTracepoints::BeginRound() {
  const int64_t now_ns = MonotonicNs();
  const bool proves = proof_.available();
  round_ns_ = proves ? proof_.proven_ns() : 0;
  round_ns_ = std::max(round_ns_, now_ns - (proves ? kLongestWaitNs : kUnprovenWaitNs));
  if (all_) round_ns_ = now_ns;
  all_ = false;
  for (Ring& ring : rings_) {
    ring.goal = __atomic_load_n(&HeadOf(ring.memory)->data_head, __ATOMIC_ACQUIRE);
  }
  in_round_ = true;
}

// A completion on one CPU may be read before its submission on another. Therefore events after the
// time until which the rings are complete stay for a later round.
bool ProviderTracepoints::Collect() {
  if (!in_round_) BeginRound();
  bool done = true;
  for (Ring& ring : rings_) done = CollectRing(&ring) && done;
  matcher_.AskSubmitters();
  if (matcher_.pending() > 0) proof_.Ask();
  if (done) {
    in_round_ = false;
    until_ns_ = std::max(until_ns_, round_ns_);
  }
  return done;
}

void ProviderTracepoints::ProveAll(const std::function<void()>& meanwhile) {
  if (!proof_.available() || !proof_.Await(kLongestWaitNs, meanwhile)) all_ = true;
  in_round_ = false;
}

void ProviderTracepoints::HoldBackNothing() {
  all_ = true;
  in_round_ = false;
}

void ProviderTracepoints::Match() { matcher_.Match(until_ns_); }

ProviderTracepoints::Counts ProviderTracepoints::Read() const {
  Counts sum;
  for (const Ring& ring : rings_) {
    for (const Event& event : ring.events) {
      uint64_t values[2] = {};
      if (read(event.fd.get(), values, sizeof(values)) != sizeof(values)) continue;
      sum.fired += values[0];
      sum.lost += values[1];
    }
  }
  return sum;
}

uint32_t ProviderTracepoints::fill_permille() const {
  uint32_t fullest = 0;
  const size_t shown = shown_.load(std::memory_order_acquire);
  for (size_t i = 0; i < shown; ++i) {
    const Ring& ring = rings_[i];
    const perf_event_mmap_page* page = HeadOf(ring.memory);
    const uint64_t used = __atomic_load_n(&page->data_head, __ATOMIC_RELAXED) -
                          __atomic_load_n(&page->data_tail, __ATOMIC_RELAXED);
    const uint64_t bytes = ring.memory.bytes() - PageBytes();
    fullest = std::max(fullest, static_cast<uint32_t>(std::min(used, bytes) * 1000 / bytes));
  }
  return fullest;
}

// The kernel counts events, and those that did not fit; this adds what was read, and what became
// rows. Unwanted events are not included in any of these.
Hop ProviderTracepoints::Accounts() const {
  const Counts kernel = Read();
  Hop hop = {"provider-ring"};
  hop.in = kernel.fired - std::min(kernel.fired, matcher_.taken());
  hop.in += matcher_.rows() + matcher_.no_room();
  hop.out = matcher_.rows();
  hop.lost = kernel.lost + matcher_.no_room();
  hop.bad = bad_;
  hop.into = kSessionHop;
  return hop;
}

// Jobs without an end, except for those whose end may be among the counted losses.
uint64_t ProviderTracepoints::Missing() const {
  const uint64_t unfinished = matcher_.unfinished();
  return unfinished == 0 ? 0 : unfinished - std::min(unfinished, Read().lost);
}

Hop ProviderTracepoints::Order() const {
  const uint64_t missing = Missing();
  Hop hop = {"provider-order"};
  hop.in = matcher_.late() + missing;
  hop.lost = matcher_.late_lost() + missing;
  hop.out = hop.in - hop.lost;
  return hop;
}

// Losses that were not followed by any event have no record.
void ProviderTracepoints::ReportRest() {
  uint64_t reported = 0;
  int64_t first_ns = INT64_MAX;
  for (const Ring& ring : rings_) {
    reported += ring.reported_lost;
    first_ns = std::min(first_ns, ring.last_ns);
  }
  const uint64_t lost = Read().lost;
  if (lost > reported) sink_->OnProviderLoss(lost - reported, first_ns, MonotonicNs());
  const uint64_t missing = Missing();
  if (missing > 0) sink_->OnProviderLoss(missing, matcher_.unfinished_since_ns(), MonotonicNs());
}

std::vector<std::string> ProviderTracepoints::Shadowed() const {
  std::vector<std::string> names;
  if (rings_.empty()) return names;
  for (const Event& event : rings_[0].events) {
    perf_event_query_bpf query = {};
    if (ioctl(event.fd.get(), PERF_EVENT_IOC_QUERY_BPF, &query) == 0 && query.prog_cnt > 0) {
      names.push_back(tracepoints_[event.tracepoint].name);
    }
  }
  return names;
}

}  // namespace acceltrace::daemon
