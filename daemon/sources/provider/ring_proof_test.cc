// SPDX-License-Identifier: Apache-2.0
#include "daemon/sources/provider/ring_proof.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/base/host_info.h"
#include "tests/catch.h"

namespace acceltrace::daemon {
namespace {

// Grace periods that end when the test says so.
struct Periods {
  bool Wait() {
    std::unique_lock lock(mutex);
    ++begun;
    changed.notify_all();
    changed.wait(lock, [this] { return passed >= begun || failing; });
    return !failing;
  }
  void AwaitBegin(int which) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return begun >= which; });
  }
  void Pass(bool fail = false) {
    const std::lock_guard lock(mutex);
    ++passed;
    failing = fail;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  int begun = 0, passed = 0;
  bool failing = false;
};

TEST_CASE("what a grace period has begun after is proven when it has passed") {
  Periods periods;
  RingProof proof([&] { return periods.Wait(); });
  REQUIRE(proof.available());
  CHECK(proof.proven_ns() == 0);
  const int64_t before_ns = MonotonicNs();
  proof.Ask();
  periods.AwaitBegin(1);
  CHECK(proof.proven_ns() == 0);
  const int64_t within_ns = MonotonicNs();
  // A proof of this moment needs the next period, as the first one began too early.
  CHECK_FALSE(proof.Await(5'000'000, nullptr));
  periods.Pass();
  periods.AwaitBegin(2);
  CHECK(proof.proven_ns() <= within_ns);
  CHECK(proof.proven_ns() > before_ns - 1'000'000);
  int calls = 0;
  CHECK(proof.Await(INT64_MAX, [&] {
    if (++calls == 3) periods.Pass();
    if (calls > 3) periods.Pass();
  }));
  CHECK(proof.proven_ns() >= within_ns - 1'000'000);
  CHECK(calls >= 3);
}

TEST_CASE("a grace period that cannot be waited for proves nothing") {
  Periods periods;
  RingProof proof([&] { return periods.Wait(); });
  proof.Ask();
  periods.AwaitBegin(1);
  periods.Pass(true);
  CHECK_FALSE(proof.Await(INT64_MAX, nullptr));
  CHECK_FALSE(proof.available());
  CHECK(proof.proven_ns() == 0);
}

TEST_CASE("the kernel's own grace periods prove what was before") {
  const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (known <= 0 || (known & MEMBARRIER_CMD_GLOBAL) == 0) SKIP("this kernel has none for us");
  RingProof proof;
  const int64_t begin_ns = MonotonicNs();
  CHECK(proof.Await(60'000'000'000, nullptr));
  CHECK(proof.proven_ns() >= begin_ns - 1'000'000);
}

}  // namespace
}  // namespace acceltrace::daemon
