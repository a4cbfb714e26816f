// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

// Computes x = x * a + b on `n` floats: the order matters, so that a missing wait is visible.
axlVector Affine(float* x, uint32_t n, float a, float b) {
  axlVector vec = {};
  vec.src0 = x;
  vec.dst = x;
  vec.rows = 1;
  vec.cols = n;
  vec.alpha = a;
  vec.beta = b;
  return vec;
}

axlError_t Scale(float* x, float a, float b, axlStream_t stream) {
  const axlVector vec = Affine(x, 4, a, b);
  return axlLaunchVector("affine", axlVecScale, &vec, stream);
}

// Does the same with the matrix engine: c = alpha * c0 * identity.
axlError_t Multiply(const float* a, const float* b, float* c, uint32_t n, axlStream_t stream) {
  axlMatmul mm = {};
  mm.a = a;
  mm.b = b;
  mm.c = c;
  mm.m = mm.n = mm.k = n;
  mm.alpha = 1;
  return axlLaunchMatmul("mm", &mm, stream);
}

template <typename T>
T* Malloc(size_t count) {
  void* p = nullptr;
  AXL_OK(axlMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}
template <typename T>
T* Host(size_t count) {
  void* p = nullptr;
  AXL_OK(axlHostAlloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}

}  // namespace

TEST_CASE("a stream runs in order across engines") {
  const uint32_t seed = GENERATE(range(1u, 9u));
  Fixture f({0}, seed);
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  axlStream_t s;
  AXL_OK(axlStreamCreate(&s));
  float *in = Host<float>(4), *out = Host<float>(4), *x = Malloc<float>(4), *y = Malloc<float>(4),
        *eye = Malloc<float>(4), *eye_host = Host<float>(4);
  eye_host[0] = eye_host[3] = 1;
  float expected = 3;
  in[0] = expected;
  AXL_OK(axlMemcpyAsync(eye, eye_host, 16, axlMemcpyHostToDevice, s));
  AXL_OK(axlMemcpyAsync(x, in, 16, axlMemcpyHostToDevice, s));
  for (int i = 0; i < 5; ++i) {
    AXL_OK(Scale(x, 2, 1, s));
    AXL_OK(Multiply(x, eye, y, 2, s));
    AXL_OK(axlMemcpyAsync(out, y, 16, axlMemcpyDeviceToHost, s));
    AXL_OK(axlMemcpyAsync(x, out, 16, axlMemcpyHostToDevice, s));
    expected = expected * 2 + 1;
  }
  AXL_OK(axlStreamSynchronize(s));
  REQUIRE(out[0] == expected);
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("streams of different queues wait for events on the device, not on the host") {
  const uint32_t seed = GENERATE(range(1u, 9u));
  Fixture f({0}, seed);
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  axlStream_t a, b;
  axlEvent_t ea, eb;
  AXL_OK(axlStreamCreate(&a));
  AXL_OK(axlStreamCreate(&b));
  const unsigned flags = GENERATE(axlEventDefault, axlEventDisableTiming);
  AXL_OK(axlEventCreateWithFlags(&ea, flags));
  AXL_OK(axlEventCreateWithFlags(&eb, flags));
  float* x = Malloc<float>(4);
  float* out = Host<float>(4);
  AXL_OK(axlMemsetD32Async(x, 0, 4, a));
  float expected = 0;
  for (int i = 0; i < 6; ++i) {  // copies back and forth
    AXL_OK(Scale(x, 2, 1, a));
    AXL_OK(axlEventRecord(ea, a));
    AXL_OK(axlStreamWaitEvent(b, ea));
    AXL_OK(Scale(x, 3, 2, b));
    AXL_OK(axlEventRecord(eb, b));
    AXL_OK(axlStreamWaitEvent(a, eb));
    expected = (expected * 2 + 1) * 3 + 2;
  }
  REQUIRE(f.kernel.executed() == 0);
  AXL_OK(axlMemcpyAsync(out, x, 16, axlMemcpyDeviceToHost, a));
  AXL_OK(axlStreamSynchronize(a));
  REQUIRE(out[3] == expected);
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("synchronising a stream includes events it waits for, with no work behind them") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  axlStream_t a, b;
  axlEvent_t e;
  AXL_OK(axlStreamCreate(&a));
  AXL_OK(axlStreamCreate(&b));
  AXL_OK(axlEventCreateWithFlags(&e, axlEventDisableTiming));
  float* x = Malloc<float>(4);
  AXL_OK(axlMemsetD32Async(x, 0, 4, a));
  AXL_OK(axlEventRecord(e, a));
  AXL_OK(axlStreamWaitEvent(b, e));
  REQUIRE(axlStreamQuery(b) == axlErrorNotReady);
  AXL_OK(axlStreamSynchronize(b));
  REQUIRE(f.kernel.executed() == 1);
  AXL_OK(axlStreamQuery(b));
}

TEST_CASE("an untimed event behind a pending wait is not passed early") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kHeld);
  axlStream_t a, b;
  axlEvent_t ea, eb;
  AXL_OK(axlStreamCreate(&a));
  AXL_OK(axlStreamCreate(&b));
  AXL_OK(axlEventCreateWithFlags(&ea, axlEventDisableTiming));
  AXL_OK(axlEventCreateWithFlags(&eb, axlEventDisableTiming));
  float* x = Malloc<float>(4);
  AXL_OK(axlMemsetD32Async(x, 0, 4, a));
  AXL_OK(axlEventRecord(ea, a));
  AXL_OK(axlStreamWaitEvent(b, ea));
  AXL_OK(axlEventRecord(eb, b));
  REQUIRE(axlEventQuery(eb) == axlErrorNotReady);
  f.kernel.SetMode(FakeKernel::Mode::kEager);
  AXL_OK(axlEventQuery(eb));
}

