// SPDX-License-Identifier: Apache-2.0
//
// Checks that asking whether a process is recorded has no side effects that the process could
// notice. The test itself plays the tracer's program.
#include "libtrace/ring/ask.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tests/catch.h"

using namespace acceltrace::ring;

namespace {

int asks = 0, handled = 0, last_code = 0, readies = 0;
void (*tracer)() = [] {};  // called at the probe

void Handle(int, siginfo_t* info, void*) {
  ++handled;
  last_code = info->si_code;
}

// Sends the signal as the kernel would, to the thread or to the process.
void Send(bool to_thread, int code) {
  siginfo_t info = {};
  info.si_signo = kAnswerSignal;
  info.si_code = code;
  if (to_thread) {
    REQUIRE(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), kAnswerSignal, &info) ==
            0);
  } else {
    REQUIRE(syscall(SYS_rt_sigqueueinfo, getpid(), kAnswerSignal, &info) == 0);
  }
}

constexpr const char* kNames[] = {"call"};
const Host kHost = {.names = kNames,
                    .num_names = 1,
                    .wanted = [] { return true; },
                    .ready = [](uint64_t, uint64_t, uint32_t) { ++readies; },
                    .wake = [] {},
                    .threads = 1,
                    .slot_bits = 4,
                    .patience_ns = 0,
                    .ask =
                        [] {
                          ++asks;
                          tracer();
                        }};

// Asks after kAskAgainNs has passed.
bool AskNow() {
  const int before = asks;
  for (;;) {
    const bool yes = Recorded(kHost);
    if (asks != before) return yes;
    std::this_thread::yield();
  }
}

std::string Mappings() {
  std::ifstream maps("/proc/self/maps");
  return {std::istreambuf_iterator<char>(maps), {}};
}

sigset_t Mask() {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

bool Blocks(int signal) {
  const sigset_t mask = Mask();
  return sigismember(&mask, signal) == 1;
}

}  // namespace

TEST_CASE("a process asks whether it is recorded, and nothing of that remains") {
  struct sigaction action = {}, before = {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO;
  REQUIRE(sigaction(kAnswerSignal, &action, &before) == 0);

  SECTION("no answer: it makes nothing, says nothing and asks seldom") {
    tracer = [] {};
    errno = ERANGE;
    CHECK_FALSE(AskNow());
    CHECK(errno == ERANGE);
    SetHost(&kHost);
    const std::string mappings = Mappings();
    const int asked = asks;
    for (int i = 0; i < 1000; ++i) WriteBegin(0, 1, 2, 3);
    CHECK(Mappings() == mappings);
    CHECK(readies == 0);
    CHECK(asks - asked < 1000);
    CHECK(WasUnrecorded());
    ForgetHost();
  }
  SECTION("the tracer answers") {
    tracer = [] { Send(true, SI_KERNEL); };
    CHECK(AskNow());
    CHECK(handled == 0);
  }
  SECTION("... while the program gets one of its own") {
    tracer = [] {
      Send(false, SI_QUEUE);
      Send(true, SI_KERNEL);
    };
    handled = 0;
    CHECK(AskNow());
    CHECK(handled == 1);
    CHECK(last_code == SI_QUEUE);
  }
  SECTION("no answer, but a signal of another process") {
    tracer = [] { Send(false, SI_USER); };
    handled = 0;
    CHECK_FALSE(AskNow());
    CHECK(handled == 1);
    CHECK(last_code == SI_USER);
  }
  SECTION("no answer, but a signal of another thread") {
    tracer = [] { Send(true, SI_TKILL); };
    handled = 0;
    CHECK_FALSE(AskNow());
    CHECK(handled == 1);
    CHECK(last_code == SI_TKILL);
  }
  SECTION("no answer, but the terminal's size has changed") {
    tracer = [] {
      static int times = 0;
      if (times++ == 0) Send(false, SI_KERNEL);
    };
    handled = 0;
    CHECK_FALSE(AskNow());
    CHECK(handled == 1);
    CHECK(last_code == SI_KERNEL);
  }
  CHECK_FALSE(Blocks(kAnswerSignal));
  CHECK_FALSE(Blocks(SIGTERM));
  handled = 0;
  tracer = [] {};
  REQUIRE(sigaction(kAnswerSignal, &before, nullptr) == 0);
}
