// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a tracepoint's event for its thread, by the way in which a tracer is
// attached: BPF programs with the same body as raw tracepoint, by BTF types and as classic
// tracepoint; ftrace; a sampled event as `perf record` opens it. Rings are not read meanwhile.
// Prints "WAY NS"; ways that this kernel lacks have a negative time.
//
//   axl-tracepoint-cost TRACEFS
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "daemon/bpf/ways.skel.h"

namespace {

constexpr int kRounds = 15, kEvents = 200;
constexpr size_t kPerfPages = 256;  // enough for all samples

int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The cost of one event, including the system call that fires it.
double EachNs(const std::function<void()>& before_round) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    before_round();
    const int64_t begin_ns = NowNs();
    for (int i = 0; i < kEvents; ++i) prctl(PR_SET_NAME, "renamed", 0UL, 0UL, 0UL);
    rounds.push_back(static_cast<double>(NowNs() - begin_ns) / kEvents);
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

// Subtracts the call itself. attached is false if this way is not available.
void Print(const char* way, bool attached, const std::function<void()>& before_round,
           double nothing_ns) {
  printf("%s %.0f\n", way, attached ? EachNs(before_round) - nothing_ns : -1.0);
}

int IgnoreRecord(void*, void*, size_t) { return 0; }

void ByBpf(double nothing_ns) {
  ways_bpf* skeleton = ways_bpf__open();
  if (skeleton == nullptr) return;
  skeleton->rodata->self_pid = static_cast<uint32_t>(getpid());
  const bool loaded = ways_bpf__load(skeleton) == 0;
  ring_buffer* ring =
      loaded ? ring_buffer__new(bpf_map__fd(skeleton->maps.ring), IgnoreRecord, nullptr, nullptr)
             : nullptr;
  const std::pair<const char*, bpf_program*> ways[] = {
      {"raw_tp", skeleton->progs.by_raw_tracepoint},
      {"tp_btf", skeleton->progs.by_tp_btf},
      {"tp", skeleton->progs.by_tracepoint}};
  for (const auto& [way, program] : ways) {
    bpf_link* link = ring != nullptr ? bpf_program__attach(program) : nullptr;
    Print(
        way, link != nullptr, [ring] { (void)ring_buffer__consume(ring); }, nothing_ns);
    bpf_link__destroy(link);
  }
  ring_buffer__free(ring);
  ways_bpf__destroy(skeleton);
}

void ByFtrace(const std::string& tracefs, double nothing_ns) {
  const std::string enable = tracefs + "/events/task/task_rename/enable";
  const auto write = [](const std::string& path, const char* text) {
    return static_cast<bool>(std::ofstream(path) << text << std::flush);
  };
  const bool attached = write(enable, "1");
  Print(
      "ftrace", attached, [&] { write(tracefs + "/trace", ""); }, nothing_ns);
  if (attached) write(enable, "0");
}

void ByPerf(const std::string& tracefs, double nothing_ns) {
  perf_event_attr attr = {};
  std::ifstream(tracefs + "/events/task/task_rename/id") >> attr.config;
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
  attr.watermark = 1;
  attr.wakeup_watermark = kPerfPages * 4096 / 2;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
  void* pages = mmap(nullptr, (1 + kPerfPages) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  auto* page = static_cast<perf_event_mmap_page*>(pages == MAP_FAILED ? nullptr : pages);
  const auto take_all = [page] {
    __atomic_store_n(&page->data_tail, __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE),
                     __ATOMIC_RELEASE);
  };
  Print("perf", page != nullptr, take_all, nothing_ns);
  if (page != nullptr) munmap(pages, (1 + kPerfPages) * 4096);
  if (fd >= 0) close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  (void)EachNs([] {});  // with cold caches
  const double nothing_ns = EachNs([] {});
  ByBpf(nothing_ns);
  ByFtrace(argv[1], nothing_ns);
  ByPerf(argv[1], nothing_ns);
  return 0;
}
