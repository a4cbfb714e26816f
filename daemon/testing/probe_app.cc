// SPDX-License-Identifier: Apache-2.0
//
// A program with the probes of the API library (provider libaxl) that needs no device; the daemon's
// tests record it.
//
//   axl-probe-app CALLS [threads=N] [fork] [open] [attach] [pause-ms=N]
//
// Each thread makes CALLS calls, each inside a range. fork: a child does the same, and then
// executes this program again. open: the last call never ends. attach: begins two ranges and a
// call, prints that, ends them once it has read a byte, and makes its calls between the end of the
// call and those of the ranges. Prints what was fired while the probes were on: "calls N ranges N
// marks N".
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define SEMAPHORE(probe) \
  __attribute__((section(".probes"))) volatile unsigned short libaxl_##probe##_semaphore = 0

extern "C" {
SEMAPHORE(api_begin);
SEMAPHORE(api_end);
SEMAPHORE(range_push);
SEMAPHORE(range_pop);
SEMAPHORE(mark);
SEMAPHORE(op_name);
}

namespace {

std::atomic<uint32_t> calls{0};
std::atomic<uint64_t> fired_calls{0}, fired_ranges{0}, fired_marks{0};

struct Options {
  int calls = 1;
  int threads = 1;
  bool fork = false;
  bool open = false;
  bool attach = false;
  int pause_ms = 0;
};

void Call(const char* name, bool leave_open) {
  const uint64_t correlation = static_cast<uint64_t>(getpid()) << 32 | ++calls;
  const uint64_t bytes = 4096;
  const uint32_t stream = 7;
  if (libaxl_api_begin_semaphore != 0) {
    ++fired_calls;
    STAP_PROBE4(libaxl, api_begin, name, correlation, bytes, stream);
  }
  const int32_t result = -5;
  if (!leave_open && libaxl_api_end_semaphore != 0) {
    STAP_PROBE3(libaxl, api_end, name, correlation, result);
  }
}

void Work(const Options& options) {
  static const char* const kNames[] = {"axlMalloc", "axlMemcpyAsync", "axlLaunchMatmul"};
  for (int i = 0; i < options.calls; ++i) {
    // A name in a reused buffer, as applications have them.
    char range[32];
    snprintf(range, sizeof(range), "step %d", i % 10);
    const char* range_name = range;
    const uint32_t depth = 0;
    if (libaxl_range_push_semaphore != 0) {
      ++fired_ranges;
      STAP_PROBE2(libaxl, range_push, range_name, depth);
    }
    Call(kNames[i % 3], options.open && i + 1 == options.calls);
    if (libaxl_range_pop_semaphore != 0) STAP_PROBE1(libaxl, range_pop, depth);
  }
  const char* mark = "thread done";
  if (libaxl_mark_semaphore != 0) {
    ++fired_marks;
    STAP_PROBE1(libaxl, mark, mark);
  }
}

void WorkInside() {
  const char* name = "outer";
  const char* call = "axlStreamSynchronize";
  const uint64_t correlation = static_cast<uint64_t>(getpid()) << 32 | ++calls;
  const uint64_t bytes = 0;
  const uint32_t stream = 0, outer = 0, inner = 1, innermost = 2;
  const int32_t result = 0;
  STAP_PROBE2(libaxl, range_push, name, outer);
  STAP_PROBE2(libaxl, range_push, name, inner);
  STAP_PROBE4(libaxl, api_begin, call, correlation, bytes, stream);
  puts("in a call");
  fflush(stdout);
  (void)getchar();
  STAP_PROBE3(libaxl, api_end, call, correlation, result);
  STAP_PROBE2(libaxl, range_push, name, innermost);
  Call("axlMalloc", false);
  Call("axlFree", false);
  STAP_PROBE1(libaxl, range_pop, innermost);
  STAP_PROBE1(libaxl, range_pop, inner);
  STAP_PROBE1(libaxl, range_pop, outer);
}

void RunThreads(const Options& options) {
  const uint32_t tag = 3;
  const char* op = "rmsnorm";
  if (libaxl_op_name_semaphore != 0) STAP_PROBE2(libaxl, op_name, tag, op);
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(Work, options);
  Work(options);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc > 1) options.calls = atoi(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("threads=", 0) == 0) options.threads = atoi(word.c_str() + 8);
    if (word.rfind("pause-ms=", 0) == 0) options.pause_ms = atoi(word.c_str() + 9);
    if (word == "fork") options.fork = true;
    if (word == "open") options.open = true;
    if (word == "attach") options.attach = true;
  }
  if (options.attach) {
    WorkInside();
    return 0;
  }
  RunThreads(options);
  if (options.fork) {
    const pid_t child = fork();
    if (child == 0) {
      fired_calls = fired_ranges = fired_marks = 0;
      Work(options);
      printf("calls %lu ranges %lu marks %lu\n", fired_calls.load(), fired_ranges.load(),
             fired_marks.load());
      fflush(stdout);
      execl("/proc/self/exe", argv[0], argv[1], nullptr);
      _exit(127);
    }
    waitpid(child, nullptr, 0);
  }
  printf("calls %lu ranges %lu marks %lu\n", fired_calls.load(), fired_ranges.load(),
         fired_marks.load());
  fflush(stdout);
  usleep(static_cast<useconds_t>(options.pause_ms) * 1000);
  return 0;
}
