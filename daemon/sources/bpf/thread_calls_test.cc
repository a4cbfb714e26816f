// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/bpf/thread_calls.h"

#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

TEST_CASE("a submission's call is the innermost one that its thread was in") {
  ThreadCalls calls;
  CHECK(calls.At(1, 100) == 0);
  calls.Begin(1, 100, 11);
  for (int64_t i = 0; i < 1000; ++i) {  // many calls inside one
    calls.Begin(1, 200 + 10 * i, 1000 + static_cast<uint64_t>(i));
    calls.End(1, 205 + 10 * i, 1000 + static_cast<uint64_t>(i));
  }
  calls.Begin(2, 150, 21);
  calls.End(1, 90'000, 11);
  CHECK(calls.At(1, 99) == 0);
  CHECK(calls.At(1, 100) == 11);
  CHECK(calls.At(1, 203) == 1000);
  CHECK(calls.At(1, 207) == 11);
  CHECK(calls.At(1, 10'192) == 1999);
  CHECK(calls.At(1, 50'000) == 11);
  CHECK(calls.At(1, 90'001) == 0);
  CHECK(calls.At(2, 1'000'000'000'000) == 21);
}

TEST_CASE("a call whose end was lost ends with the one that it is in") {
  ThreadCalls calls;
  calls.Begin(1, 10, 1);
  calls.Begin(1, 20, 2);
  calls.End(1, 30, 1);
  CHECK(calls.At(1, 25) == 2);
  CHECK(calls.At(1, 31) == 0);
  calls.End(1, 40, 2);  // too late
  CHECK(calls.At(1, 41) == 0);
  for (uint64_t i = 0; i < 1000; ++i) calls.Begin(1, 50, 100 + i);  // repeated longjmp()
  CHECK(calls.At(1, 60) == 1099);
  calls.Ended(1, 61);
  CHECK(calls.At(1, 60) == 1099);  // a late submission
  CHECK(calls.At(1, 62) == 0);
  calls.Begin(1, 70, 5);  // another thread with this id
  calls.Ended(2, 80);     // it made no calls
  calls.Begin(3, 10'000'000'000, 6);
  CHECK(calls.At(1, 75) == 5);
  calls.Ended(1, 10'000'000'000);
  calls.Begin(3, 20'000'000'000, 7);
  CHECK(calls.At(1, 75) == 0);
}

TEST_CASE("what is kept of calls has a bound, and what is long past is forgotten") {
  ThreadCalls calls;
  constexpr size_t kThreads = ThreadCalls::kMaxChanges / ThreadCalls::kMaxOfThread;
  const auto last = static_cast<int64_t>(ThreadCalls::kMaxOfThread);
  const auto fill = [&](uint64_t thread) {
    for (int64_t i = 0; i <= last; ++i) {
      const auto correlation = static_cast<uint64_t>(i) + 1;
      calls.Begin(thread, 2 * i, correlation);
      calls.End(thread, 2 * i + 1, correlation);
    }
  };
  fill(1);
  CHECK(calls.At(1, 10) == 0);  // dropped
  CHECK(calls.At(1, 2 * last) == static_cast<uint64_t>(last) + 1);
  // A single thread cannot displace the others' calls, but all of them together can.
  calls.Begin(2, 2 * last, 7);
  CHECK(calls.At(2, 2 * last) == 7);
  for (uint64_t thread = 2; thread <= kThreads; ++thread) fill(thread);
  calls.Begin(kThreads + 1, 2 * last, 7);
  CHECK(calls.At(kThreads + 1, 2 * last) == 0);
  const int64_t later = 2 * last + 10'000'000'000;
  calls.Begin(1, later, 78);
  calls.Begin(kThreads + 1, later, 8);  // space is available again
  CHECK(calls.At(kThreads + 1, later) == 8);
}

}  // namespace
}  // namespace acceltrace::daemon
