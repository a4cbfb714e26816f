// SPDX-License-Identifier: Apache-2.0
//
// Does known things with its threads and prints the kernel's counts:
//   axl-sched-app phases            sleeps, page faults, computing, in the main thread
//   axl-sched-app share CPU         two threads compute on one CPU
//   axl-sched-app pingpong COUNT [hold]   two threads wake each other COUNT times; hold: prints
//                                   "ready" and "over" and waits for a line each time
// Lines are "mark NAME TID NS MINOR MAJOR VOLUNTARY INVOLUNTARY CHARGED_NS", totals at a time when
// the thread had just been asleep, and "thread NAME TID".
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr int kSleeps = 20, kPages = 1500;
constexpr long kSleepNs = 2'000'000;
constexpr int64_t kComputeNs = 60'000'000;

char lines[1 << 16];
size_t used = 0;

int Tid() { return static_cast<int>(syscall(SYS_gettid)); }

int64_t Clock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void Sleep(long ns) {
  const timespec time = {0, ns};
  nanosleep(&time, nullptr);
}

void Compute(int64_t ns) {
  const int64_t begin_ns = Clock(CLOCK_THREAD_CPUTIME_ID);
  while (Clock(CLOCK_THREAD_CPUTIME_ID) - begin_ns < ns) {
  }
}

uint64_t ChargedNs() {
  const std::string path = "/proc/self/task/" + std::to_string(Tid()) + "/schedstat";
  FILE* file = fopen(path.c_str(), "re");
  unsigned long long ns = 0;
  if (file == nullptr || fscanf(file, "%llu", &ns) != 1) abort();
  fclose(file);
  return ns;
}

// The counts are reported for a time at which they did not change: they have been constant since
// before the sleep.
void Mark(const char* name) {
  rusage use, again;
  int64_t at_ns = 0;
  uint64_t charged_ns = 0;
  do {
    charged_ns = ChargedNs();  // its own faults and switches are over then
    Sleep(1'000'000);
    getrusage(RUSAGE_THREAD, &use);
    at_ns = Clock(CLOCK_MONOTONIC);
    getrusage(RUSAGE_THREAD, &again);
  } while (use.ru_nvcsw != again.ru_nvcsw || use.ru_nivcsw != again.ru_nivcsw ||
           use.ru_minflt != again.ru_minflt);
  used += static_cast<size_t>(
      snprintf(lines + used, sizeof(lines) - used, "mark %s %d %lld %ld %ld %ld %ld %llu\n", name,
               Tid(), static_cast<long long>(at_ns), use.ru_minflt, use.ru_majflt, use.ru_nvcsw,
               use.ru_nivcsw, static_cast<unsigned long long>(charged_ns)));
}

void Phases() {
  memset(lines, 1, sizeof(lines));
  Mark("warm");
  Mark("begin");
  for (int i = 0; i < kSleeps; ++i) Sleep(kSleepNs);
  Mark("slept");
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* memory = static_cast<char*>(
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  for (int i = 0; i < kPages; ++i) memory[static_cast<size_t>(i) * page] = 1;
  Mark("faulted");
  Compute(kComputeNs);
  Mark("computed");
}

void Share(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    perror("sched_setaffinity");
    exit(1);
  }
  const auto compute = [](const char* name) {
    printf("thread %s %d\n", name, Tid());
    Compute(kComputeNs);
  };
  std::thread first(compute, "first"), second(compute, "second");
  first.join();
  second.join();
}

// Between the word and the line the thread only waits.
void Hold(const char* word) {
  printf("%s\n", word);
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof(line), stdin) == nullptr) exit(1);
}

// On one CPU, and without preemption by the wake-up: the writer continues to its own wait, so that
// both threads sleep for each byte. Otherwise the writer is often preempted immediately and finds
// its byte when it returns, so that it never sleeps.
void TakeTurns() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &set);
  const sched_param none = {};
  if (sched_setaffinity(0, sizeof(set), &set) != 0 ||
      sched_setscheduler(0, SCHED_BATCH, &none) != 0) {
    perror("taking turns on one CPU");
    exit(1);
  }
}

void PingPong(int count, bool hold) {
  TakeTurns();
  if (hold) Hold("ready");
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) abort();
  std::thread other([&] {
    char byte;
    printf("thread other %d\n", Tid());
    fflush(stdout);
    for (int i = 0; i < count; ++i) {
      if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) abort();
    }
    Mark("other");
  });
  char byte = 0;
  Mark("begin");
  for (int i = 0; i < count; ++i) {
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) abort();
  }
  other.join();
  if (hold) Hold("over");
  Mark("main");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "phases") {
    Phases();
  } else if (what == "share" && argc > 2) {
    Share(atoi(argv[2]));
  } else if (what == "pingpong" && argc > 2) {
    PingPong(atoi(argv[2]), argc > 3);
  } else {
    fprintf(stderr, "usage: axl-sched-app phases | share CPU | pingpong COUNT [hold]\n");
    return 2;
  }
  printf("%.*s", static_cast<int>(used), lines);
  return 0;
}
