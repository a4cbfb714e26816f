// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/host_info.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "daemon/base/unique_fd.h"
#include "libtrace/base/version.h"

namespace acceltrace::daemon {
namespace {

constexpr int64_t kNsPerS = 1'000'000'000;

int64_t ClockNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerS + now.tv_nsec;
}

// other - CLOCK_MONOTONIC, from the narrowest of a few bracketed reads.
int64_t OffsetNs(clockid_t other) {
  int64_t best_width = INT64_MAX;
  int64_t best_offset = 0;
  for (int i = 0; i < 16; ++i) {
    const int64_t before = MonotonicNs();
    const int64_t middle = ClockNs(other);
    const int64_t after = MonotonicNs();
    if (after - before < best_width) {
      best_width = after - before;
      best_offset = middle - (before + (after - before) / 2);
    }
  }
  return best_offset;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

// The kernel's own TSC calibration, as it publishes it for user-space readers of a perf event: ns =
// ticks * time_mult >> time_shift (perf_event_open(2)).
uint64_t TscHz() {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  const UniqueFd fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!fd.valid()) return 0;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* address = mmap(nullptr, page, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) return 0;
  const Mapping mapping(address, page);
  const auto* header = static_cast<const perf_event_mmap_page*>(address);
  if (!header->cap_user_time || header->time_mult == 0 || header->time_shift > 63) return 0;
  const unsigned __int128 scaled = static_cast<unsigned __int128>(kNsPerS) << header->time_shift;
  return static_cast<uint64_t>((scaled + header->time_mult / 2) / header->time_mult);
}

}  // namespace

uint64_t ProcessCpuNs() { return static_cast<uint64_t>(ClockNs(CLOCK_PROCESS_CPUTIME_ID)); }

// Uses the kernel's clock ids for threads (CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED), which work with a
// tid, without a pthread_t.
uint64_t ThreadCpuNs(int tid) {
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3 | 6);
  timespec now = {};
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t ThreadCpuNs() { return static_cast<uint64_t>(ClockNs(CLOCK_THREAD_CPUTIME_ID)); }

proto::TraceInfo DescribeHost() {
  proto::TraceInfo info;
  info.set_schema_version(1);
  info.set_tool_version(kVersion);
  utsname name;
  if (uname(&name) == 0) {
    info.set_host(name.nodename);
    info.set_kernel(std::string(name.sysname) + " " + name.release + " " + name.machine);
  }
  info.set_cpu(CpuModel());
  info.set_num_cpus(static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  info.set_tsc_hz(TscHz());
  info.set_realtime_offset_ns(OffsetNs(CLOCK_REALTIME));
  info.set_boottime_offset_ns(OffsetNs(CLOCK_BOOTTIME));
  info.set_start_ns(MonotonicNs());
  return info;
}

}  // namespace acceltrace::daemon
