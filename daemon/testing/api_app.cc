// SPDX-License-Identifier: Apache-2.0
//
// Calls libaxl without a device; the tests of the rings record it.
//
//   axl-api-app CALLS [threads=N] [rounds=N] [fork] [pause-us=N] [forever] [count=FILE] [handler]
//
// Each thread makes CALLS calls, each in its own range; every round uses new threads. fork: a child
// does the same, then executes this program again. forever: repeats until it is killed. count: a
// file of 8 bytes with the number of calls that have returned, valid even after a kill. handler: a
// signal handler makes ranges and marks, too, at any time. Prints "calls N ranges N marks N".
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "libtrace/runtime/axl.h"

namespace {

std::atomic<uint64_t> calls{0}, ranges{0}, marks{0};
std::atomic<uint64_t>* returned = &calls;  // or a file's

struct Options {
  int calls = 1;
  int threads = 1;
  int rounds = 1;
  bool fork = false;
  bool forever = false;
  int pause_us = 0;
};

// A call of each kind that needs no device, successful or refused.
void Call(int number) {
  int value = 0;
  switch (number % 3) {
    case 0:
      (void)axlGetDevice(&value);
      break;
    case 1:
      (void)axlSetDevice(-1 - number);
      break;
    default:
      (void)axlStreamSynchronize(reinterpret_cast<axlStream_t>(uintptr_t{1}));
      break;
  }
  ++calls;
  if (returned != &calls) ++*returned;
}

bool CountIn(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT, 0644);
  if (fd < 0 || ftruncate(fd, sizeof(*returned)) != 0) return false;
  void* address = mmap(nullptr, sizeof(*returned), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (address == MAP_FAILED) return false;
  returned = static_cast<std::atomic<uint64_t>*>(address);
  return true;
}

void Work(const Options& options) {
  do {
    for (int i = 0; i < options.calls; ++i) {
      // Short and long texts, in a buffer that is reused.
      char range[160];
      snprintf(range, sizeof(range), "step %d %s", i % 10,
               i % 10 == 9 ? "whose name is longer than what fits into a slot of the ring, so that "
                             "it goes on in the next ones"
                           : "");
      axlRangePush(range);
      Call(i);
      axlRangePop();
      ++ranges;
      if (options.pause_us > 0) usleep(static_cast<useconds_t>(options.pause_us));
    }
    axlMark("thread done");
    ++marks;
  } while (options.forever);
}

void Handle(int) {
  axlRangePush("handler");
  axlMark("handler");
  axlRangePop();
  ++ranges;
  ++marks;
}

void Interrupt(int period_us) {
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval timer = {{0, period_us}, {0, period_us}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void RunThreads(const Options& options) {
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<std::thread> threads;
    for (int i = 1; i < options.threads; ++i) threads.emplace_back(Work, options);
    Work(options);
    for (std::thread& thread : threads) thread.join();
  }
}

void Print() {
  printf("calls %lu ranges %lu marks %lu\n", calls.load(), ranges.load(), marks.load());
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bool handler = false;
  if (argc > 1) options.calls = atoi(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("threads=", 0) == 0) options.threads = atoi(word.c_str() + 8);
    if (word.rfind("rounds=", 0) == 0) options.rounds = atoi(word.c_str() + 7);
    if (word.rfind("pause-us=", 0) == 0) options.pause_us = atoi(word.c_str() + 9);
    if (word.rfind("count=", 0) == 0 && !CountIn(word.c_str() + 6)) return 1;
    if (word == "fork") options.fork = true;
    if (word == "handler") handler = true;
    if (word == "forever") options.forever = true;
  }
  if (handler) Interrupt(50);
  RunThreads(options);
  if (handler) Interrupt(0);
  if (options.fork) {
    const pid_t child = fork();
    if (child == 0) {
      calls = ranges = marks = 0;
      Work(options);
      Print();
      execl("/proc/self/exe", argv[0], argv[1], nullptr);
      _exit(127);
    }
    waitpid(child, nullptr, 0);
  }
  Print();
  return 0;
}
