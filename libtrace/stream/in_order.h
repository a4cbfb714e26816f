// SPDX-License-Identifier: Apache-2.0
//
// Work that is divided into parts, on as many processors as there are; what comes of it is taken in
// order, on the caller's thread.
#ifndef LIBTRACE_STREAM_IN_ORDER_H_
#define LIBTRACE_STREAM_IN_ORDER_H_

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <future>
#include <system_error>
#include <utility>

namespace acceltrace::stream {

inline constexpr size_t kMostThreads = 16;

// The processors that this process may use, or fewer: ACCELTRACE_THREADS in the environment.
inline size_t Threads() {
  cpu_set_t set;
  const int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  size_t threads = std::clamp<size_t>(static_cast<size_t>(count), 1, kMostThreads);
  if (const char* most = std::getenv("ACCELTRACE_THREADS"); most != nullptr) {
    threads = std::clamp<size_t>(std::strtoul(most, nullptr, 10), 1, threads);
  }
  return threads;
}

// take(i, make(i)) for each i below count, in this order, until take() says false. make() is called
// on other threads, so many parts at once and no more: it may only read what they share.
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
        break;  // no more threads for this process
      }
    }
    const bool here = ahead.empty();
    Made made = here ? make(i) : ahead.front().get();
    if (here) {
      next = i + 1;
    } else {
      ahead.pop_front();
    }
    if (!take(i, std::move(made))) return;  // what others do still ends first
  }
}

}  // namespace acceltrace::stream

#endif  // LIBTRACE_STREAM_IN_ORDER_H_