TEST_CASE("many pending waits become joins and stay correct") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  constexpr int kStreams = 24;
  std::vector<axlStream_t> streams(kStreams);
  std::vector<float*> x(kStreams);
  axlStream_t last;
  axlEvent_t e;
  AXL_OK(axlStreamCreate(&last));
  AXL_OK(axlEventCreateWithFlags(&e, axlEventDisableTiming));
  float* sum = Malloc<float>(4);
  AXL_OK(axlMemsetD32Async(sum, 0, 4, last));
  for (int i = 0; i < kStreams; ++i) {
    AXL_OK(axlStreamCreate(&streams[i]));
    x[i] = Malloc<float>(4);
    AXL_OK(axlMemsetD32Async(x[i], 0, 4, streams[i]));
    AXL_OK(Scale(x[i], 1, static_cast<float>(i), streams[i]));
    AXL_OK(axlEventRecord(e, streams[i]));
    AXL_OK(axlStreamWaitEvent(last, e));  // the event is recorded again each time
  }
  for (int i = 0; i < kStreams; ++i) {
    axlVector vec = Affine(sum, 4, 1, 0);
    vec.src1 = x[i];
    AXL_OK(axlLaunchVector("sum", axlVecAdd, &vec, last));
  }
  float out[4];
  AXL_OK(axlStreamSynchronize(last));
  AXL_OK(axlMemcpy(out, sum, 16, axlMemcpyDeviceToHost));
  REQUIRE(out[0] == kStreams * (kStreams - 1) / 2);
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("a slot's next owner keeps its semaphores' order") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  float* x = Malloc<float>(4);
  axlEvent_t e;
  axlStream_t other;
  AXL_OK(axlEventCreateWithFlags(&e, axlEventDisableTiming));
  AXL_OK(axlStreamCreate(&other));
  for (int i = 0; i < 10; ++i) {
    axlStream_t s;
    AXL_OK(axlStreamCreate(&s));
    AXL_OK(axlMemsetD32Async(x, 0, 4, s));
    AXL_OK(Scale(x, 1, static_cast<float>(i), s));
    AXL_OK(axlEventRecord(e, s));
    AXL_OK(axlStreamDestroy(s));
    AXL_OK(axlStreamCreate(&s));  // takes the same slot
    AXL_OK(axlStreamWaitEvent(s, e));
    float* out = Host<float>(4);
    AXL_OK(axlMemcpyAsync(out, x, 16, axlMemcpyDeviceToHost, s));
    AXL_OK(axlStreamSynchronize(s));
    REQUIRE(out[0] == static_cast<float>(i));
    AXL_OK(axlStreamDestroy(s));
  }
}

TEST_CASE("streams run out and come back") {
  Fixture f;
  std::vector<axlStream_t> streams;
  axlStream_t s;
  while (axlStreamCreate(&s) == axlSuccess) streams.push_back(s);
  REQUIRE(axlPeekAtLastError() == axlErrorLimit);
  REQUIRE(streams.size() == AXL_SEMS_PER_CONTEXT / AXL_NUM_ENGINES);
  AXL_OK(axlStreamDestroy(streams.back()));
  AXL_OK(axlStreamCreate(&s));
  REQUIRE(s != streams.back());  // a stale handle stays stale
  REQUIRE(axlStreamDestroy(streams.back()) == axlErrorInvalidHandle);
}

TEST_CASE("priorities are contexts; waits between them are done by the host") {
  Fixture f;
  axlStream_t low, high;
  axlEvent_t e;
  AXL_OK(axlStreamCreateWithPriority(&low, 0));
  AXL_OK(axlStreamCreateWithPriority(&high, 3));
  int priority;
  AXL_OK(axlStreamGetPriority(high, &priority));
  REQUIRE(priority == 3);
  AXL_OK(axlStreamGetPriority(nullptr, &priority));
  REQUIRE(priority == 1);
  AXL_OK(axlEventCreate(&e));
  float* x = Malloc<float>(4);
  f.kernel.SetMode(FakeKernel::Mode::kHeld);
  AXL_OK(axlMemsetD32Async(x, 0, 4, low));
  AXL_OK(axlEventRecord(e, low));
  std::atomic<bool> waited{false};
  std::thread waiter([&] {
    axlStreamWaitEvent(high, e);
    waited = true;
  });
  while (f.kernel.ioctls(AXL_IOCTL_WAIT) == 0) std::this_thread::yield();
  REQUIRE_FALSE(waited);
  f.kernel.SetMode(FakeKernel::Mode::kEager);
  waiter.join();
  REQUIRE(waited);
}

