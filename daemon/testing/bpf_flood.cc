// SPDX-License-Identifier: Apache-2.0
//
// Measures the path through BPF's ring: API calls into the ring of a daemon that records this
// process, no faster than it reads, so that nothing is lost. Needs the right to load BPF programs.
//
//   axl-bpf-flood EVENTS   waits for a line, then writes; prints events and ns.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "daemon/bpf/flood.skel.h"
#include "daemon/bpf/records.h"

namespace {

constexpr uint64_t kCalls = 512;  // in one go
constexpr char kName[] = "call";

struct Arguments {
  uint64_t first, name;
  uint32_t calls, reserved;
};

uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The newest map of this name, type and size: that of the daemon that just started recording.
int FindMap(const char* name, uint32_t type, uint32_t* entries) {
  int found = -1;
  for (uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
    const int fd = bpf_map_get_fd_by_id(id);
    if (fd < 0) continue;
    bpf_map_info info = {};
    uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(fd, &info, &bytes) != 0 || std::strcmp(info.name, name) != 0 ||
        info.type != type) {
      close(fd);
      continue;
    }
    if (found >= 0) close(found);
    found = fd;
    *entries = info.max_entries;
  }
  return found;
}

const uint64_t* MapPosition(int fd, int page) {
  const long bytes = sysconf(_SC_PAGESIZE);
  void* at = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_SHARED, fd, page * bytes);
  return at == MAP_FAILED ? nullptr : static_cast<const uint64_t*>(at);
}

int Flood(flood_bpf* skeleton, const uint64_t* consumed, const uint64_t* produced,
          uint32_t ring_bytes, uint64_t events) {
  constexpr uint64_t kBytes = kCalls * (sizeof(act_api_begin) + sizeof(act_api_end) + 32);
  const auto id = static_cast<uint64_t>(getpid()) << 32;
  Arguments arguments = {id + 1, reinterpret_cast<uint64_t>(kName), kCalls, 0};
  LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &arguments, .ctx_size_in = sizeof(arguments));
  const uint64_t begin_ns = NowNs();
  uint64_t written = 0;
  for (; written < events; written += 2 * kCalls) {
    while (__atomic_load_n(produced, __ATOMIC_ACQUIRE) -
               __atomic_load_n(consumed, __ATOMIC_ACQUIRE) + 2 * kBytes >
           ring_bytes) {
      sched_yield();
    }
    if (bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.run_flood), &run) != 0) return 1;
    arguments.first += kCalls;
  }
  std::printf("%lu events %lu ns\n", written, NowNs() - begin_ns);
  return 0;
}

int Main(uint64_t events) {
  std::printf("ready\n");
  std::fflush(stdout);
  if (std::getchar() == EOF) return 2;
  uint32_t ring_bytes = 0, hops = 0;
  const int ring = FindMap("ring", BPF_MAP_TYPE_RINGBUF, &ring_bytes);
  const int counts = FindMap("hops", BPF_MAP_TYPE_PERCPU_ARRAY, &hops);
  flood_bpf* skeleton = flood_bpf__open();
  if (ring < 0 || counts < 0 || hops != ACT_NUM_HOPS || skeleton == nullptr) {
    std::fprintf(stderr, "no daemon records, or no right to look\n");
    return 1;
  }
  skeleton->rodata->wake_bytes = ring_bytes / 4;
  if (bpf_map__reuse_fd(skeleton->maps.ring, ring) != 0 ||
      bpf_map__reuse_fd(skeleton->maps.hops, counts) != 0 || flood_bpf__load(skeleton) != 0) {
    std::fprintf(stderr, "the flood cannot be loaded: %s\n", std::strerror(errno));
    return 1;
  }
  const uint64_t* consumed = MapPosition(ring, 0);
  const uint64_t* produced = MapPosition(ring, 1);
  if (consumed == nullptr || produced == nullptr) return 1;
  return Flood(skeleton, consumed, produced, ring_bytes, events);
}

}  // namespace

int main(int argc, char** argv) {
  return argc == 2 ? Main(std::strtoull(argv[1], nullptr, 10)) : 2;
}
