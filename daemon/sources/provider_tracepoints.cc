// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider_tracepoints.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "daemon/sources/host_info.h"

namespace acceltrace::daemon {
namespace {

// All CPUs' together, but each one's within these bounds. A command takes some 260 bytes.
constexpr size_t kRingsBytes = 32u << 20, kMinRingBytes = 64u << 10, kMaxRingBytes = 4u << 20;
constexpr size_t kMaxRecordsPerRing = 4096;  // of one Collect()
// An event may be written so much after its time: an interrupt came in between, or the host of a
// virtual machine. Its own ring is then behind, too.
constexpr int64_t kHoldBackNs = 10'000'000;
constexpr uint64_t kOneRegister = 1;
constexpr uint64_t kReadLost = 1 << 4;  // PERF_FORMAT_LOST, which older headers have not

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

perf_event_mmap_page* HeadOf(const Mapping& memory) {
  return static_cast<perf_event_mmap_page*>(memory.get());
}

std::string WhyNot(int error) {
  switch (error) {
    case EPERM:
    case EACCES:
      return "no permission to read tracepoints: run as root, or with CAP_PERFMON";
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
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER;
  attr.sample_regs_user = kOneRegister;  // says whether it is a kernel thread
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
    ring_->told_lost += count;
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

// Nothing in *ring: the CPU is offline. A ring that may not be locked leaves errno and no memory.
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
    // What it keeps from us is not wanted; without it the same is left out here.
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

// Rings as large as may be locked.
Status ProviderTracepoints::AddCpu(uint32_t cpu) {
  for (;; ring_bytes_ /= 2) {
    Ring ring;
    if (Status status = OpenCpu(cpu, &ring); !status.ok()) return status;
    if (ring.events.empty()) return {};
    if (ring.memory.get() != nullptr) {
      rings_.push_back(std::move(ring));
      return {};
    }
    if ((errno != EPERM && errno != ENOMEM) || ring_bytes_ <= kMinRingBytes) break;
  }
  return Status::Error(std::string("cannot map a ring for tracepoints: ") + strerror(errno) +
                       "; raise ulimit -l, or sysctl kernel.perf_event_mlock_kb");
}

Status ProviderTracepoints::Start() {
  wake_fd_.Reset(epoll_create1(EPOLL_CLOEXEC));
  const auto cpus = static_cast<uint32_t>(std::max(libbpf_num_possible_cpus(), 1));
  ring_bytes_ = std::bit_floor(std::clamp(kRingsBytes / cpus, kMinRingBytes, kMaxRingBytes));
  for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
    if (Status status = AddCpu(cpu); !status.ok()) return status;
  }
  // Completions first, so that each submission that is seen has its own.
  for (const auto role : {RoleConfig::kComplete, RoleConfig::kStart, RoleConfig::kSubmit}) {
    for (const Ring& ring : rings_) {
      for (const Event& event : ring.events) {
        if (tracepoints_[event.tracepoint].first != role) continue;
        if (ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
          return Status::Error("cannot enable " + tracepoints_[event.tracepoint].name + ": " +
                               strerror(errno));
        }
      }
    }
  }
  return {};
}

void ProviderTracepoints::Disable() {
  for (const Ring& ring : rings_) {
    for (const Event& event : ring.events) (void)ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  }
}

bool ProviderTracepoints::CollectRing(Ring* ring) {
  perf_event_mmap_page* page = HeadOf(ring->memory);
  const char* data = static_cast<const char*>(ring->memory.get()) + PageBytes();
  const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  const uint64_t tail = page->data_tail;
  if (head == tail) return true;
  Taker taker(this, ring);
  PerfRing reader(data, ring->memory.bytes() - PageBytes());
  const uint64_t next = reader.Read(tail, head, kMaxRecordsPerRing, &taker);
  __atomic_store_n(&page->data_tail, next, __ATOMIC_RELEASE);
  return next == head;
}

// A completion on one CPU may be read before its submission on another: what is younger than the
// moment at which this began to look is for the next time.
bool ProviderTracepoints::Collect() {
  int64_t until_ns = MonotonicNs();
  bool emptied = true;
  for (Ring& ring : rings_) {
    if (CollectRing(&ring)) continue;
    emptied = false;
    until_ns = std::min(until_ns, ring.last_ns);
  }
  matcher_.AskSubmitters();
  until_ns_ = until_ns - (all_ && emptied ? 0 : kHoldBackNs);
  if (emptied) all_ = false;
  return emptied;
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
  for (const Ring& ring : rings_) {
    const perf_event_mmap_page* page = HeadOf(ring.memory);
    const uint64_t used = __atomic_load_n(&page->data_head, __ATOMIC_RELAXED) -
                          __atomic_load_n(&page->data_tail, __ATOMIC_RELAXED);
    const uint64_t bytes = ring.memory.bytes() - PageBytes();
    fullest = std::max(fullest, static_cast<uint32_t>(std::min(used, bytes) * 1000 / bytes));
  }
  return fullest;
}

// The kernel counts what fires, and what finds no room; here is counted what is taken, and what
// of it becomes rows. What was not wanted is in none of the figures.
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

// Losses after which nothing came any more have no record.
void ProviderTracepoints::TellRest() {
  uint64_t told = 0;
  int64_t first_ns = INT64_MAX;
  for (const Ring& ring : rings_) {
    told += ring.told_lost;
    first_ns = std::min(first_ns, ring.last_ns);
  }
  const uint64_t lost = Read().lost;
  if (lost > told) sink_->OnProviderLoss(lost - told, first_ns, MonotonicNs());
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
