// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "libtrace/runtime/testing/fixture.h"
#include "tests/catch.h"

using namespace acceltrace::runtime;

namespace {

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

struct OneBuffer : Fixture {
  OneBuffer() {
    AXL_OK(axlMalloc(&x, 64));
    AXL_OK(axlStreamCreate(&s));
    vec.dst = x;
    vec.rows = 1;
    vec.cols = 16;
  }
  axlError_t Launch(const char* op) { return axlLaunchVector(op, axlVecFill, &vec, s); }
  void* x;
  axlStream_t s;
  axlVector vec = {};
};

}  // namespace

TEST_CASE("a failed job is reported by op name, and sticks until the reset") {
  OneBuffer f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  f.kernel.FailCommand(AXL_ST_BAD_ADDRESS, 2);
  AXL_OK(f.Launch("first"));
  AXL_OK(f.Launch("second"));
  AXL_OK(f.Launch("guilty"));
  AXL_OK(f.Launch("behind"));
  REQUIRE(axlStreamSynchronize(f.s) == axlErrorLaunchFailure);
  REQUIRE(Contains(f.Detail(), "guilty"));
  REQUIRE(Contains(f.Detail(), "job 3"));
  REQUIRE(Contains(f.Detail(), "address"));
  const std::string first = f.Detail();
  REQUIRE(f.Launch("later") == axlErrorLaunchFailure);
  REQUIRE(f.Detail() == first);
  REQUIRE(axlDeviceSynchronize() == axlErrorLaunchFailure);
  REQUIRE(axlStreamQuery(f.s) == axlErrorLaunchFailure);
  axlStream_t other;
  REQUIRE(axlStreamCreateWithPriority(&other, 0) == axlErrorLaunchFailure);
  AXL_OK(axlDeviceReset());
  AXL_OK(axlMalloc(&f.x, 64));
  AXL_OK(axlStreamCreate(&f.s));
  f.vec.dst = f.x;
  AXL_OK(f.Launch("again"));
  AXL_OK(axlStreamSynchronize(f.s));
}

TEST_CASE("a submission behind a failed job names it, however long ago that was") {
  OneBuffer f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  f.kernel.FailCommand(AXL_ST_DMA_ERROR, 4);
  for (int i = 0; i < 4; ++i) AXL_OK(f.Launch("fine"));
  AXL_OK(f.Launch("guilty"));
  const int behind = GENERATE(0, 3, 40, 200);  // 200 are more than libaxl keeps the names of
  for (int i = 0; i < behind; ++i) AXL_OK(f.Launch("behind"));
  f.kernel.SetMode(FakeKernel::Mode::kEager);
  REQUIRE(f.Launch("refused") == axlErrorLaunchFailure);
  REQUIRE(Contains(f.Detail(), "the bus refused"));
  REQUIRE(Contains(f.Detail(), behind < 60 ? "guilty" : "unknown op"));
}

TEST_CASE("a hang has its own error") {
  OneBuffer f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  f.kernel.FailCommand(AXL_ST_HANG);
  AXL_OK(f.Launch("endless"));
  REQUIRE(axlStreamSynchronize(f.s) == axlErrorTimeout);
  REQUIRE(Contains(f.Detail(), "endless"));
}

TEST_CASE("the guilty job is found from another stream's wait") {
  OneBuffer f;
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  axlStream_t other;
  AXL_OK(axlStreamCreate(&other));
  axlVector vec = f.vec;
  AXL_OK(f.Launch("innocent"));
  AXL_OK(axlDeviceSynchronize());
  f.kernel.FailCommand(AXL_ST_POISONED);
  AXL_OK(axlLaunchVector("culprit", axlVecFill, &vec, other));
  REQUIRE(axlStreamSynchronize(other) == axlErrorLaunchFailure);
  REQUIRE(Contains(f.Detail(), "culprit"));
  REQUIRE(axlStreamSynchronize(f.s) == axlErrorLaunchFailure);
  REQUIRE(Contains(f.Detail(), "culprit"));
}

TEST_CASE("a device that goes away is reported as such, at submit and at wait") {
  OneBuffer f;
  SECTION("submit") {
    f.kernel.FailIoctl(AXL_IOCTL_SUBMIT, ENODEV);
    REQUIRE(f.Launch("x") == axlErrorDeviceLost);
  }
  SECTION("wait") {
    AXL_OK(f.Launch("x"));
    f.kernel.FailIoctl(AXL_IOCTL_WAIT, ENODEV);
    REQUIRE(axlStreamSynchronize(f.s) == axlErrorDeviceLost);
  }
  REQUIRE(axlStreamSynchronize(f.s) == axlErrorDeviceLost);
  REQUIRE(f.Launch("y") == axlErrorDeviceLost);
  AXL_OK(axlDeviceReset());
}

TEST_CASE("last error: kept by thread, reset by reading, not set by NotReady") {
  OneBuffer f;
  REQUIRE(axlGetLastError() == axlSuccess);
  REQUIRE(axlFree(&f) == axlErrorInvalidDevicePointer);
  AXL_OK(f.Launch("fine"));  // success does not hide the error
  REQUIRE(axlPeekAtLastError() == axlErrorInvalidDevicePointer);
  std::thread([] { REQUIRE(axlGetLastError() == axlSuccess); }).join();
  REQUIRE(axlGetLastError() == axlErrorInvalidDevicePointer);
  REQUIRE(axlGetLastError() == axlSuccess);
  f.kernel.SetMode(FakeKernel::Mode::kRandom);
  AXL_OK(f.Launch("late"));
  REQUIRE(axlStreamQuery(f.s) == axlErrorNotReady);
  REQUIRE(axlGetLastError() == axlSuccess);
}

TEST_CASE("every error has a name and says what to do") {
  for (int i = 0; i <= axlErrorForked; ++i) {
    const auto error = static_cast<axlError_t>(i);
    INFO(i);
    REQUIRE(Contains(axlGetErrorName(error), i ? "axlError" : "axlSuccess"));
    REQUIRE(std::string(axlGetErrorName(error)) != "axlError?");
    REQUIRE(std::string(axlGetErrorString(error)).size() > 5);
  }
  REQUIRE(std::string(axlGetErrorName(static_cast<axlError_t>(12345))) == "axlError?");
  REQUIRE(Contains(axlGetErrorString(static_cast<axlError_t>(-1)), "not an error number"));
  int version = 0;
  AXL_OK(axlGetVersion(&version));
  REQUIRE(version == AXL_VERSION);
}

TEST_CASE("correlation ids: the client above, counting, by thread") {
  OneBuffer f;
  uint64_t a, b, c;
  AXL_OK(f.Launch("a"));
  AXL_OK(axlGetCorrelation(&a));
  AXL_OK(f.Launch("b"));
  AXL_OK(axlGetCorrelation(&b));
  REQUIRE(b == a + 1);
  REQUIRE(a >> 32 == 1);  // the fake driver's first number
  std::thread([&] {
    f.Launch("c");
    axlGetCorrelation(&c);
  }).join();
  REQUIRE(c == b + 1);
  uint64_t still;
  AXL_OK(axlGetCorrelation(&still));
  REQUIRE(still == b);
  const auto jobs = f.kernel.jobs();
  REQUIRE(jobs[jobs.size() - 3].correlation == a);
  REQUIRE(jobs[jobs.size() - 2].correlation == b);
  REQUIRE(jobs[jobs.size() - 1].correlation == c);
  REQUIRE(axlGetCorrelation(nullptr) == axlErrorInvalidValue);
}
