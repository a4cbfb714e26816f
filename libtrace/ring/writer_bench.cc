// SPDX-License-Identifier: Apache-2.0
//
// What an event in shared memory costs.
//
//   axl-ring-cost EVENTS rdtsc|begin|end|text|pair   a reader is played by moving the tail;
//       prints ns for each. Under callgrind, two counts of events give instructions.
//   axl-ring-cost EVENTS flood THREADS   waits until a tracer reads, then writes as fast as
//       the tracer reads, so that nothing is lost; prints "prepared",
//       later events and ns. It announces its rings and wakes the tracer by libaxl's own probes,
//       which are linked in: to the tracer this file is a library of its own (--libaxl).
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "libtrace/ring/segment.h"
#include "libtrace/ring/writer.h"

namespace {

using namespace acceltrace::ring;

constexpr const char* kNames[] = {"call"};
const Host kHost = {kNames, 1, [] { return true; }, [](uint64_t, uint64_t, uint32_t) {}, [] {}, 32,
                    14,     0};
constexpr uint64_t kBurst = 1024;

template <typename Event>
__attribute__((noinline)) void Loop(uint64_t events, Event event) {
  ThreadRing* ring = current_writer->ring;
  for (uint64_t i = 0; i < events; i += kBurst) {
    for (uint64_t j = 0; j < kBurst; ++j) event(i + j);
    ring->tail.store(ring->head.load(std::memory_order_relaxed), std::memory_order_release);
  }
}

void Flood(uint64_t calls, std::atomic<uint32_t>* next) {
  Prepare();
  const ThreadRing* ring = current_writer->ring;
  for (uint64_t i = 0; i < calls; i += kBurst) {
    while (ring->head.load() - ring->tail.load() > (1u << kHost.slot_bits) - 2 * kBurst) {
      sched_yield();
    }
    const uint64_t id = static_cast<uint64_t>(getpid()) << 32 | (next->fetch_add(kBurst) + 1);
    for (uint64_t j = 0; j < kBurst; ++j) {
      WriteBegin(0, id + j, 64, 1);
      WriteEnd(0, id + j, 0);
    }
  }
}

int FloodAll(uint64_t events, int num_threads) {
  printf("prepared\n");
  fflush(stdout);
  while (ReaderGeneration() == 0) {
    usleep(1000);
    Prepare();  // once a tracer wants rings
  }
  std::atomic<uint32_t> next{0};
  const uint64_t calls = events / 2 / static_cast<uint64_t>(num_threads) / kBurst * kBurst;
  const uint64_t begin_ns = MonotonicNow();
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i) threads.emplace_back(Flood, calls, &next);
  for (std::thread& thread : threads) thread.join();
  printf("%lu events %lu ns\n", 2 * calls * static_cast<uint64_t>(num_threads),
         MonotonicNow() - begin_ns);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const uint64_t events = strtoull(argv[1], nullptr, 10) / kBurst * kBurst;
  const std::string what = argv[2];
  if (what == "flood") return FloodAll(events, argc > 3 ? atoi(argv[3]) : 1);
  SetHost(&kHost);
  Prepare();
  volatile uint64_t sink = 0;
  const uint64_t begin_ns = MonotonicNow();
  if (what == "rdtsc") Loop(events, [&](uint64_t) { sink = Stamp(); });
  if (what == "begin") Loop(events, [](uint64_t i) { WriteBegin(0, i, 64, 1); });
  if (what == "end") Loop(events, [](uint64_t i) { WriteEnd(0, i, 0); });
  if (what == "text") {
    Loop(events, [](uint64_t i) { WriteText(Kind::kMark, static_cast<uint32_t>(i), "layer 3"); });
  }
  if (what == "pair") {
    Loop(events / 2, [](uint64_t i) {
      WriteBegin(0, i, 64, 1);
      WriteEnd(0, i, 0);
    });
  }
  const uint64_t ns = MonotonicNow() - begin_ns;
  printf("%.3f ns\n", static_cast<double>(ns) / static_cast<double>(events));
  return current_writer->ring->dropped.load() == 0 ? 0 : 1;
}
