// SPDX-License-Identifier: Apache-2.0
//
// Many threads on one runtime. Worth running under ThreadSanitizer:
// make OPT='-O1 -g -fsanitize=thread' BUILD=build-tsan build-tsan/test/unit-runtime
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

// Catch2's assertions only work in one thread, so workers count failures instead.
#define COUNT_BAD(call)              \
  do {                               \
    if ((call) != axlSuccess) ++bad; \
  } while (0)

void Increments(float* x, int count, axlStream_t stream, std::atomic<int>& bad) {
  axlVector vec = {};
  vec.src0 = vec.dst = x;
  vec.rows = vec.cols = 1;
  vec.alpha = vec.beta = 1;
  for (int i = 0; i < count; ++i) COUNT_BAD(axlLaunchVector("inc", axlVecScale, &vec, stream));
}

}  // namespace

TEST_CASE("threads with streams of their own") {
  Fixture f;
  f.kernel.SetMode(GENERATE(FakeKernel::Mode::kEager, FakeKernel::Mode::kRandom));
  std::atomic<int> bad{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 4; ++round) {
        void *x, *host;
        axlStream_t s;
        axlEvent_t e;
        COUNT_BAD(axlMalloc(&x, 4));
        COUNT_BAD(axlHostAlloc(&host, 4));
        COUNT_BAD(axlStreamCreate(&s));
        COUNT_BAD(axlEventCreate(&e));
        COUNT_BAD(axlMemsetD32Async(x, 0, 1, s));
        Increments(static_cast<float*>(x), 50, s, bad);
        COUNT_BAD(axlMemcpyAsync(host, x, 4, axlMemcpyDeviceToHost, s));
        COUNT_BAD(axlEventRecord(e, s));
        COUNT_BAD(axlEventSynchronize(e));
        if (*static_cast<float*>(host) != 50) ++wrong;
        COUNT_BAD(axlEventDestroy(e));
        COUNT_BAD(axlStreamDestroy(s));
        COUNT_BAD(axlFree(x));
        COUNT_BAD(axlHostFree(host));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(bad == 0);
  REQUIRE(wrong == 0);
  REQUIRE(f.kernel.live_buffers() == 0);
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("threads on one stream: nothing is lost, correlation ids are unique") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  void* x;
  AXL_OK(axlMalloc(&x, 4));
  AXL_OK(axlMemsetD32Async(x, 0, 1, nullptr));
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] { Increments(static_cast<float*>(x), 100, nullptr, bad); });
  for (std::thread& thread : threads) thread.join();
  float result;
  AXL_OK(axlMemcpy(&result, x, 4, axlMemcpyDeviceToHost));
  REQUIRE(bad == 0);
  REQUIRE(result == 400);
  std::vector<uint64_t> ids;
  for (const auto& job : f.kernel.jobs()) ids.push_back(job.correlation);
  std::sort(ids.begin(), ids.end());
  REQUIRE(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
}

TEST_CASE("threads staging pageable copies do not mix them up") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  std::atomic<int> bad{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      axlStream_t s;
      void* device;
      COUNT_BAD(axlStreamCreate(&s));
      COUNT_BAD(axlMalloc(&device, 600000));
      for (int round = 0; round < 3; ++round) {
        std::vector<uint8_t> out(600000, static_cast<uint8_t>(t * 16 + round)), in(600000);
        COUNT_BAD(axlMemcpyAsync(device, out.data(), out.size(), axlMemcpyHostToDevice, s));
        COUNT_BAD(axlMemcpyAsync(in.data(), device, in.size(), axlMemcpyDeviceToHost, s));
        if (in != out) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(bad == 0);
  REQUIRE(wrong == 0);
}

TEST_CASE("a reset while others work makes errors, not crashes") {
  Fixture f;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        void* x;
        axlStream_t s;
        if (axlMalloc(&x, 64) != axlSuccess || axlStreamCreate(&s) != axlSuccess) continue;
        for (int i = 0; i < 5; ++i) (void)axlMemsetD32Async(x, 0, 16, s);
        (void)axlStreamSynchronize(s);
        (void)axlStreamDestroy(s);
        (void)axlFree(x);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    (void)axlDeviceReset();
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  AXL_OK(axlDeviceReset());
  void* x;
  AXL_OK(axlMalloc(&x, 64));
}
