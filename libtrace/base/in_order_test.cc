// SPDX-License-Identifier: Apache-2.0
#include "libtrace/base/in_order.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/catch.h"

namespace acceltrace {
namespace {

TEST_CASE("parts are taken in order, however many make them") {
  for (const size_t threads : {1, 2, 3, 7}) {
    std::vector<size_t> taken;
    std::atomic<size_t> at_once{0}, most{0};
    InOrder(
        40, threads,
        [&](size_t i) {
          const size_t now = ++at_once;
          for (size_t seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          volatile size_t sum = 0;
          for (size_t k = 0; k < 1000 * (40 - i); ++k) sum = sum + k;
          --at_once;
          return i * i;
        },
        [&](size_t i, size_t made) {
          CHECK(made == i * i);
          taken.push_back(i);
          return true;
        });
    REQUIRE(taken.size() == 40);
    for (size_t i = 0; i < taken.size(); ++i) CHECK(taken[i] == i);
    CHECK(most <= threads);
  }
}

TEST_CASE("nothing is taken after one that ends it, and none is made that nobody asks for") {
  for (const size_t threads : {1, 3}) {
    std::atomic<size_t> made{0};
    size_t taken = 0;
    InOrder(
        1000, threads, [&](size_t i) { return ++made, i; },
        [&](size_t i, size_t) { return ++taken, i < 4; });
    CHECK(taken == 5);
    CHECK(made <= 5 + threads);
  }
}

TEST_CASE("what one of them throws reaches the caller") {
  for (const size_t threads : {1, 4}) {
    size_t taken = 0;
    const auto all = [&] {
      InOrder(
          10, threads,
          [](size_t i) {
            if (i == 3) throw std::runtime_error("three");
            return i;
          },
          [&](size_t, size_t) { return ++taken, true; });
    };
    CHECK_THROWS_AS(all(), std::runtime_error);
    CHECK(taken == 3);
  }
}

TEST_CASE("the environment lowers the number of threads, and cannot raise it") {
  const size_t here = Threads();
  CHECK((here >= 1 && here <= kMostThreads));
  setenv("ACCELTRACE_THREADS", "1", 1);
  CHECK(Threads() == 1);
  setenv("ACCELTRACE_THREADS", "100000", 1);
  CHECK(Threads() == here);
  setenv("ACCELTRACE_THREADS", "many", 1);
  CHECK(Threads() == 1);
  unsetenv("ACCELTRACE_THREADS");
}

}  // namespace
}  // namespace acceltrace