TEST_CASE("elapsed time comes from the device clock, wraps included") {
  Fixture f;
  f.kernel.info().clock_hz = 2000000;
  f.kernel.info().clock_bits = GENERATE(64u, 20u);  // the fake's clock soon exceeds 2^20
  axlEvent_t a, b, never, untimed;
  float* x = Malloc<float>(4);
  AXL_OK(axlEventCreate(&a));
  AXL_OK(axlEventCreate(&b));
  AXL_OK(axlEventCreate(&never));
  AXL_OK(axlEventCreateWithFlags(&untimed, axlEventDisableTiming));
  AXL_OK(axlEventRecord(a, nullptr));
  for (int i = 0; i < 999; ++i) AXL_OK(Scale(x, 1, 0, nullptr));
  AXL_OK(axlEventRecord(b, nullptr));
  AXL_OK(axlEventRecord(untimed, nullptr));
  float ms;
  AXL_OK(axlEventElapsedTime(&ms, a, b));
  REQUIRE(ms == Approx(1000 * 100 / 2e6 * 1e3));  // the fake takes 100 ticks per command
  AXL_OK(axlEventElapsedTime(&ms, b, a));
  REQUIRE(ms == Approx(-1000 * 100 / 2e6 * 1e3));
  REQUIRE(axlEventElapsedTime(&ms, a, never) == axlErrorNotRecorded);
  REQUIRE(axlEventElapsedTime(&ms, a, untimed) == axlErrorInvalidValue);
  REQUIRE(axlEventElapsedTime(nullptr, a, b) == axlErrorInvalidValue);
  AXL_OK(axlEventSynchronize(never));
  AXL_OK(axlEventQuery(never));
}

TEST_CASE("handles: null, stale, invented, of another kind") {
  Fixture f;
  axlStream_t s;
  axlEvent_t e;
  AXL_OK(axlStreamCreate(&s));
  AXL_OK(axlEventCreate(&e));
  REQUIRE(axlStreamDestroy(nullptr) == axlErrorInvalidHandle);
  REQUIRE(axlEventDestroy(nullptr) == axlErrorInvalidHandle);
  REQUIRE(axlStreamSynchronize(reinterpret_cast<axlStream_t>(e)) == axlErrorInvalidHandle);
  REQUIRE(axlEventSynchronize(reinterpret_cast<axlEvent_t>(s)) == axlErrorInvalidHandle);
  REQUIRE(axlEventSynchronize(reinterpret_cast<axlEvent_t>(&f)) == axlErrorInvalidHandle);
  AXL_OK(axlEventDestroy(e));
  REQUIRE(axlEventRecord(e, s) == axlErrorInvalidHandle);
  REQUIRE(axlEventCreate(nullptr) == axlErrorInvalidValue);
  REQUIRE(axlStreamCreate(nullptr) == axlErrorInvalidValue);
  REQUIRE(axlEventCreateWithFlags(&e, 2) == axlErrorInvalidValue);
}

TEST_CASE("a failed submission leaves the stream usable") {
  Fixture f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  axlStream_t s;
  AXL_OK(axlStreamCreate(&s));
  float* x = Malloc<float>(4);
  float* out = Host<float>(4);
  AXL_OK(axlMemsetD32Async(x, 0, 4, s));
  f.kernel.FailIoctl(AXL_IOCTL_SUBMIT, ENOMEM, 2);
  REQUIRE(Scale(x, 1, 100, s) == axlErrorOutOfHostMemory);
  REQUIRE(axlMemcpyAsync(out, x, 16, axlMemcpyDeviceToHost, s) == axlErrorOutOfHostMemory);
  AXL_OK(Scale(x, 1, 1, s));
  AXL_OK(axlMemcpyAsync(out, x, 16, axlMemcpyDeviceToHost, s));
  AXL_OK(axlStreamSynchronize(s));
  REQUIRE(out[0] == 1);
  REQUIRE_FALSE(f.kernel.deadlocked());
}

TEST_CASE("signals during submit and wait are not errors") {
  Fixture f;
  f.kernel.FailIoctl(AXL_IOCTL_SUBMIT, EINTR, 3);
  float* x = Malloc<float>(4);
  AXL_OK(axlMemsetD32Async(x, 0, 4, nullptr));
  f.kernel.FailIoctl(AXL_IOCTL_WAIT, EINTR, 3);
  AXL_OK(axlDeviceSynchronize());
}
