// SPDX-License-Identifier: Apache-2.0
//
// Processes parts of a task in parallel, and takes the results in order on the caller's thread.
#ifndef LIBTRACE_BASE_IN_ORDER_H_
#define LIBTRACE_BASE_IN_ORDER_H_

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <future>
#include <system_error>
#include <utility>

namespace acceltrace {

inline constexpr size_t kMostThreads = 16;

// Returns the number of processors that this process may use, or ACCELTRACE_THREADS of the
// environment if that is less.
inline size_t Threads() {
  cpu_set_t set;
  const int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  size_t threads = std::clamp<size_t>(static_cast<size_t>(count), 1, kMostThreads);
  if (const char* most = std::getenv("ACCELTRACE_THREADS"); most != nullptr) {
    threads = std::clamp<size_t>(std::strtoul(most, nullptr, 10), 1, threads);
  }
  return threads;
}

// Calls take(i, make(i)) for each i below count, in this order, until take() returns false. make()
// runs on other threads, at most `threads` at a time, so it must not modify what they share.
template <typename Make, typename Take>
void InOrder(size_t count, size_t threads, const Make& make, const Take& take) {
  using Made = decltype(make(size_t{0}));
  std::deque<std::future<Made>> ahead;
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    for (; threads > 1 && next < count && ahead.size() < threads; ++next) {
      try {
        ahead.push_back(std::async(std::launch::async, [&make, next] { return make(next); }));
      } catch (const std::system_error&) {
        break;  // the process may not start more threads
      }
    }
    const bool here = ahead.empty();
    Made made = here ? make(i) : ahead.front().get();
    if (here) {
      next = i + 1;
    } else {
      ahead.pop_front();
    }
    if (!take(i, std::move(made))) return;  // parts that are being made are finished first
  }
}

}  // namespace acceltrace

#endif  // LIBTRACE_BASE_IN_ORDER_H_
