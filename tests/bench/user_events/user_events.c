// SPDX-License-Identifier: Apache-2.0
//
// user_events HOW COUNT: writes COUNT events of one kind, or does the work that is their lower
// bound, and prints ns and cycles of the time-stamp counter for each. Built by
// tests/bench/collection.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#ifdef WITH_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"
#endif
#include "libtrace/runtime/axl.h"

static volatile uint64_t sink;

static uint64_t NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void Nothing(uint64_t i) { sink = i; }
static void Rdtsc(uint64_t i) { sink = __rdtsc() + i; }
static void Clock(uint64_t i) { sink = NowNs() + i; }
static void NullCall(uint64_t i) { sink = (uint64_t)syscall(SYS_getppid) + i; }
static void Copy(uint64_t i) {
  static char from[4096], to[4096];
  from[i & 4095] = (char)i;
  memcpy(to, from, sizeof(to));
  sink = (uint64_t)to[(i * 64) & 4095];
}
// The same call with and without a tracer.
static void Mark(uint64_t i) {
  sink = i;
  axlMark("mark");
}
static void Call(uint64_t i) {
  int version = 0;
  axlGetVersion(&version);
  sink = i + (uint64_t)version;
}
#ifdef WITH_LTTNG
static void Lttng(uint64_t i) {
  lttng_ust_tracepoint(acceltrace_bench, api_begin, (uint64_t)(uintptr_t) "axlLaunch", i, 4096, 1);
  sink = i;
}
#endif

static const struct {
  const char* name;
  void (*once)(uint64_t);
} kKinds[] = {
    {"nothing", Nothing}, {"rdtsc", Rdtsc}, {"clock", Clock}, {"syscall", NullCall},
    {"memcpy", Copy},     {"mark", Mark},   {"call", Call},
#ifdef WITH_LTTNG
    {"lttng", Lttng},
#endif
};

int main(int argc, char** argv) {
  const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  for (size_t kind = 0; argc > 2 && kind < sizeof(kKinds) / sizeof(kKinds[0]); ++kind) {
    if (strcmp(kKinds[kind].name, argv[1]) != 0) continue;
    void (*const once)(uint64_t) = kKinds[kind].once;
    once(0);
    const uint64_t begin_ns = NowNs(), begin = __rdtsc();
    for (uint64_t i = 0; i < count; ++i) once(i);
    const uint64_t cycles = __rdtsc() - begin, ns = NowNs() - begin_ns;
    printf("{\"kind\": \"%s\", \"count\": %" PRIu64 ", \"ns\": %.3f, \"tsc\": %.3f}\n", argv[1],
           count, (double)ns / (double)count, (double)cycles / (double)count);
    return 0;
  }
  fprintf(stderr, "usage: user_events KIND COUNT\n");
  return 2;
}
